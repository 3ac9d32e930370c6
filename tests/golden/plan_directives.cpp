// plan:                            the kernels of the default plan, in execution order
//   passes                         after the graph passes
//   why                            and where each instruction is computed, and why
//   materialise=a,b  inline=c      with these choices (by name; any computation)
// A kernel is printed as `class results <- what is inlined`; the plan must also pass CheckPlan.
#include "compiler/fusion/planner.h"
#include "compiler/ir/users.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/support/strings.h"
#include "compiler/text/text.h"
#include "tests/golden/directives.h"

namespace fusemark::golden {
namespace {

struct PlanCase {
  bool passes = false, why = false;
  std::vector<std::pair<std::string_view, bool>> choices;  // name, materialise
};

Result<PlanCase> ParseArgument(std::string_view argument) {
  PlanCase plan;
  for (const std::string_view word : Split(argument, ' ')) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (word.empty()) continue;
    if (word == "passes") {
      plan.passes = true;
    } else if (word == "why") {
      plan.why = true;
    } else if (equals != std::string_view::npos && (key == "materialise" || key == "inline")) {
      for (const std::string_view name : Split(word.substr(equals + 1), ',')) {
        plan.choices.emplace_back(name, key == "materialise");
      }
    } else {
      return Invalid("found '" + std::string(word) +
                     "', expected passes, why, materialise=a,b or inline=a,b");
    }
  }
  return plan;
}

Result<PlanChoices> ChoicesOf(const Module& module, const PlanCase& plan) {
  PlanChoices choices;
  for (const auto& [name, materialise] : plan.choices) {
    const size_t before = choices.size();
    for (uint32_t c = 0; c < module.computations.size(); ++c) {
      const auto& instrs = module.computations[c].instrs;
      for (uint32_t i = 0; i < instrs.size(); ++i) {
        if (instrs[i].name == name) choices[{c, i}] = materialise;
      }
    }
    if (choices.size() == before) return Invalid("no instruction '" + std::string(name) + "'");
  }
  return choices;
}

std::string Names(const Computation& computation, const std::vector<InstrId>& ids) {
  std::string names;
  for (const InstrId id : ids) names += (names.empty() ? "" : ", ") + computation[id].name;
  return names;
}

std::string PrintPlan(const Module& module, const PlannedModule& planned, bool why) {
  const auto whole = WholeComputations(module);
  std::string text;
  for (const ComputationId id : whole) {
    const Computation& computation = module[id];
    if (whole.size() > 1) text += computation.name + ":\n";
    for (const KernelPlan& kernel : planned.plan.computations[id.index].kernels) {
      text += "  " + std::string(loops::KernelClassName(kernel.klass)) + " " +
              Names(computation, kernel.roots);
      if (!kernel.members.empty()) text += " <- " + Names(computation, kernel.members);
      text += "\n";
    }
    const auto live = Live(computation);
    for (uint32_t i = 0; why && i < computation.instrs.size(); ++i) {
      if (!live[i] || IsStructural(computation.instrs[i].op)) continue;
      text += "    " + computation.instrs[i].name + ": " +
              std::string(PlacementText(planned.placement[id.index][i])) + "\n";
    }
  }
  return text;
}

}  // namespace

Result<std::string> RunPlan(const Case& test) {
  FM_TRY(const PlanCase plan, ParseArgument(test.argument));
  FM_TRY(Module module, ParseModule(test.input, "input"));
  if (plan.passes) {
    PipelineOptions options;
    options.context.evaluate = EvaluateInstr;
    options.verify = true;
    FM_TRY([[maybe_unused]] const auto reports, RunPipeline(module, options));
  }
  FM_TRY(const PlanChoices choices, ChoicesOf(module, plan));
  FM_TRY(const PlannedModule planned, MakePlan(module, choices));
  FM_RETURN_IF_ERROR(CheckPlan(module, planned.plan));
  return PrintPlan(module, planned, plan.why);
}

}  // namespace fusemark::golden
