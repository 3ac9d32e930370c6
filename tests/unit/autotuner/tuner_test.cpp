// The tuning loop with invented costs: a clock that only launches move.
#include "autotuner/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/text/text.h"

namespace fusemark {
namespace {

using testing::HasSubstr;

// Two elementwise kernels around a reduction, with an expensive value that two kernels read.
constexpr std::string_view kModule = R"(
HloModule tuned
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY main {
  p = f32[64,512] parameter(0)
  e = f32[64,512] exponential(p)
  z = f32[] constant(0)
  r = f32[512] reduce(e, z), dimensions={0}, to_apply=add
  t = f32[64,512] tanh(e)
  ROOT out = (f32[512], f32[64,512]) tuple(r, t)
}
)";

constexpr int64_t kNativeBytes = 32;

SearchSpace Space(loops::Numerics limit = loops::Numerics::kReassociates, int threads = 2) {
  const Result<Module> module = ParseModule(kModule, "tuned");
  FM_CHECK(module.ok(), module.error().message);
  Result<OnProblem> problem = PrepareOn(*module, {});
  FM_CHECK(problem.ok(), problem.error().message);
  Result<SearchSpace> space = SearchSpace::Create(
      std::move(problem).value(), limit, {.vector_bytes = kNativeBytes, .threads = threads});
  FM_CHECK(space.ok(), space.error().message);
  return std::move(space).value();
}

int64_t NowOf(void* state) {
  return *static_cast<int64_t*>(state);
}

constexpr int64_t kMs = 1'000'000;

class FakeDevice final : public TuningDevice {
 public:
  std::function<int64_t(const std::string&)> cost_ns = [](const std::string&) { return kMs; };
  std::function<bool(const std::string&)> fails = [](const std::string&) { return false; };
  std::function<bool(const std::string&)> is_wrong = [](const std::string&) { return false; };
  std::function<void()> on_prepare = [] {};
  int64_t now_ns = 1;

  Result<std::unique_ptr<PreparedCandidate>> Prepare(const std::string& config) override {
    on_prepare();
    now_ns += kMs;
    if (fails(config)) return Error{Code::kCompileFailed, "told to fail"};
    return std::unique_ptr<PreparedCandidate>(
        std::make_unique<FakeCandidate>(*this, config, is_wrong(config)));
  }
  Clock clock() { return {NowOf, &now_ns}; }

 private:
  class FakeCandidate final : public PreparedCandidate {
   public:
    FakeCandidate(FakeDevice& device, std::string config, bool wrong)
        : device_(device), config_(std::move(config)) {
      outputs_.push_back(MakeTensor(ArrayShape(DType::kF32, {1})));
      *reinterpret_cast<float*>(outputs_[0].data.get()) = wrong ? 2.0F : 1.0F;
    }
    Result<void> Run() override {
      device_.now_ns += device_.cost_ns(config_);
      return Ok();
    }
    std::span<const Tensor> outputs() const override { return outputs_; }
    int64_t compile_ns() const override { return kMs; }

