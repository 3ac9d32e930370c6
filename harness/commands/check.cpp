// fusemark check: numerics only. One launch per engine, judged by a golden or by the reference
// interpreter; exit 3 on a mismatch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "compiler/support/strings.h"
#include "harness/bench.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/environment.h"
#include "harness/folder_check.h"
#include "harness/golden.h"
#include "harness/interrupt.h"
#include "harness/limits.h"
#include "harness/load.h"
#include "harness/op_case.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/report.h"
#include "harness/report_folder.h"
#include "results_db/queries.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

struct CheckArguments {
  std::vector<std::string> workloads;
  std::string engines = "off,on", golden, inputs, input_spec, format = "text", output;
  std::string timeout, max_memory, filter;
  int threads = 0, jobs = 0;
  uint64_t seed = 0;
  bool allow_unsupported = false;
};

// What a file next to the module expects of it: a golden, or an operation case with its own inputs.
struct Expectations {
  std::optional<Golden> golden;
  std::optional<OpCase> op_case;
};

Result<Expectations> LoadExpectations(const std::string& path) {
  Expectations expectations;
  if (IsOpCaseFile(path)) {
    FM_TRY(expectations.op_case, LoadOpCase(path));
  } else {
    FM_TRY(expectations.golden, LoadGolden(path));
  }
  return expectations;
}

class CheckCommand {
 public:
  explicit CheckCommand(const CheckArguments& arguments) : arguments_(arguments) {}

  Outcome Execute() {
    if (IsFolder()) {
      Folder();
      return outcome_;
    }
    if (!Prepare()) return outcome_;
    const TimeLimit limit(timeout_ns_, Join(arguments_.workloads, ", "));
    for (size_t i = 0; i < arguments_.workloads.size() && !Interrupted(); ++i) CheckWorkload(i);
    if (limit.over()) {
      outcome_.Add(ExitCode::kFailed, limit.message());
    } else if (Interrupted()) {
      outcome_.Add(ExitCode::kInterrupted, "interrupted: finished rows are kept");
    }
    Report();
    return outcome_;
  }

 private:
  bool Usage(std::string message) {
    outcome_.Add(ExitCode::kUsage, std::move(message));
    return false;
  }

  bool IsFolder() const {
    std::error_code ignored;
    return arguments_.workloads.size() == 1 && fs::is_directory(arguments_.workloads[0], ignored);
  }

  // What both ways of checking share.
  bool PrepareLimits() {
    if (!arguments_.timeout.empty()) timeout_ns_ = ParseDuration(arguments_.timeout).value();
    if (!arguments_.max_memory.empty()) max_memory_ = ParseBytes(arguments_.max_memory).value();
    engines_ = ParseEngines(arguments_.engines).value();
    load_ = {arguments_.inputs, arguments_.input_spec, arguments_.seed, max_memory_};
    return true;
  }

  void Folder() {
    FolderRequest request;
    if (!PrepareLimits() || !PrepareFolder(request)) return;
    const auto begin = std::chrono::steady_clock::now();
    const auto progress = [](void* self, size_t done, size_t total) {
      static_cast<CheckCommand*>(self)->progress_.Update(fmt::format("[{}/{}]", done, total));
    };
    const std::vector<CaseResult> results = CheckFolder(request, progress, this);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress_.Clear();
    const size_t modules = request.modules.size();
    const std::string text = arguments_.format == "json"    ? FolderJson(results, modules, seconds)
                             : arguments_.format == "junit" ? FolderJunit(results, seconds)
                                                            : FolderText(results, modules, seconds);
    const Result<void> written = WriteOutput(arguments_.output, text);
    if (!written.ok()) outcome_.Add(ExitCode::kFailed, written.error().message);
    JudgeFolder(CountCases(results));
  }

  bool PrepareFolder(FolderRequest& request) {
    Result<std::vector<std::string>> modules =
        ModulesIn(arguments_.workloads[0], arguments_.filter);
    if (!modules.ok()) return Usage(modules.error().message);
    std::error_code ignored;
    if (!arguments_.golden.empty() && !fs::is_directory(arguments_.golden, ignored)) {
      return Usage("--golden '" + arguments_.golden +
                   "' is no directory: a folder of modules needs one of <stem>.json");
    }
    if (!arguments_.inputs.empty())
      return Usage("--inputs belong to one workload, not to a folder");
    request.program = fs::read_symlink("/proc/self/exe", ignored).string();
    request.modules = std::move(*modules);
    request.golden = arguments_.golden;
    request.input_spec = arguments_.input_spec;
    for (const Engine engine : engines_) request.engines.emplace_back(EngineName(engine));
    request.threads = std::max(1, arguments_.threads);
    const int cpus = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    request.jobs = arguments_.jobs > 0 ? arguments_.jobs : std::max(1, cpus / request.threads);
    constexpr int64_t kDefaultLimitNs = 60'000'000'000;
    request.timeout_ns = timeout_ns_ > 0 ? timeout_ns_ : kDefaultLimitNs;
    request.max_memory = max_memory_;
    return true;
  }

