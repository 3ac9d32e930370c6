#include <gmock/gmock.h>

#include <limits>

#include "results_db/limits.h"
#include "results_db/queries.h"
#include "results_db/samples.h"
#include "results_db/trials.h"
#include "tests/unit/results_db/fixture.h"

namespace fusemark {
namespace {

using ::testing::HasSubstr;

class RecordsTest : public DbTest {
 protected:
  void SetUp() override {
    DbTest::SetUp();
    db_ = Open();
    ASSERT_NE(db_, nullptr);
    session_ = SomeSession(*db_);
  }
  void TearDown() override {
    db_.reset();
    DbTest::TearDown();
  }

  DecisionRecord SomeDecision(const std::string& config, double speedup) {
    DecisionRecord decision;
    decision.key = {Scope::kPlan, "abcd", "c1a55", 2};
    decision.config_hash = "hash of " + config;
    decision.config_text = config;
    decision.baseline_ns = 2000;
    decision.tuned_ns = 1000;
    decision.speedup = speedup;
    decision.speedup_low = speedup - 0.1;
    decision.speedup_high = speedup + 0.1;
    decision.state = DecisionState::kConfirmed;
    decision.build_id = 1;
    decision.session_id = session_;
    return decision;
  }

  std::unique_ptr<Db> db_;
  int64_t session_ = 0;
};

TEST_F(RecordsTest, EqualMachinesBuildsWorkloadsAreOneRow) {
  EXPECT_EQ(Must(StoreMachine(*db_, SomeMachine())), Must(StoreMachine(*db_, SomeMachine())));
  EXPECT_EQ(Must(StoreBuild(*db_, SomeBuild())), Must(StoreBuild(*db_, SomeBuild())));
  BuildRecord dirty = SomeBuild();
  dirty.dirty = true;
  EXPECT_NE(Must(StoreBuild(*db_, dirty)), Must(StoreBuild(*db_, SomeBuild())));
  const WorkloadRecord a = {"mlp", "abcd", "built-in", 8, "items"};
  const WorkloadRecord b = {"mlp", "ef01", "built-in", 8, "items"};
  EXPECT_EQ(Must(StoreWorkload(*db_, a)), Must(StoreWorkload(*db_, a)));
  EXPECT_NE(Must(StoreWorkload(*db_, a)), Must(StoreWorkload(*db_, b)));
}

TEST_F(RecordsTest, RunReadsBack) {
  RunRecord run = SomeRun(*db_, session_);
  run.residents = {0, 5, 7};
  run.warmup_ns = {9000, 3000, 1100};
  run.numerics = Numerics::kPass;
  const int64_t id = Must(StoreRun(*db_, run));
  EXPECT_EQ(Must(ReadSamples(*db_, id, "timed")), run.timed_ns);
  EXPECT_EQ(Must(ReadSamples(*db_, id, "warmup")), run.warmup_ns);
  EXPECT_TRUE(Must(ReadSamples(*db_, id + 1, "timed")).empty());
  const std::vector<MetricRecord> metrics = Must(ReadMetrics(*db_, id));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].value, 1000);
  EXPECT_EQ(metrics[1].value, std::nullopt);
  EXPECT_EQ(metrics[1].why_not, "too few");
  const std::vector<RunSummary> runs = Must(ReadRuns(*db_, "mlp", 10));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].engine, "on");
  EXPECT_EQ(runs[0].numerics, Numerics::kPass);
  EXPECT_EQ(runs[0].p50_ns, 1000);
  EXPECT_EQ(runs[0].p99_ns, std::nullopt);
  EXPECT_EQ(runs[0].git_sha, "0123abcd");
  EXPECT_TRUE(Must(ReadRuns(*db_, "other", 10)).empty());
  Must(EndSession(*db_, session_, 0));
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM session WHERE exit_code = 0")), 1);
}

LimitsRecord SomeLimits(int64_t threads) {
  return {.machine_id = 1,
          .build_id = 1,
          .threads = threads,
          .measured_utc = UtcNow(),
          .values = {{"read_l1", "B/s", 1, 2e11}, {"fma_f32", "FLOP/s", 1, 1e11}}};
}

