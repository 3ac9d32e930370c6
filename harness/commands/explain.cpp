// fusemark explain: what on mode makes of a workload: kernels, what was fused and why not more,
// bytes, operations.
#include "compiler/explain.h"

#include <optional>

#include "autotuner/machine_limits.h"
#include "harness/bench.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/interrupt.h"
#include "harness/kernel_times.h"
#include "harness/load.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/report_explain.h"

namespace fusemark {
namespace {

struct ExplainArguments {
  std::string workload, engine = "on", format = "text", resident;
  bool measure = false;
  int threads = 0;
};

constexpr int64_t kMeasureNs = 1'000'000'000;

Result<ProgramTimes> TimesOf(const LoadedWorkload& loaded, Executable& executable,
                             bool has_residents) {
  std::vector<const void*> params;
  for (const Tensor& input : loaded.inputs) params.push_back(input.data.get());
  FM_TRY(const std::vector<Tensor> outputs, MakeOutputs(loaded.workload.module));
  std::vector<void*> results;
  for (const Tensor& output : outputs) results.push_back(output.data.get());
  if (has_residents) FM_RETURN_IF_ERROR(executable.Bind(params));
  return MeasureKernels(executable, params, results, kMeasureNs, Interrupted());
}

Result<std::string> Report(const ExplainArguments& arguments, const LoadedWorkload& loaded,
                           const CompileOptions& options) {
  FM_TRY(const Explanation explanation, Explain(loaded.workload.module, options));
  FM_TRY(const auto executable, Compile(loaded.workload.module, options));
  std::optional<ProgramTimes> times;
  if (arguments.measure) {
    FM_TRY(times, TimesOf(loaded, *executable, !options.residents.empty()));
  }
  FM_TRY(const MachineLimits limits, MeasureMachineLimits(options.target));
  const ProgramTimes* measured = times ? &*times : nullptr;
  const CompileStats stats = executable->Stats();
  return arguments.format == "json"
             ? ExplainJson(explanation, stats, limits, measured)
             : ExplainText(explanation, stats, limits, options.threads, measured);
}

Outcome Execute(const ExplainArguments& arguments) {
  Outcome outcome;
  Progress progress;
  if (const auto names = CheckWorkloadNames({arguments.workload}); !names.ok()) {
    outcome.Add(ExitCode::kUsage, names.error().message);
    return outcome;
  }
  ExitCode code = ExitCode::kFailed;
  LoadOptions load;
  load.without_inputs = load.allow_unsupported = !arguments.measure;
  const auto loaded = LoadForRun(arguments.workload, load, code);
  if (!loaded.ok()) {
    outcome.Add(code, loaded.error().message);
    return outcome;
  }
  std::vector<int64_t> residents = loaded->workload.resident;
  if (!arguments.resident.empty()) {
    const auto count = static_cast<int64_t>(loaded->workload.module.Entry().parameters.size());
    auto parsed = ParseResidents(arguments.resident, count);
    if (!parsed.ok()) {
      outcome.Add(ExitCode::kUsage, parsed.error().message);
      return outcome;
    }
    residents = std::move(parsed).value();
  }
  CompileOptions options =
      OptionsFor(Engine::kOn, ThreadsOf(arguments.threads, progress), residents);
  options.allow_unknown_calls = !arguments.measure;
  const auto report = Report(arguments, *loaded, options);
  if (!report.ok()) {
    outcome.Add(ExitCode::kFailed, report.error().message);
    return outcome;
  }
  const auto written = WriteOutput("", *report);
  if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
  return outcome;
}

}  // namespace

void AddExplainCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command =
      app.add_subcommand("explain", "Show the kernels of a workload and why they are as they are");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("workload", arguments->workload, "HLO file, YAML file or built-in name")
      ->required();
  command->add_option("--engine", arguments->engine, "only on has a plan to explain")
      ->check(CLI::IsMember({"on"}))
      ->capture_default_str();
  AddFormatOption(*command, arguments->format);
  command->add_flag("--measure", arguments->measure,
                    "Run it with a clock between the kernels and report what each takes");
  command->add_option("--resident", arguments->resident,
                      "Entry parameters that never change: all, none, or e.g. 0-5,7");
  AddThreadsOption(*command, arguments->threads);
  command->callback(
      [&selected, arguments] { selected = [arguments] { return Execute(*arguments); }; });
}

}  // namespace fusemark