  void JudgeFolder(const CaseCounts& counts) {
    const auto count = [&](CaseStatus status) { return counts[static_cast<size_t>(status)]; };
    if (Interrupted()) outcome_.Add(ExitCode::kInterrupted, "interrupted: finished cases are kept");
    if (const int wrong = count(CaseStatus::kFail); wrong > 0)
      outcome_.Add(ExitCode::kNumerics, fmt::format("{} cases have wrong results", wrong));
    int failed = 0;
    for (const CaseStatus status : {CaseStatus::kInvalid, CaseStatus::kError, CaseStatus::kTimeout,
                                    CaseStatus::kOutOfMemory, CaseStatus::kCrash})
      failed += count(status);
    if (!arguments_.allow_unsupported) failed += count(CaseStatus::kUnsupported);
    if (failed > 0)
      outcome_.Add(ExitCode::kFailed, fmt::format("{} cases could not be judged", failed));
  }

  bool Prepare() {
    if (!PrepareLimits()) return false;
    const Result<void> names = CheckWorkloadNames(arguments_.workloads);
    if (!names.ok()) return Usage(names.error().message);
    if (arguments_.format == "junit") return Usage("--format junit is for folders of modules");
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
    Result<Expectations> expected_values = Expectations{};
    if (!arguments_.golden.empty()) expected_values = LoadExpectations(GoldenPath(stem));
    if (!expected_values.ok())
      return FailWorkload(stem, ExitCode::kFailed, expected_values.error());
    LoadOptions load = load_;
    load.without_inputs = expected_values->op_case.has_value();
    ExitCode code = ExitCode::kOk;
    Result<LoadedWorkload> loaded = LoadForRun(name, load, code);
    if (!loaded.ok()) return FailWorkload(stem, code, loaded.error());
    if (load.without_inputs) {
      const Result<void> taken = TakeInputs(*expected_values->op_case, *loaded);
      if (!taken.ok()) return FailWorkload(stem, ExitCode::kFailed, taken.error());
    }
    if (!arguments_.golden.empty()) {
      for (const Engine engine : engines_) CheckAgainstFile(*loaded, engine, *expected_values);
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
    request.max_memory = max_memory_;
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

  // The case's inputs, which must be those of the module.
  static Result<void> TakeInputs(OpCase& op_case, LoadedWorkload& loaded) {
    const std::vector<Shape> leaves = ParameterLeaves(loaded.workload.module);
    bool same = leaves.size() == op_case.inputs.size();
    for (size_t i = 0; same && i < leaves.size(); ++i)
      same = SameType(leaves[i], op_case.inputs[i].shape);
    if (!same) {
      return Invalid("the inputs of case '" + op_case.name +
                     "' are not those of the module's entry parameters");
    }
    loaded.inputs = std::move(op_case.inputs);
    return Ok();
  }

  void CheckAgainstFile(const LoadedWorkload& loaded, Engine engine,
                        const Expectations& expectations) {
    if (Interrupted()) return;
    const BenchRequest request = RequestFor(loaded, engine);
    BenchResult result = RunOnce(request, Compile);
    if (result.row.status == RunStatus::kOk) {
      if (expectations.golden) {
        Judge(CompareWithGolden(*expectations.golden, result.outputs), result.outputs, result.row);
      } else {
        const std::string problem = CompareWithOpCase(*expectations.op_case, result.outputs);
        result.row.numerics.status = problem.empty() ? Numerics::kPass : Numerics::kFail;
        if (!problem.empty()) result.row.numerics.messages.push_back(problem);
      }
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
            ? ReportJson(rows_, outcome_, {CurrentMachine(), CurrentBuild(), "check", {}})
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
  int64_t timeout_ns_ = 0, max_memory_ = 0;
  std::vector<ResultRow> rows_;
  std::string label_;
};

}  // namespace

void AddCheckCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("check", "Compare results with goldens or the reference");
  auto arguments = std::make_shared<CheckArguments>();
  CheckArguments& a = *arguments;
  command
      ->add_option(
          "WORKLOAD", a.workloads,
          "HLO text file, workload YAML or built-in name; or one folder of *.hlo, each in\n"
          "a process of its own")
      ->required();
  command->add_option("--engine", a.engines, "off, on, reference; separated by commas")
      ->check(CheckedBy(ParseEngines))
      ->capture_default_str();
  command->add_option(
      "--golden", a.golden,
      "Golden or operation case, or a directory of <stem>.json; none: the reference\n"
      "decides");
  CLI::Option* inputs = command->add_option("--inputs", a.inputs, "Inputs from an .npz archive");
  command
      ->add_option("--input-spec", a.input_spec,
                   "Overrides for synthesised inputs; default: inputs.json near the goldens")
      ->excludes(inputs);
  AddThreadsOption(*command, a.threads);
  AddLimitOptions(*command, a.timeout, a.max_memory);
  command->add_option("--jobs", a.jobs, "Folder: processes at once; default: CPUs / threads")
      ->check(CLI::Range(1, 1024));
  command->add_option("--filter", a.filter, "Folder: only files of this shell pattern");
  command->add_flag("--allow-unsupported", a.allow_unsupported,
                    "Folder: what is refused by name is no failure");
  AddFormatOption(*command, a.format, "text, json or, for a folder, junit",
                  {"text", "json", "junit"});
  command->add_option("-o,--output", a.output, "Write the results here instead of to stdout");
  AddSeedOption(*command, a.seed, kInputSeedHelp);
  command->callback([&selected, arguments] {
    selected = [arguments] { return CheckCommand(*arguments).Execute(); };
  });
}

}  // namespace fusemark