TEST_F(RecordsTest, LimitsReadBackInTheirOrder) {
  const int64_t id = Must(StoreLimits(*db_, SomeLimits(2)));
  const std::optional<LimitsRecord> young = Must(YoungLimits(*db_, 1, 1, 2, 60));
  ASSERT_TRUE(young.has_value());
  EXPECT_EQ(young->id, id);
  EXPECT_LT(young->age_s, 60);
  ASSERT_EQ(young->values.size(), 2u);
  EXPECT_EQ(young->values[0].name, "read_l1");
  EXPECT_EQ(young->values[1].value, 1e11);
  Must(SetSessionLimits(*db_, session_, id));
  Must(StoreRun(*db_, SomeRun(*db_, session_)));
  EXPECT_EQ(Must(ReadRuns(*db_, "", 10))[0].limits_id, id);
  const std::vector<StoredLimits> stored = Must(ReadLimits(*db_, 10));
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].sessions, 1);
  EXPECT_EQ(stored[0].limits.values.size(), 2u);
}

TEST_F(RecordsTest, LimitsOfOthersAndOldOnesAreNotTaken) {
  LimitsRecord old = SomeLimits(2);
  old.measured_utc = "2020-01-01T00:00:00Z";
  Must(StoreLimits(*db_, old));
  LimitsRecord future = SomeLimits(2);
  future.measured_utc = "2999-01-01T00:00:00Z";
  Must(StoreLimits(*db_, future));
  EXPECT_FALSE(Must(YoungLimits(*db_, 1, 1, 2, 60)).has_value());
  Must(StoreLimits(*db_, SomeLimits(2)));
  EXPECT_TRUE(Must(YoungLimits(*db_, 1, 1, 2, 60)).has_value());
  EXPECT_FALSE(Must(YoungLimits(*db_, 1, 1, 1, 60)).has_value());
  EXPECT_FALSE(Must(YoungLimits(*db_, 1, 7, 2, 60)).has_value());
  EXPECT_FALSE(Must(YoungLimits(*db_, 7, 1, 2, 60)).has_value());
  EXPECT_FALSE(Must(YoungLimits(*db_, 1, 1, 2, -1)).has_value());
}

TEST_F(RecordsTest, LimitsAreStoredWholeOrNotAtAll) {
  LimitsRecord limits = SomeLimits(1);
  limits.values.push_back({"copy_dram", "B/s", 1, 0});  // no machine copies nothing
  EXPECT_FALSE(StoreLimits(*db_, limits).ok());
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM limits")), 0);
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM limit_value")), 0);
}

TEST_F(RecordsTest, ARunIsStoredWholeOrNotAtAll) {
  RunRecord run = SomeRun(*db_, session_);
  run.metrics.push_back(run.metrics[0]);  // the same name twice violates the key
  EXPECT_FALSE(StoreRun(*db_, run).ok());
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM run")), 0);
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM metric")), 0);
}

TEST_F(RecordsTest, AMetricWithoutValueMustSayWhy) {
  RunRecord run = SomeRun(*db_, session_);
  run.metrics = {{"latency_p99", "ns", {}, {}, {}, 10, ""}};
  EXPECT_FALSE(StoreRun(*db_, run).ok());
}

TEST_F(RecordsTest, ForeignKeysHold) {
  RunRecord run = SomeRun(*db_, session_ + 100);
  const Result<int64_t> id = StoreRun(*db_, run);
  ASSERT_FALSE(id.ok());
  EXPECT_THAT(id.error().message, HasSubstr("FOREIGN KEY"));
}

