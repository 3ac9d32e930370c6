// fusemark opt: graph passes on an HLO file, for people and tests. The module as HLO text, or the
// code of its instructions: one kernel each, as the engine off runs them, scheduled for this host.
#include <fmt/format.h>

#include "compiler/codegen/target.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/verify.h"
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

// Structural instructions have no code of their own.
bool HasKernel(const Instr& instr) {
  const OpClass klass = ClassOf(instr.op);
  return klass != OpClass::Tuple && klass != OpClass::Control;
}

Result<std::string> EmitKernel(const loops::Kernel& kernel, const std::string& emit,
                               const loops::Target& target) {
  FM_TRY(const loops::Kernel scheduled, loops::ApplySchedule(kernel, loops::Schedule{}, target));
  FM_RETURN_IF_ERROR(loops::Verify(scheduled));
  if (emit == "loops") return loops::Print(scheduled);
  return Jit::EmitText(scheduled, target, emit == "llvm" ? Jit::Emit::kLlvm : Jit::Emit::kAssembly);
}

// The kernels of all computations that run as a whole, each behind the instruction it computes. An
// instruction without a lowering gets its reason instead.
std::string EmitKernels(const Module& module, const std::string& emit) {
  const loops::Target target = HostTarget();
  const std::string_view comment = emit == "llvm" ? ";" : emit == "asm" ? "#" : "//";
  // Regions of reductions and the like are part of their callers' kernels.
  std::vector<bool> runs(module.computations.size(), false);
  runs[module.entry.index] = true;
  for (size_t c = module.computations.size(); c-- > 0;) {
    if (!runs[c]) continue;
    for (const Instr& instr : module.computations[c].instrs) {
      if (ClassOf(instr.op) != OpClass::Control || instr.op == Op::kMap) continue;
      for (ComputationId callee : instr.called) runs[callee.index] = true;
    }
  }
  std::string text;
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    for (uint32_t i = 0; i < computation.instrs.size() && runs[c]; ++i) {
      if (!HasKernel(computation.instrs[i])) continue;
      text += fmt::format("{} {}: {}\n", comment, computation.name,
                          PrintInstr(module, computation, {i}));
      loops::LowerRequest request;
      request.module = &module;
      request.computation = {c};
      request.roots = {{i}};
      request.klass = loops::ClassOfInstr(module, {c}, {i});
      const auto lowered = loops::Lower(request);
      const Result<std::string> kernel =
          lowered.ok() ? EmitKernel(lowered->kernel, emit, target) : lowered.error();
      text += kernel.ok() ? *kernel : fmt::format("{} {}", comment, kernel.error().message);
      text += '\n';
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
  const Result<void> written =
      WriteOutput(arguments.output, arguments.emit == "hlo" ? PrintModule(*module)
                                                            : EmitKernels(*module, arguments.emit));
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
                   "hlo: the module; loops, llvm, asm: one kernel per instruction")
      ->check(CLI::IsMember({"hlo", "loops", "llvm", "asm"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "file instead of stdout");
  command->callback(
      [&selected, arguments] { selected = [arguments] { return Execute(*arguments); }; });
}

}  // namespace fusemark
