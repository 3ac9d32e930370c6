// fusemark tune: searches fusion and schedules of one workload, stores trials and, when a
// confirming comparison allows it, the config that `run --tuned` uses from then on.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "autotuner/search_space.h"
#include "autotuner/tuner.h"
#include "compiler/on.h"
#include "harness/bench.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/db_trial_log.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/load.h"
#include "harness/numerics.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/recorder.h"
#include "harness/report_tune.h"
#include "harness/tuning_device.h"
#include "results_db/db.h"
#include "results_db/queries.h"
#include "results_db/runs.h"
#include "results_db/trials.h"

namespace fusemark {
namespace {

// The interpreter is slow: beyond this, candidates are held against the default config's results.
constexpr int64_t kReferenceLimitNs = 120'000'000'000;

struct TuneArguments {
  std::string workload, budget = "60s", strategy = "climb", numerics = "reassociates", resident;
  int64_t trials = 0;
  uint64_t seed = 1;
  int threads = 0;
  std::string inputs, input_spec, db, format = "text", output;
};

// Raises a flag when Ctrl-C comes or the time is over.
class Deadline {
 public:
  explicit Deadline(int64_t limit_ns)
      : end_(std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns)),
        watcher_([this] { Watch(); }) {}
  ~Deadline() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    watcher_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  const std::atomic<bool>* flag() const { return &flag_; }

 private:
  void Watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!done_) {
      wake_.wait_for(lock, std::chrono::milliseconds(50));
      if (Interrupted() || std::chrono::steady_clock::now() >= end_) flag_ = true;
    }
  }

  std::chrono::steady_clock::time_point end_;
  std::atomic<bool> flag_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread watcher_;
};

class TuneCommand {
 public:
  explicit TuneCommand(const TuneArguments& arguments) : arguments_(arguments) {}

  Outcome Execute() {
    if (Prepare()) Search();
    if (Interrupted())
      outcome_.Add(ExitCode::kInterrupted, "interrupted: finished trials are kept");
    Report();
    if (recorder_ != nullptr) {
      const Result<void> finished = recorder_->Finish(outcome_.value());
      if (!finished.ok()) outcome_.Add(ExitCode::kFailed, finished.error().message);
    }
    return outcome_;
  }

 private:
  bool Fail(ExitCode code, const Error& error) {
    if (error.code == Code::kCancelled) return false;  // said once, at the end
    outcome_.Add(code, WorkloadStem(arguments_.workload) + ": " + error.message);
    return false;
  }

  bool Prepare() {
    const Result<void> name = CheckWorkloadNames({arguments_.workload});
    if (!name.ok()) return Fail(ExitCode::kUsage, name.error());
    threads_ = ThreadsOf(arguments_.threads, progress_);
    for (const std::string& warning : EnvironmentWarnings(CurrentMachine())) {
      progress_.Line("warning: " + warning);
    }
    progress_.Update(WorkloadStem(arguments_.workload) + ": loading");
    ExitCode code = ExitCode::kOk;
    auto loaded =
        LoadForRun(arguments_.workload, {arguments_.inputs, arguments_.input_spec, 0}, code);
    if (!loaded.ok()) return Fail(code, loaded.error());
    loaded_ = std::move(loaded).value();
    residents_ = loaded_.workload.resident;
    if (!arguments_.resident.empty()) {
      const auto count = static_cast<int64_t>(loaded_.workload.module.Entry().parameters.size());
      auto residents = ParseResidents(arguments_.resident, count);
      if (!residents.ok()) return Fail(ExitCode::kUsage, residents.error());
      residents_ = std::move(residents).value();
    }
    compile_ = OptionsFor(Engine::kOn, threads_, residents_);
    return OpenDatabase() && MakeExpected();
  }

