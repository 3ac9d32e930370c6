// fusemark opt: graph passes on an HLO file, for people and tests. Prints the module as HLO text,
// or the kernels of its default plan, scheduled for this host.
#include <fmt/format.h>

#include "compiler/codegen/target.h"
#include "compiler/fusion/planner.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/table.h"

namespace fusemark {
namespace {

struct OptArguments {
  std::string file, emit = "hlo", output, stop_after;
  std::vector<std::string> passes, disabled, print_after;
  bool time_passes = false;
};

// One kernel of the plan, behind the instructions it computes as comments.
Result<std::string> EmitKernel(const Module& module, ComputationId computation,
                               const KernelPlan& plan, const loops::Target& target,
                               const std::string& emit) {
  const std::string_view comment = emit == "llvm" ? ";" : emit == "asm" ? "#" : "//";
  std::string text;
  const auto describe = [&](std::string_view role, InstrId id) {
    text += fmt::format("{} {} {}: {}\n", comment, role, module[computation].name,
                        PrintInstr(module, module[computation], id));
  };
  for (InstrId member : plan.members) describe("inlined", member);
  for (InstrId root : plan.roots) describe("result", root);

  loops::LowerRequest request;
  request.module = &module;
  request.computation = computation;
  request.roots = plan.roots;
  request.members = plan.members;
  request.klass = plan.klass;
  request.rounding = loops::Rounding::kAtStores;
  FM_TRY(const loops::Lowered lowered, loops::Lower(request));
  FM_TRY(const loops::Kernel scheduled,
         loops::ApplySchedule(lowered.kernel, loops::Schedule{}, target));
  if (emit == "loops") return text + loops::Print(scheduled) + "\n";
  FM_TRY(
      const std::string code,
      Jit::EmitText(scheduled, target, emit == "llvm" ? Jit::Emit::kLlvm : Jit::Emit::kAssembly));
  return text + code + "\n";
}

// The kernels of the default plan, in the order they run.
Result<std::string> EmitKernels(const Module& module, const std::string& emit) {
  const loops::Target target = HostTarget();
  FM_TRY(const PlannedModule planned, MakePlan(module));
  std::string text;
  for (uint32_t c = 0; c < planned.plan.computations.size(); ++c) {
    for (const KernelPlan& kernel : planned.plan.computations[c].kernels) {
      FM_TRY(const std::string one, EmitKernel(module, {c}, kernel, target, emit));
      text += one;
    }
  }
  return text;
}

std::string TimesText(const std::vector<PassReport>& reports) {
  using Align = TextTable::Align;
  TextTable table({{"pass", Align::kLeft},
                   {"runs", Align::kRight},
                   {"changed", Align::kRight},
                   {"ms", Align::kRight}});
  for (const PassReport& report : reports) {
    table.AddRow({report.name, std::to_string(report.runs), std::to_string(report.changed),
                  fmt::format("{:.2f}", static_cast<double>(report.time_ns) / 1e6)});
  }
  return table.ToText();
}

Outcome Execute(const OptArguments& arguments) {
  Outcome outcome;
  Result<Module> module = ParseModuleFile(arguments.file);
  if (!module.ok()) {
    const bool unreadable = module.error().code == Code::kIo;
    outcome.Add(unreadable ? ExitCode::kUsage : ExitCode::kFailed, module.error().message);
    return outcome;
  }
  PipelineOptions options;
  options.context.evaluate = EvaluateInstr;
  options.verify = true;
  options.only = arguments.passes;
  options.disabled = arguments.disabled;
  options.stop_after = arguments.stop_after;
  options.print_after = arguments.print_after;
  options.print = [](std::string_view pass, const Module& after) {
    fmt::print(stderr, "// after {}\n{}\n", pass, PrintModule(after));
  };
  const auto reports = RunPipeline(*module, options);
  if (!reports.ok()) {
    const bool usage = reports.error().code == Code::kInvalidInput;  // a pass name
    outcome.Add(usage ? ExitCode::kUsage : ExitCode::kFailed, reports.error().message);
    return outcome;
  }
  if (arguments.time_passes) fmt::print(stderr, "{}", TimesText(*reports));
  const Result<std::string> text = arguments.emit == "hlo"
                                       ? Result<std::string>(PrintModule(*module))
                                       : EmitKernels(*module, arguments.emit);
  if (!text.ok()) {
    outcome.Add(ExitCode::kFailed, text.error().message);
    return outcome;
  }
  const Result<void> written = WriteOutput(arguments.output, *text);
  if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
  return outcome;
}

}  // namespace

void AddOptCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("opt", "Run graph passes on an HLO file and print");
  auto arguments = std::make_shared<OptArguments>();
  std::string names;
  for (const PassEntry& pass : GraphPasses()) names += " " + std::string(pass.name);
  command->footer("Passes, in order:" + names);
  command->add_option("file", arguments->file, "HLO text file")->required();
  command->add_option("--passes", arguments->passes, "only these, once each, in this order")
      ->delimiter(',');
  command->add_option("--disable-pass", arguments->disabled, "skip these")->delimiter(',');
  command->add_option("--stop-after", arguments->stop_after, "the last pass to run");
  command
      ->add_option("--print-after", arguments->print_after,
                   "print the module after these passes (or all) to stderr")
      ->delimiter(',');
  command->add_flag("--time-passes", arguments->time_passes, "time per pass to stderr");
  command
      ->add_option("--emit", arguments->emit,
                   "hlo: the module; loops, llvm, asm: the kernels of its default plan")
      ->check(CLI::IsMember({"hlo", "loops", "llvm", "asm"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "file instead of stdout");
  command->callback(
      [&selected, arguments] { selected = [arguments] { return Execute(*arguments); }; });
}

}  // namespace fusemark