   private:
    FakeDevice& device_;
    std::string config_;
    std::vector<Tensor> outputs_;
  };
};

Result<double> CheckOne(std::span<const Tensor> outputs) {
  if (*reinterpret_cast<const float*>(outputs[0].data.get()) == 1.0F) return 0.0;
  return Error{Code::kWrongResult, "not one"};
}

class ListLog final : public TrialLog {
 public:
  std::vector<Trial> trials;
  size_t full_after = SIZE_MAX;
  Result<void> Record(const Trial& trial) override {
    if (trials.size() >= full_after) return Error{Code::kLaunchFailed, "the disk is full"};
    trials.push_back(trial);
    return Ok();
  }
  int64_t CountOf(TrialOutcome outcome) const {
    return std::count_if(trials.begin(), trials.end(),
                         [&](const Trial& trial) { return trial.outcome == outcome; });
  }
};

bool UnrollsEight(const std::string& config) {
  return config.find("unroll=8") != std::string::npos;
}

class TunerTest : public testing::TestWithParam<std::string> {
 protected:
  Result<TuneResult> Run() {
    options.clock = device.clock();
    return Tune(space, device, CheckOne, log, options);
  }
  SearchSpace space = Space();
  FakeDevice device;
  ListLog log;
  TuneOptions options{.budget_ns = 100'000 * kMs, .max_trials = 60};
};

TEST_P(TunerTest, FindsWhatIsFasterAndConfirmsIt) {
  options.strategy = GetParam();
  device.cost_ns = [](const std::string& config) { return UnrollsEight(config) ? kMs / 2 : kMs; };
  const auto result = Run();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->adopt) << result->why;
  EXPECT_TRUE(UnrollsEight(result->best_text));
  ASSERT_TRUE(result->confirmation.has_value());
  EXPECT_NEAR(result->confirmation->ratio, 0.5, 0.01);
  EXPECT_EQ(result->default_ns, kMs);
  EXPECT_EQ(result->confirmed_best_ns, kMs / 2);
  EXPECT_EQ(log.trials.size(), static_cast<size_t>(result->trials));
}

TEST_P(TunerTest, SameSeedSameTrials) {
  options.strategy = GetParam();
  ASSERT_TRUE(Run().ok());
  const std::vector<Trial> first = std::move(log.trials);
  log.trials.clear();
  device.now_ns = 1;
  ASSERT_TRUE(Run().ok());
  ASSERT_EQ(first.size(), log.trials.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].config_text, log.trials[i].config_text);
  }
}

TEST_P(TunerTest, NoConfigIsTriedTwice) {
  options.strategy = GetParam();
  ASSERT_TRUE(Run().ok());
  std::set<std::string> ids;
  for (const Trial& trial : log.trials) EXPECT_TRUE(ids.insert(trial.config_id).second);
  EXPECT_GT(ids.size(), 30U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, TunerTest, testing::Values("random", "climb"));

TEST_F(TunerTest, WrongResultsNeverWin) {
  device.cost_ns = [](const std::string& config) { return UnrollsEight(config) ? kMs / 10 : kMs; };
  device.is_wrong = UnrollsEight;
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->adopt);
  EXPECT_GT(log.CountOf(TrialOutcome::kWrong), 0);
  EXPECT_EQ(result->outcomes[static_cast<size_t>(TrialOutcome::kWrong)],
            log.CountOf(TrialOutcome::kWrong));
  for (const Trial& trial : log.trials) {
    EXPECT_EQ(trial.outcome == TrialOutcome::kWrong, UnrollsEight(trial.config_text));
    if (trial.outcome == TrialOutcome::kWrong) {
      EXPECT_THAT(trial.message, HasSubstr("not one"));
      EXPECT_TRUE(trial.samples_ns.empty());
    }
  }
}

TEST_F(TunerTest, FailedCompilesAreTrials) {
  device.fails = UnrollsEight;
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_GT(log.CountOf(TrialOutcome::kCompileFailed), 0);
  EXPECT_EQ(result->why, "no config was faster than the default");
}

TEST_F(TunerTest, ABrokenDefaultIsAnError) {
  device.is_wrong = [](const std::string&) { return true; };
  const auto result = Run();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kWrongResult);
  EXPECT_EQ(log.trials.size(), 1U);
}

TEST_F(TunerTest, KeepsTheBudget) {
  options.budget_ns = 5'000 * kMs;
  options.max_trials = 0;
  device.cost_ns = [](const std::string& config) { return UnrollsEight(config) ? kMs / 2 : kMs; };
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->adopt);
  EXPECT_LT(device.now_ns, options.budget_ns * 11 / 10);
  EXPECT_GT(result->trials, 20);
}

TEST_F(TunerTest, ManyTrialsAreTheLimit) {
  options.max_trials = 3;
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(log.trials.size(), 4U);  // the default and three
}