TEST_F(RecordsTest, TrialsReadBackByMachineClass) {
  TrialRecord trial;
  trial.session_id = session_;
  trial.key = "abcd";
  trial.threads = 2;
  trial.config_hash = "h1";
  trial.config_text = "tile_m=8";
  trial.median_ns = 1234;
  trial.mad_ns = 5;
  trial.n = 32;
  trial.knobs = {{"tile_m", "8"}, {"unroll", "4"}};
  Must(StoreTrial(*db_, trial));
  EXPECT_FALSE(StoreTrial(*db_, trial).ok());  // same config, same session
  trial.config_hash = "h2";
  trial.status = TrialStatus::kWrong;
  trial.median_ns.reset();
  trial.mad_ns.reset();
  trial.message = "leaf 0 differs";
  Must(StoreTrial(*db_, trial));
  const auto trials = Must(FindTrials(*db_, {Scope::kPlan, "abcd", "c1a55", 2}));
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].status, TrialStatus::kWrong);
  EXPECT_EQ(trials[0].message, "leaf 0 differs");
  EXPECT_EQ(trials[1].median_ns, 1234);
  EXPECT_TRUE(Must(FindTrials(*db_, {Scope::kPlan, "abcd", "other", 2})).empty());
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM trial_knob WHERE name = 'tile_m'")), 2);
}

TEST_F(RecordsTest, OneConfirmedDecisionPerKey) {
  const DecisionKey key = {Scope::kPlan, "abcd", "c1a55", 2};
  EXPECT_EQ(Must(FindDecision(*db_, key)), std::nullopt);
  DecisionRecord candidate = SomeDecision("candidate", 9.0);
  candidate.state = DecisionState::kCandidate;
  Must(StoreDecision(*db_, candidate));
  EXPECT_FALSE(Must(FindDecision(*db_, key)).has_value());
  Must(StoreDecision(*db_, SomeDecision("first", 1.5)));
  const int64_t second = Must(StoreDecision(*db_, SomeDecision("second", 2.0)));
  const auto found = Must(FindDecision(*db_, key));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id, second);
  EXPECT_EQ(found->config_text, "second");
  EXPECT_DOUBLE_EQ(found->speedup_low, 1.9);
  EXPECT_EQ(Must(db_->QueryInt("SELECT count(*) FROM decision WHERE state = 'revoked' AND reason "
                               "= 'superseded'")),
            1);
  EXPECT_FALSE(Must(FindDecision(*db_, {Scope::kPlan, "abcd", "c1a55", 1})).has_value());
  EXPECT_FALSE(Must(FindDecision(*db_, {Scope::kTask, "abcd", "c1a55", 2})).has_value());
  Must(StoreWorkload(*db_, {"mlp", "abcd", "built-in", 8, "items"}));
  const auto best = Must(ReadBest(*db_, "mlp"));
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].decision.config_text, "second");
  Must(MarkDecision(*db_, second, DecisionState::kStale, "unknown knob"));
  EXPECT_FALSE(Must(FindDecision(*db_, key)).has_value());
  EXPECT_TRUE(Must(ReadBest(*db_, "")).empty());
}

TEST(SamplesTest, EveryInt64SurvivesTheRoundTrip) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> samples = {0, -1, 1, kMax, kMin, kMax, 127, 128, -128, kMin, kMin};
  const std::vector<uint8_t> blob = EncodeSamples(samples);
  EXPECT_EQ(Must(DecodeSamples(blob, 11)), samples);
  EXPECT_TRUE(EncodeSamples({}).empty());
  EXPECT_TRUE(Must(DecodeSamples({}, 0)).empty());
}

TEST(SamplesTest, DamageIsNoticed) {
  std::vector<uint8_t> blob = EncodeSamples(std::vector<int64_t>{1000, 1001, 5000});
  EXPECT_FALSE(DecodeSamples(blob, 4).ok());
  blob.pop_back();
  EXPECT_FALSE(DecodeSamples(blob, 3).ok());
  EXPECT_FALSE(DecodeSamples(std::vector<uint8_t>(11, 0xff), 1).ok());
}

TEST(SamplesTest, CloseTimesTakeTwoBytes) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < 1000; ++i) samples.push_back(1000000 + (i * 37) % 2000);
  EXPECT_LT(EncodeSamples(samples).size(), 2010u);
}

}  // namespace
}  // namespace fusemark
