// fusemark check: numerics only. One launch per engine, judged by a golden or by the reference
// interpreter; exit 3 on a mismatch.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/support/strings.h"
#include "harness/bench.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/environment.h"
#include "harness/golden.h"
#include "harness/interrupt.h"
#include "harness/load.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/report.h"
#include "results_db/queries.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

struct CheckArguments {
  std::vector<std::string> workloads;
  std::string engines = "off,on", golden, inputs, input_spec, format = "text", output;
  int threads = 0;
  uint64_t seed = 0;
};

class CheckCommand {
 public:
  explicit CheckCommand(const CheckArguments& arguments) : arguments_(arguments) {}

  Outcome Execute() {
    if (!Prepare()) return outcome_;
    for (size_t i = 0; i < arguments_.workloads.size() && !Interrupted(); ++i) CheckWorkload(i);
    if (Interrupted()) outcome_.Add(ExitCode::kInterrupted, "interrupted: finished rows are kept");
    Report();
    return outcome_;
  }

 private:
  bool Usage(std::string message) {
    outcome_.Add(ExitCode::kUsage, std::move(message));
    return false;
  }

  bool Prepare() {
    const Result<void> names = CheckWorkloadNames(arguments_.workloads);
    if (!names.ok()) return Usage(names.error().message);
    engines_ = ParseEngines(arguments_.engines).value();
    load_ = {arguments_.inputs, arguments_.input_spec, arguments_.seed};
    std::error_code ignored;
    const fs::path golden = arguments_.golden;
    if (golden.empty()) {
      if (std::find(engines_.begin(), engines_.end(), Engine::kReference) != engines_.end()) {
        return Usage("the reference cannot be checked against itself: give --golden");
      }
    } else if (!fs::exists(golden, ignored)) {
      return Usage("--golden '" + arguments_.golden + "' does not exist");
    } else if (fs::is_directory(golden, ignored)) {
      FindSpec(golden);
    } else {
      if (arguments_.workloads.size() != 1) {
        return Usage("--golden '" + arguments_.golden +
                     "' is one file: name one workload, or give the directory");
      }
      FindSpec(golden.parent_path());
    }
    if (!golden.empty() && arguments_.seed != 0) {
      return Usage("goldens hold for --seed 0 only");
    }
    threads_ = ThreadsOf(arguments_.threads, progress_);
    return true;
  }

  // Goldens come with their inputs: inputs.json beside them or one level up.
  void FindSpec(const fs::path& directory) {
    if (!arguments_.input_spec.empty() || !arguments_.inputs.empty()) return;
    std::error_code ignored;
    for (const fs::path& candidate :
         {directory / "inputs.json", directory / ".." / "inputs.json"}) {
      if (!fs::is_regular_file(candidate, ignored)) continue;
      load_.input_spec = candidate.lexically_normal().string();
      return;
    }
  }

  std::string GoldenPath(const std::string& stem) const {
    std::error_code ignored;
    if (!fs::is_directory(arguments_.golden, ignored)) return arguments_.golden;
    return (fs::path(arguments_.golden) / (stem + ".json")).string();
  }

  void CheckWorkload(size_t index) {
    const std::string& name = arguments_.workloads[index];
    const std::string stem = WorkloadStem(name);
    label_ = fmt::format("[{}/{}] {}", index + 1, arguments_.workloads.size(), stem);
    progress_.Update(label_ + ": loading");
    ExitCode code = ExitCode::kOk;
    const Result<LoadedWorkload> loaded = LoadForRun(name, load_, code);
    if (!loaded.ok()) return FailWorkload(stem, code, loaded.error());
    if (!arguments_.golden.empty()) {
      const Result<Golden> golden = LoadGolden(GoldenPath(stem));
      if (!golden.ok()) return FailWorkload(stem, ExitCode::kFailed, golden.error());
      for (const Engine engine : engines_) CheckAgainstGolden(*loaded, engine, *golden);
      return;
    }
    progress_.Update(label_ + ": reference");
    const Result<std::vector<Tensor>> expected = EvaluateReference(*loaded, &Interrupted());
    if (!expected.ok()) {
      if (expected.error().code == Code::kCancelled) return;
      return FailWorkload(stem, ExitCode::kFailed, expected.error());
    }
    for (const Engine engine : engines_) CheckAgainstReference(*loaded, engine, *expected);
  }

  void FailWorkload(const std::string& stem, ExitCode code, const Error& error) {
    for (const Engine engine : engines_) {
      ResultRow row;
      row.workload = stem;
      row.engine = EngineName(engine);
      row.threads = threads_;
      row.status = RunStatus::kFailed;
      row.error = error;
      row.latency = Summarise({});
      row.throughput_unit = "runs/s";
      rows_.push_back(std::move(row));
    }
    outcome_.Add(code, stem + ": " + error.message);
    progress_.Line(label_ + ": failed: " + error.message);
  }