  bool OpenDatabase() {
    const std::string options = nlohmann::json{
        {"budget", arguments_.budget},
        {"trials", arguments_.trials},
        {"strategy", arguments_.strategy},
        {"numerics", arguments_.numerics},
        {"threads", threads_},
        {"input_spec",
         arguments_.input_spec}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    auto recorder = Recorder::Open(arguments_.db, "tune", arguments_.workload,
                                   static_cast<int64_t>(arguments_.seed), options);
    if (!recorder.ok()) return Fail(ExitCode::kFailed, recorder.error());
    recorder_ = std::move(recorder).value();
    // So that `db best` can name the graph.
    const Workload& workload = loaded_.workload;
    const auto stored =
        StoreWorkload(recorder_->db(), {workload.name, loaded_.module_hash,
                                        workload.path.empty() ? "built-in" : workload.path,
                                        workload.items_per_run, workload.item_unit});
    if (!stored.ok()) return Fail(ExitCode::kFailed, stored.error());
    plan_key_ = PlanKey(loaded_.module_hash, residents_);
    return true;
  }

  // What candidates have to give: the interpreter's results, or if it takes too long those of the
  // default config.
  bool MakeExpected() {
    progress_.Update(loaded_.workload.name + ": reference");
    const Deadline deadline(kReferenceLimitNs);
    auto expected = EvaluateReference(loaded_, deadline.flag());
    row_.reference = "the reference interpreter";
    if (!expected.ok() && !Interrupted()) {
      progress_.Line(
          fmt::format("warning: no results of the reference interpreter ({}): candidates "
                      "are compared with the default config's",
                      expected.error().code == Code::kCancelled ? "it takes more than two minutes"
                                                                : expected.error().message));
      expected = RunDefault();
    }
    if (!expected.ok()) {
      const bool wrong = expected.error().code == Code::kWrongResult;
      return Fail(wrong ? ExitCode::kNumerics : ExitCode::kFailed, expected.error());
    }
    expected_ = std::move(expected).value();
    return true;
  }

  // Engine off is no oracle, but a default that differs from it cannot be trusted either.
  Result<std::vector<Tensor>> RunDefault() {
    FM_TRY(auto outputs, RunEngine(Engine::kOn));
    row_.reference = "the default config, which itself was not checked";
    const auto off = RunEngine(Engine::kOff);
    if (!off.ok()) return outputs;
    FM_TRY(const Comparison comparison, CompareTensors(outputs, *off, loaded_.workload.tolerance));
    if (!comparison.pass) {
      return Error{Code::kWrongResult, "the default config's results differ from engine off's"};
    }
    row_.reference = "the default config, which agrees with engine off (not with the reference)";
    return outputs;
  }

  Result<std::vector<Tensor>> RunEngine(Engine engine) {
    FM_TRY(const auto executable,
           Compile(loaded_.workload.module, OptionsFor(engine, threads_, residents_)));
    FM_TRY(auto outputs, MakeOutputs(loaded_.workload.module));
    std::vector<const void*> params;
    std::vector<void*> results;
    for (const Tensor& input : loaded_.inputs) params.push_back(input.data.get());
    for (const Tensor& output : outputs) results.push_back(output.data.get());
    FM_RETURN_IF_ERROR(executable->Run(params, results));
    return outputs;
  }

  Result<double> CheckOutputs(std::span<const Tensor> outputs) const {
    FM_TRY(const Comparison comparison,
           CompareTensors(outputs, expected_, loaded_.workload.tolerance));
    if (comparison.pass) return comparison.max_rel_err;
    const auto wrong = std::find_if(comparison.leaves.begin(), comparison.leaves.end(),
                                    [](const LeafComparison& leaf) { return !leaf.pass(); });
    return Error{
        Code::kWrongResult,
        fmt::format("result leaf {} differs from {}: {} elements, the first is {} instead "
                    "of {}",
                    wrong->leaf, row_.reference, wrong->mismatches, wrong->got, wrong->want)};
  }

  void Search() {
    auto problem = PrepareOn(loaded_.workload.module, compile_);
    if (!problem.ok()) return (void)Fail(ExitCode::kFailed, problem.error());
    const auto limit = arguments_.numerics == "bitwise" ? loops::Numerics::kBitwise
                                                        : loops::Numerics::kReassociates;
    auto space = SearchSpace::Create(std::move(problem).value(), limit, compile_.target);
    if (!space.ok()) return (void)Fail(ExitCode::kFailed, space.error());
    const DecisionKey key{Scope::kPlan, plan_key_, CurrentMachine().machine_class, threads_};
    const auto in_force = FindDecision(recorder_->db(), key);
    if (!in_force.ok()) return (void)Fail(ExitCode::kFailed, in_force.error());
    const TuneOptions options = Options(in_force->has_value() ? (*in_force)->config_text : "");
    EngineDevice device(loaded_, compile_);
    DbTrialLog log(*recorder_, plan_key_, threads_);
    auto result = Tune(
        *space, device, [this](std::span<const Tensor> outputs) { return CheckOutputs(outputs); },
        log, options);
    if (!result.ok()) {
      const bool wrong = result.error().code == Code::kWrongResult;
      return (void)Fail(wrong ? ExitCode::kNumerics : ExitCode::kFailed, result.error());
    }
    row_.workload = loaded_.workload.name;
    row_.threads = threads_;
    row_.strategy = arguments_.strategy;
    row_.seed = arguments_.seed;
    row_.open_choices = space->open_choices();
    row_.tasks = space->tasks();
    row_.log2_size = space->log2_size();
    row_.result = std::move(result).value();
    tuned_ = true;
    if (in_force->has_value()) KeepOrRetire(**in_force);
    StoreConclusion(key);
  }

  // A config that no longer holds must not come up again at the next run.
  void KeepOrRetire(const DecisionRecord& decision) {
    const std::string& why = row_.result.stale;
    if (why.empty()) return;
    progress_.Line(fmt::format("{}: the stored config {} is stale: {}", loaded_.workload.name,
                               decision.config_hash.substr(0, 12), why));
    const auto marked = MarkDecision(recorder_->db(), decision.id, DecisionState::kStale, why);
    if (!marked.ok()) (void)Fail(ExitCode::kFailed, marked.error());
  }

  TuneOptions Options(const std::string& in_force) {
    TuneOptions options;
    options.budget_ns = ParseDuration(arguments_.budget).value();
    options.max_trials = arguments_.trials;
    options.seed = arguments_.seed;
    options.strategy = arguments_.strategy;
    options.in_force = in_force;
    options.cancelled = &Interrupted();
    options.progress = [this](const TuneProgress& progress) { Show(progress); };
    return options;
  }

  void Show(const TuneProgress& progress) {
    const std::string& name = loaded_.workload.name;
    if (progress.confirming) {
      return progress_.Update(
          fmt::format("{}: confirming the best of {} trials", name, progress.trials));
    }
    progress_.Update(
        fmt::format("{}: {} trials in {}, default {}, best {:.2f}x as fast", name, progress.trials,
                    FormatNs(static_cast<double>(progress.elapsed_ns)),
                    FormatNs(static_cast<double>(progress.default_ns)), 1 / progress.best_ratio));
  }

  // A confirmed config takes force; a refused one is kept as history, with the reason.
  void StoreConclusion(const DecisionKey& key) {
    const TuneResult& result = row_.result;
    row_.stored = arguments_.db;
    if (!result.confirmation || !result.confirmation->has_interval) return;
    DecisionRecord decision;
    decision.key = key;
    decision.config_hash = result.best_id;
    decision.config_text = result.best_text;
    decision.baseline_ns = result.confirmed_default_ns;
    decision.tuned_ns = result.confirmed_best_ns;
    decision.speedup = 1 / result.confirmation->ratio;
    decision.speedup_low = 1 / result.confirmation->ratio_high;
    decision.speedup_high = 1 / result.confirmation->ratio_low;
    decision.state = result.adopt ? DecisionState::kConfirmed : DecisionState::kCandidate;
    decision.reason = result.why;
    decision.build_id = recorder_->build_id();
    decision.session_id = recorder_->session_id();
    const auto stored = StoreDecision(recorder_->db(), decision);
    if (stored.ok()) return;
    row_.stored.clear();
    (void)Fail(ExitCode::kFailed, stored.error());
  }

  void Report() {
    progress_.Clear();
    if (outcome_.code() == ExitCode::kUsage) return;
    std::string text;
    if (arguments_.format == "json") {
      const ReportContext context{CurrentMachine(), CurrentBuild(), "tune", {}};
      text = TuneJson(tuned_ ? &row_ : nullptr, outcome_, context);
    } else if (tuned_) {
      text = TuneText(row_);
    }
    const Result<void> written = WriteOutput(arguments_.output, text);
    if (!written.ok()) outcome_.Add(ExitCode::kFailed, written.error().message);
  }

  const TuneArguments& arguments_;
  Outcome outcome_;
  Progress progress_;
  int threads_ = 1;
  LoadedWorkload loaded_;
  std::vector<int64_t> residents_;
  CompileOptions compile_;
  std::unique_ptr<Recorder> recorder_;
  std::string plan_key_;
  std::vector<Tensor> expected_;
  TuneRow row_;
  bool tuned_ = false;
};

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : Strategies()) names.emplace_back(info.name);
  return names;
}