TEST_F(TunerTest, ASlowCandidateIsLeftAfterOneRun) {
  device.cost_ns = [](const std::string& config) {
    return UnrollsEight(config) ? 1000 * kMs : kMs;
  };
  ASSERT_TRUE(Run().ok());
  for (const Trial& trial : log.trials) {
    if (!UnrollsEight(trial.config_text)) continue;
    EXPECT_EQ(trial.samples_ns.size(), 1U);
  }
}

TEST_F(TunerTest, InterruptedKeepsFinishedTrials) {
  std::atomic<bool> cancelled{false};
  options.cancelled = &cancelled;
  int64_t prepared = 0;
  device.on_prepare = [&] { cancelled = ++prepared > 5; };
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_FALSE(result->adopt);
  EXPECT_EQ(log.trials.size(), 5U);
}

TEST_F(TunerTest, NoiseIsNotAdopted) {
  Random noise(7);
  device.cost_ns = [&](const std::string&) {
    return kMs + static_cast<int64_t>(noise.Below(kMs / 10));
  };
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->adopt) << result->why;
}

TEST_F(TunerTest, AStoredConfigGoesOnlyForABetterOne) {
  options.in_force = space.Default().text + "\n";  // differs, so that it is compared
  device.cost_ns = [&](const std::string& config) {
    return config == options.in_force ? kMs / 4 : UnrollsEight(config) ? kMs / 2 : kMs;
  };
  auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->adopt);
  EXPECT_THAT(result->why, HasSubstr("which stays"));

  device.fails = [&](const std::string& config) { return config == options.in_force; };
  result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->adopt);
  EXPECT_THAT(result->why, HasSubstr("no longer fits"));
}

TEST_F(TunerTest, TheStoredConfigIsATrial) {
  options.in_force = space.Default().text + "\n";
  options.max_trials = 2;
  auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->stale, "");
  ASSERT_EQ(log.trials.size(), 3U);  // the default, the stored one, a candidate
  EXPECT_EQ(log.trials[1].config_text, options.in_force);

  log.trials.clear();
  device.is_wrong = [&](const std::string& config) { return config == options.in_force; };
  result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->stale, HasSubstr("not one"));
  EXPECT_EQ(log.trials[1].outcome, TrialOutcome::kWrong);
}

TEST_F(TunerTest, ABusyMomentCondemnsNobody) {
  // The first run of every program takes long; the costs are equal otherwise.
  std::set<std::string> seen;
  device.cost_ns = [&](const std::string& config) {
    return seen.insert(config).second ? 1000 * kMs : kMs;
  };
  ASSERT_TRUE(Run().ok());
  for (const Trial& trial : log.trials) EXPECT_GT(trial.samples_ns.size(), 1U);
}

TEST_F(TunerTest, InterferenceDoesNotPickTheBest) {
  // Half of all launches are slowed down tenfold; what is a third faster is found all the same.
  Random noise(11);
  device.cost_ns = [&](const std::string& config) {
    return (UnrollsEight(config) ? 2 * kMs : 3 * kMs) * (noise.Below(2) == 0 ? 10 : 1);
  };
  const auto result = Run();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(UnrollsEight(result->best_text));
  EXPECT_EQ(result->best_ns, 2 * kMs);
}

TEST_F(TunerTest, AFullLogEndsTheSearch) {
  log.full_after = 3;
  const auto result = Run();
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("full"));
}

TEST(SearchSpace, TheDefaultIsWhatTheCompilerDoes) {
  const Result<Module> module = ParseModule(kModule, "tuned");
  ASSERT_TRUE(module.ok());
  const Result<OnProblem> problem = PrepareOn(*module, {});
  ASSERT_TRUE(problem.ok());
  const SearchSpace space = Space();
  EXPECT_EQ(space.Default().text, PrintConfig(problem->config));
  EXPECT_FALSE(space.empty());
  EXPECT_TRUE(space.Differences(space.Default()).empty());
}

