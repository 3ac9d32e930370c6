// fusemark run: measures workloads x engines, prints the table or the JSON document, stores every
// row.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/reference/evaluate.h"
#include "compiler/support/strings.h"
#include "harness/bench.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/limits.h"
#include "harness/load.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/recorder.h"
#include "harness/report.h"
#include "harness/session_limits.h"
#include "results_db/queries.h"
#include "workloads/npz.h"

namespace fusemark {
namespace {

struct RunArguments {
  std::vector<std::string> workloads;
  std::string engines = "off,on", duration = "3s", warmup = "auto", resident;
  bool tuned = false, check = false;
  int threads = 0;
  int64_t iterations = 0;
  uint64_t seed = 0;
  std::string inputs, input_spec, save_outputs, db, format = "text", output;
  std::string timeout, max_memory;
};

class RunCommand {
 public:
  explicit RunCommand(const RunArguments& arguments) : arguments_(arguments) {}

  Outcome Execute() {
    if (!Prepare() || !OpenDatabase()) {
      if (outcome_.code() == ExitCode::kUsage) return outcome_;
      Report();
      return outcome_;
    }
    FindLimits();
    const TimeLimit limit(timeout_ns_, Join(names_, ", "));
    for (size_t i = 0; i < names_.size() && !Interrupted(); ++i) RunWorkload(i);
    if (limit.over()) {
      outcome_.Add(ExitCode::kFailed, limit.message());
    } else if (Interrupted()) {
      outcome_.Add(ExitCode::kInterrupted, "interrupted: finished rows are kept");
    }
    const bool measured = std::any_of(rows_.begin(), rows_.end(),
                                      [](const ResultRow& row) { return row.latency.n > 0; });
    if (!measured) outcome_.Add(ExitCode::kFailed, "nothing was measured");
    SaveOutputs();
    Report();
    CloseDatabase();
    return outcome_;
  }

 private:
  bool Usage(const Error& error) {
    outcome_.Add(ExitCode::kUsage, error.message);
    return false;
  }

  // Option values were checked by CLI11 with the same parsers.
  bool Prepare() {
    names_ = arguments_.workloads.empty() ? DefaultSuite() : arguments_.workloads;
    const Result<void> names = CheckWorkloadNames(names_);
    if (!names.ok()) return Usage(names.error());
    if (!arguments_.inputs.empty() && names_.size() != 1) {
      return Usage(Invalid("--inputs holds the inputs of one workload: name exactly one"));
    }
    engines_ = ParseEngines(arguments_.engines).value();
    measure_.warmup = ParseWarmup(arguments_.warmup).value();
    measure_.duration_ns = ParseDuration(arguments_.duration).value();
    measure_.iterations = arguments_.iterations;
    if (!arguments_.timeout.empty()) timeout_ns_ = ParseDuration(arguments_.timeout).value();
    if (!arguments_.max_memory.empty()) max_memory_ = ParseBytes(arguments_.max_memory).value();
    measure_.warmup.limit_ns =
        std::clamp<int64_t>(3 * measure_.duration_ns, 1'000'000'000, 30'000'000'000);
    measure_.cancelled = &Interrupted();
    threads_ = ThreadsOf(arguments_.threads, progress_);
    for (const std::string& warning : EnvironmentWarnings(CurrentMachine())) {
      progress_.Line("warning: " + warning);
    }
    return true;
  }