std::string StrategyHelp() {
  std::string text = "How to search";
  for (const StrategyInfo& info : Strategies()) {
    text += fmt::format("; {}: {}", info.name, info.description);
  }
  return text;
}

}  // namespace

void AddTuneCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command =
      app.add_subcommand("tune", "Search a faster config of a workload; run --tuned uses it");
  auto arguments = std::make_shared<TuneArguments>();
  TuneArguments& a = *arguments;
  a.db = DefaultDbPath();
  command->add_option("WORKLOAD", a.workload, "HLO text file, workload YAML or built-in name")
      ->required();
  command->add_option("--budget", a.budget, "Time for search and confirmation, e.g. 60s, 10m")
      ->check(CheckedBy(ParseDuration))
      ->capture_default_str();
  command
      ->add_option("--trials", a.trials, "Most candidates beside the default; no limit if absent")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  command->add_option("--strategy", a.strategy, StrategyHelp())
      ->check(CLI::IsMember(StrategyNames()))
      ->capture_default_str();
  command
      ->add_option("--numerics", a.numerics,
                   "Knobs to search: bitwise (results do not change) or reassociates (sums in "
                   "another order too)")
      ->check(CLI::IsMember({"bitwise", "reassociates"}))
      ->capture_default_str();
  AddThreadsOption(*command, a.threads);
  command->add_option("--resident", a.resident,
                      "Entry parameters that never change: all, none, or e.g. 0-5,7");
  CLI::Option* inputs = command->add_option("--inputs", a.inputs, "Inputs from an .npz archive");
  command->add_option("--input-spec", a.input_spec, "Overrides for synthesised inputs (JSON)")
      ->excludes(inputs);
  command->add_option("--db", a.db, "Results database ($FUSEMARK_DB)")->capture_default_str();
  AddFormatOption(*command, a.format);
  command->add_option("-o,--output", a.output, "Write the result here instead of to stdout");
  AddSeedOption(*command, a.seed, "Seed of the search");
  command->callback([&selected, arguments] {
    selected = [arguments] { return TuneCommand(*arguments).Execute(); };
  });
}

}  // namespace fusemark