  BenchRequest RequestFor(const LoadedWorkload& loaded, Engine engine) {
    progress_.Update(label_ + " / " + std::string(EngineName(engine)));
    BenchRequest request;
    request.workload = &loaded.workload;
    request.compile = OptionsFor(engine, threads_, {});
    request.inputs = loaded.inputs;
    return request;
  }

  void CheckAgainstReference(const LoadedWorkload& loaded, Engine engine,
                             const std::vector<Tensor>& expected) {
    if (Interrupted()) return;
    BenchRequest request = RequestFor(loaded, engine);
    request.expected = &expected;
    request.reference = "reference";
    FinishRow(RunOnce(request, Compile).row);
  }

  void CheckAgainstGolden(const LoadedWorkload& loaded, Engine engine, const Golden& golden) {
    if (Interrupted()) return;
    const BenchRequest request = RequestFor(loaded, engine);
    BenchResult result = RunOnce(request, Compile);
    if (result.row.status == RunStatus::kOk) {
      Judge(CompareWithGolden(golden, result.outputs), result.outputs, result.row);
      result.row.numerics.reference = GoldenPath(loaded.workload.name);
    }
    FinishRow(std::move(result.row));
  }

  static void Judge(const GoldenReport& report, const std::vector<Tensor>& outputs,
                    ResultRow& row) {
    row.numerics.status = report.pass ? Numerics::kPass : Numerics::kFail;
    row.numerics.max_rel_err = report.max_over_rms;
    if (!report.pass && report.leaves.empty()) row.numerics.messages.push_back(report.message);
    for (size_t i = 0; i < report.leaves.size(); ++i) {
      const GoldenLeafReport& leaf = report.leaves[i];
      if (leaf.skipped)
        row.notices.push_back(fmt::format("leaf {} is rounding noise: not judged", i));
      if (leaf.pass) continue;
      LeafComparison failure;
      failure.leaf = static_cast<int64_t>(i);
      if (i < outputs.size()) failure.shape = outputs[i].shape;
      failure.tolerance = leaf.tolerance;
      failure.max_over_rms = leaf.max_over_rms;
      row.numerics.failures.push_back(failure);
      row.numerics.messages.push_back(fmt::format("leaf {}: {}", i, leaf.message));
    }
  }

  void FinishRow(ResultRow row) {
    const std::string where = row.workload + " / " + row.engine;
    if (row.error) {
      outcome_.Add(row.error->code == Code::kWrongResult ? ExitCode::kNumerics : ExitCode::kFailed,
                   where + ": " + row.error->message);
      progress_.Line(where + ": failed: " + row.error->message);
    } else if (row.status == RunStatus::kInterrupted) {
      progress_.Line(where + ": interrupted");
    } else {
      if (row.numerics.status == Numerics::kFail) {
        outcome_.Add(ExitCode::kNumerics,
                     fmt::format("{}: {} of its result leaves differ", where,
                                 std::max<size_t>(1, row.numerics.failures.size())));
      }
      progress_.Line(where + ": " + std::string(NameOf(row.numerics.status)));
    }
    rows_.push_back(std::move(row));
  }

  void Report() {
    progress_.Clear();
    const std::string text =
        arguments_.format == "json"
            ? ReportJson(rows_, outcome_, {CurrentMachine(), CurrentBuild(), "check"})
            : ReportCheckTable(rows_);
    const Result<void> written = WriteOutput(arguments_.output, text);
    if (!written.ok()) outcome_.Add(ExitCode::kFailed, written.error().message);
  }

  const CheckArguments& arguments_;
  Outcome outcome_;
  Progress progress_;
  LoadOptions load_;
  std::vector<Engine> engines_;
  int threads_ = 1;
  std::vector<ResultRow> rows_;
  std::string label_;
};

}  // namespace

void AddCheckCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("check", "Compare results with goldens or the reference");
  auto arguments = std::make_shared<CheckArguments>();
  CheckArguments& a = *arguments;
  command->add_option("WORKLOAD", a.workloads, "HLO text file, workload YAML or built-in name")
      ->required();
  command->add_option("--engine", a.engines, "off, on, reference; separated by commas")
      ->check(CheckedBy(ParseEngines))
      ->capture_default_str();
  command->add_option("--golden", a.golden,
                      "Golden file, or a directory of <stem>.json; none: the reference decides");
  CLI::Option* inputs = command->add_option("--inputs", a.inputs, "Inputs from an .npz archive");
  command
      ->add_option("--input-spec", a.input_spec,
                   "Overrides for synthesised inputs; default: inputs.json near the goldens")
      ->excludes(inputs);
  AddThreadsOption(*command, a.threads);
  command->add_option("--format", a.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_option("-o,--output", a.output, "Write the results here instead of to stdout");
  command->add_option("--seed", a.seed, "Seed of synthesised inputs; 0 is the documented rule")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->callback([&selected, arguments] {
    selected = [arguments] { return CheckCommand(*arguments).Execute(); };
  });
}

}  // namespace fusemark