TEST(SearchSpace, EveryMutationIsALegalConfig) {
  const Result<Module> module = ParseModule(kModule, "tuned");
  ASSERT_TRUE(module.ok());
  const Result<OnProblem> problem = PrepareOn(*module, {});
  ASSERT_TRUE(problem.ok());
  const SearchSpace space = Space();
  Random random(3);
  Candidate candidate = space.Default();
  bool other_plan = false;
  for (int step = 0; step < 50; ++step) {
    auto next = space.Mutate(candidate, 2, random);
    ASSERT_TRUE(next.ok()) << next.error().message;
    candidate = std::move(next).value();
    const Result<Config> parsed = ParseConfig(candidate.text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    Plan plan = parsed->plan;
    plan.computations.resize(problem->module.computations.size());
    EXPECT_TRUE(CheckPlan(problem->module, plan).ok());
    other_plan |= !candidate.choices.empty();
    EXPECT_EQ(space.Differences(candidate).empty(), candidate.text == space.Default().text);
  }
  EXPECT_TRUE(other_plan);
}

TEST(SearchSpace, BitwiseLeavesTheOrderOfSumsAlone) {
  const SearchSpace space = Space(loops::Numerics::kBitwise);
  Random random(5);
  for (int step = 0; step < 40; ++step) {
    const auto candidate = space.Mutate(space.Default(), 3, random);
    ASSERT_TRUE(candidate.ok());
    for (const auto& [task, line] : candidate->config.schedules) {
      for (const loops::Knob& knob : loops::Knobs()) {
        if (knob.AppliesTo(line.klass) &&
            knob.NumericsIn(line.klass) != loops::Numerics::kBitwise) {
          EXPECT_EQ(knob.Get(line.schedule), knob.Get(loops::Schedule{})) << knob.name;
        }
      }
    }
  }
}

TEST(SearchSpace, ValuesThatMeanTheSameAreLeftOut) {
  Random random(9);
  for (const int threads : {1, 2}) {
    const SearchSpace space = Space(loops::Numerics::kReassociates, threads);
    bool grain = false;
    for (int step = 0; step < 60; ++step) {
      const auto candidate = space.Mutate(space.Default(), 4, random);
      ASSERT_TRUE(candidate.ok());
      for (const auto& [task, line] : candidate->config.schedules) {
        EXPECT_NE(line.schedule.vector_bytes, kNativeBytes);
        grain |= line.schedule.parallel_grain != loops::Schedule{}.parallel_grain;
      }
    }
    EXPECT_EQ(grain, threads > 1);
  }
}

TEST(SearchSpace, AChoiceCanBeTakenBack) {
  const SearchSpace space = Space();
  Random random(4);
  Candidate candidate = space.Default();
  bool made = false, taken_back = false;
  for (int step = 0; step < 200 && !taken_back; ++step) {
    auto next = space.Mutate(candidate, 1, random);
    ASSERT_TRUE(next.ok());
    taken_back = made && next->choices.empty();
    made = !next->choices.empty();
    candidate = std::move(next).value();
  }
  EXPECT_TRUE(taken_back);
}

TEST(SearchSpace, NothingToDecide) {
  const Result<Module> module =
      ParseModule("HloModule m\nENTRY main { ROOT p = f32[4] parameter(0) }\n", "identity");
  ASSERT_TRUE(module.ok());
  Result<OnProblem> problem = PrepareOn(*module, {});
  ASSERT_TRUE(problem.ok());
  auto space = SearchSpace::Create(std::move(problem).value(), loops::Numerics::kReassociates, {});
  ASSERT_TRUE(space.ok());
  EXPECT_TRUE(space->empty());
  FakeDevice device;
  ListLog log;
  TuneOptions options;
  options.clock = device.clock();
  const auto result = Tune(*space, device, CheckOne, log, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->why, "no other config was tried");
}

TEST(Strategies, AreFoundByName) {
  for (const StrategyInfo& info : Strategies()) EXPECT_NE(MakeStrategy(info.name), nullptr);
  EXPECT_EQ(MakeStrategy("annealing"), nullptr);
}

}  // namespace
}  // namespace fusemark