  std::string OptionsJson() const {
    return nlohmann::json{
        {"duration_ns", measure_.duration_ns}, {"iterations", measure_.iterations},
        {"warmup", arguments_.warmup},         {"tuned", arguments_.tuned},
        {"check", arguments_.check},           {"inputs", arguments_.inputs},
        {"input_spec", arguments_.input_spec}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  bool OpenDatabase() {
    Result<std::unique_ptr<Recorder>> recorder =
        Recorder::Open(arguments_.db, "run", Join(names_, " "),
                       static_cast<int64_t>(arguments_.seed), OptionsJson());
    if (!recorder.ok()) {
      outcome_.Add(ExitCode::kFailed, recorder.error().message);
      return false;
    }
    recorder_ = std::move(recorder).value();
    return true;
  }

  // A run is worth having without them.
  void FindLimits() {
    progress_.Update("measuring the machine");
    Result<LimitsRecord> limits =
        SessionLimits(*recorder_, {.threads = threads_, .cancelled = &Interrupted()});
    if (limits.ok()) {
      limits_ = std::move(limits).value();
    } else if (limits.error().code == Code::kIo) {
      StopStoring(limits.error());
    } else if (limits.error().code != Code::kCancelled) {
      progress_.Line("warning: no limits of the machine: " + limits.error().message);
    }
  }

  void StopStoring(const Error& error) {
    outcome_.Add(ExitCode::kFailed, error.message);
    progress_.Line("from here on nothing is stored: " + error.message);
    recorder_.reset();
  }

  void CloseDatabase() {
    if (recorder_ == nullptr) return;
    const Result<void> finished = recorder_->Finish(outcome_.value());
    if (!finished.ok()) outcome_.Add(ExitCode::kFailed, finished.error().message);
  }

  void RunWorkload(size_t index) {
    const std::string& name = names_[index];
    label_ = fmt::format("[{}/{}] {}", index + 1, names_.size(), WorkloadStem(name));
    progress_.Update(label_ + ": loading");
    ExitCode code = ExitCode::kOk;
    Result<LoadedWorkload> loaded = LoadForRun(
        name, {arguments_.inputs, arguments_.input_spec, arguments_.seed, max_memory_}, code);
    if (!loaded.ok()) return FailWorkload(name, code, loaded.error());
    std::vector<int64_t> residents = loaded->workload.resident;
    if (!arguments_.resident.empty()) {
      const auto count = static_cast<int64_t>(loaded->workload.module.Entry().parameters.size());
      Result<std::vector<int64_t>> parsed = ParseResidents(arguments_.resident, count);
      if (!parsed.ok()) return FailWorkload(name, ExitCode::kUsage, parsed.error());
      residents = std::move(parsed).value();
    }
    const std::optional<std::vector<Tensor>> expected = Expected(*loaded);
    for (const Engine engine : engines_) {
      if (Interrupted()) return;
      RunEngine(*loaded, residents, engine, expected ? &*expected : nullptr);
    }
  }

  void FailWorkload(const std::string& name, ExitCode code, const Error& error) {
    outcome_.Add(code, WorkloadStem(name) + ": " + error.message);
    progress_.Line(label_ + ": failed: " + error.message);
    for (const Engine engine : engines_) {
      ResultRow row;
      row.workload = WorkloadStem(name);
      row.engine = EngineName(engine);
      row.threads = threads_;
      row.status = RunStatus::kFailed;
      row.error = error;
      row.latency = Summarise({});
      row.throughput_unit = "runs/s";
      rows_.push_back(std::move(row));
    }
  }

  // The reference interpreter's results, when they are asked for and it can give them.
  std::optional<std::vector<Tensor>> Expected(const LoadedWorkload& loaded) {
    if (!arguments_.check) return std::nullopt;
    progress_.Update(label_ + ": reference");
    Result<std::vector<Tensor>> outputs = EvaluateReference(loaded, &Interrupted());
    if (outputs.ok()) return std::move(outputs).value();
    if (outputs.error().code != Code::kCancelled) {
      outcome_.Add(ExitCode::kFailed, loaded.workload.name + ": the reference cannot run it, so " +
                                          "nothing is checked: " + outputs.error().message);
    }
    return std::nullopt;
  }

  void RunEngine(const LoadedWorkload& loaded, const std::vector<int64_t>& residents, Engine engine,
                 const std::vector<Tensor>* expected) {
    const std::string label = label_ + " / " + std::string(EngineName(engine));
    progress_.Update(label + ": compiling");
    BenchRequest request;
    request.workload = &loaded.workload;
    request.compile = OptionsFor(engine, threads_, residents);
    request.measure = measure_;
    request.max_memory = max_memory_;
    request.measure.progress = [&](Phase phase, int64_t iterations, int64_t elapsed_ns) {
      ShowPhase(label, phase, iterations, elapsed_ns);
    };
    request.inputs = loaded.inputs;
    request.expected = expected;
    request.reference = "reference";
    const std::string missing = engine == Engine::kOn && arguments_.tuned
                                    ? FindConfig(loaded, residents, request)
                                    : std::string();
    BenchResult result = Bench(request, Compile);
    if (!missing.empty()) result.row.notices.push_back(missing);
    KeepOutputs(result);
    FinishRow(loaded, std::move(result.row), label);
  }

  void ShowPhase(const std::string& label, Phase phase, int64_t iterations, int64_t elapsed_ns) {
    const std::string seconds = FormatNs(static_cast<double>(elapsed_ns));
    switch (phase) {
      case Phase::kFirstCall: return progress_.Update(label + ": first call");
      case Phase::kWarmup:
        return progress_.Update(
            fmt::format("{}: warming up, {} runs in {}", label, iterations, seconds));
      case Phase::kTimed:
        return progress_.Update(
            iterations > 0 ? fmt::format("{}: {} runs in {}", label, iterations, seconds)
            : measure_.iterations > 0
                ? fmt::format("{}: measuring {} runs", label, measure_.iterations)
                : fmt::format("{}: measuring for {}", label,
                              FormatNs(static_cast<double>(measure_.duration_ns))));
    }
  }

  // Puts the stored config into the request; otherwise returns why there is none.
  std::string FindConfig(const LoadedWorkload& loaded, const std::vector<int64_t>& residents,
                         BenchRequest& request) {
    if (recorder_ == nullptr) return "tuned config not looked up: the database failed";
    Result<std::optional<DecisionRecord>> decision =
        TunedConfig(recorder_->db(), PlanKey(loaded.module_hash, residents),
                    CurrentMachine().machine_class, threads_);
    if (!decision.ok()) {
      outcome_.Add(ExitCode::kFailed, decision.error().message);
      return "tuned config not looked up: " + decision.error().message;
    }
    if (!decision->has_value()) {
      return fmt::format(
          "no tuned config is stored for this graph, this kind of machine and {} "
          "thread{}: 'fusemark tune {}' makes one",
          threads_, threads_ == 1 ? "" : "s", loaded.workload.name);
    }
    const DecisionRecord& found = **decision;
    request.compile.config_text = found.config_text;
    request.config_source = ConfigSource::kTuned;
    request.config_note = fmt::format("config {} of {}, {:.2f}x [{:.2f}, {:.2f}] when it was tuned",
                                      found.config_hash.substr(0, 12), found.created_utc,
                                      found.speedup, found.speedup_low, found.speedup_high);
    return "";
  }

  void FinishRow(const LoadedWorkload& loaded, ResultRow row, const std::string& label) {
    const std::string where = row.workload + " / " + row.engine;
    if (row.error) {
      outcome_.Add(row.error->code == Code::kWrongResult ? ExitCode::kNumerics : ExitCode::kFailed,
                   where + ": " + row.error->message);
    }
    if (row.numerics.status == Numerics::kFail) {
      outcome_.Add(ExitCode::kNumerics,
                   fmt::format("{}: {} of its result leaves differ from the reference", where,
                               row.numerics.failures.size()));
    }
    progress_.Line(label + ": " + RowLine(row));
    if (recorder_ != nullptr) {
      const Result<void> stored = recorder_->Store(loaded.workload, loaded.module_hash, row);
      if (!stored.ok()) StopStoring(stored.error());
    }
    rows_.push_back(std::move(row));
  }

  static std::string RowLine(const ResultRow& row) {
    if (row.error) return "failed: " + row.error->message;
    if (row.latency.n == 0) return "interrupted";
    std::string line = fmt::format(
        "p50 {}, {} runs", FormatNs(static_cast<double>(*row.latency.p50.value)), row.latency.n);
    if (row.numerics.status != Numerics::kUnchecked) {
      line += ", numerics " + std::string(NameOf(row.numerics.status));
    }
    return row.status == RunStatus::kInterrupted ? line + ", interrupted" : line;
  }

  void KeepOutputs(BenchResult& result) {
    if (arguments_.save_outputs.empty()) return;
    const bool single = names_.size() == 1 && engines_.size() == 1;
    for (size_t leaf = 0; leaf < result.outputs.size(); ++leaf) {
      output_names_.push_back(
          single ? std::to_string(leaf)
                 : fmt::format("{}/{}/{}", result.row.workload, result.row.engine, leaf));
      outputs_.push_back(std::move(result.outputs[leaf]));
    }
  }

  void SaveOutputs() {
    if (arguments_.save_outputs.empty()) return;
    std::vector<const Tensor*> tensors;
    for (const Tensor& tensor : outputs_) tensors.push_back(&tensor);
    const Result<void> written = WriteNpz(arguments_.save_outputs, output_names_, tensors);
    if (!written.ok()) outcome_.Add(ExitCode::kFailed, written.error().message);
  }

  void Report() {
    progress_.Clear();
    const std::string text =
        arguments_.format == "json"
            ? ReportJson(rows_, outcome_, {CurrentMachine(), CurrentBuild(), "run", limits_})
        : rows_.empty() ? ""
                        : ReportTable(rows_);
    const Result<void> written = WriteOutput(arguments_.output, text);
    if (!written.ok()) outcome_.Add(ExitCode::kFailed, written.error().message);
  }

  const RunArguments& arguments_;
  Outcome outcome_;
  Progress progress_;
  std::vector<std::string> names_;
  std::vector<Engine> engines_;
  MeasureOptions measure_;
  int threads_ = 1;
  int64_t timeout_ns_ = 0, max_memory_ = 0;
  std::unique_ptr<Recorder> recorder_;
  std::optional<LimitsRecord> limits_;
  std::vector<ResultRow> rows_;
  std::vector<std::string> output_names_;
  std::vector<Tensor> outputs_;
  std::string label_;
};

}  // namespace

void AddRunCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("run", "Measure workloads on engines and store the rows");
  auto arguments = std::make_shared<RunArguments>();
  RunArguments& a = *arguments;
  a.db = DefaultDbPath();
  command->add_option("WORKLOAD", a.workloads,
                      "HLO text file, workload YAML or built-in name; none: the default suite");
  command->add_option("--engine", a.engines, "off, on, reference; separated by commas")
      ->check(CheckedBy(ParseEngines))
      ->capture_default_str();
  command->add_flag("--tuned", a.tuned, "Engine on: use the stored config of 'fusemark tune'");
  AddThreadsOption(*command, a.threads);
  AddLimitOptions(*command, a.timeout, a.max_memory);
  CLI::Option* duration =
      command->add_option("--duration", a.duration, "Time to measure, e.g. 3s, 500ms")
          ->check(CheckedBy(ParseDuration))
          ->capture_default_str();
  command->add_option("--iterations", a.iterations, "Launches to measure instead of a duration")
      ->check(CLI::Range(int64_t{1}, kMaxSamples))
      ->excludes(duration);
  command->add_option("--warmup", a.warmup, "auto, a number of launches, or a duration")
      ->check(CheckedBy(ParseWarmup))
      ->capture_default_str();
  command->add_flag("--check", a.check, "Compare with the reference interpreter; exit 3 if wrong");
  command->add_option("--resident", a.resident,
                      "Entry parameters that never change: all, none, or e.g. 0-5,7");
  CLI::Option* inputs = command->add_option("--inputs", a.inputs, "Inputs from an .npz archive");
  command->add_option("--input-spec", a.input_spec, "Overrides for synthesised inputs (JSON)")
      ->excludes(inputs);
  command->add_option("--save-outputs", a.save_outputs, "Write the results to an .npz archive");
  command->add_option("--db", a.db, "Results database ($FUSEMARK_DB)")->capture_default_str();
  AddFormatOption(*command, a.format);
  command->add_option("-o,--output", a.output, "Write the results here instead of to stdout");
  AddSeedOption(*command, a.seed, kInputSeedHelp);
  command->callback([&selected, arguments] {
    selected = [arguments] { return RunCommand(*arguments).Execute(); };
  });
}

}  // namespace fusemark
