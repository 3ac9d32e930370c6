#include "compiler/fusion/planner.h"

#include <algorithm>
#include <set>

#include "compiler/fusion/compute_planner.h"

namespace fusemark {

bool IsStructural(Op op) {
  switch (op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kTuple:
    case Op::kGetTupleElement:
    case Op::kWhile:
    case Op::kConditional:
    case Op::kCall:
    case Op::kCustomCall:
    case Op::kAfterAll: return true;
    default: return false;
  }
}

bool IsView(const Computation& computation, const KernelPlan& kernel,
            const std::vector<std::vector<InstrId>>& users) {
  if (kernel.roots.size() != 1 || !kernel.members.empty()) return false;
  const InstrId root = kernel.roots[0];
  if (computation[root].op != Op::kReshape || computation.root == root) return false;
  return std::none_of(users[root.index].begin(), users[root.index].end(),
                      [&](InstrId user) { return IsStructural(computation[user].op); });
}

std::string_view PlacementText(Placement placement) {
  switch (placement) {
    case Placement::kStructural: return "host program";
    case Placement::kInlined: return "inlined into its consumers";
    case Placement::kOutput: return "own result: the program or control flow reads it";
    case Placement::kAnchor: return "own kernel: contraction, reduction or update";
    case Placement::kMemory: return "materialised: a library call or an update reads it in memory";
    case Placement::kShared: return "materialised: several kernels read it";
    case Placement::kRecompute: return "materialised: consumers would recompute it";
    case Placement::kFull: return "materialised: its consumer's kernel is as large as may be";
    case Placement::kChosen: return "placed by the configuration";
    case Placement::kInGroup: return "part of a row kernel, attention or an epilogue";
  }
  return "";
}

std::vector<ComputationId> WholeComputations(const Module& module) {
  std::vector<bool> whole(module.computations.size(), false);
  whole[module.entry.index] = true;
  // Callees precede callers, so one backward sweep reaches everything.
  for (size_t c = module.computations.size(); c-- > 0;) {
    if (!whole[c]) continue;
    for (const Instr& instr : module.computations[c].instrs) {
      // What an unknown custom call makes of its computations is its own business.
      if (!IsStructural(instr.op) || instr.op == Op::kCustomCall) continue;
      for (const ComputationId callee : instr.called) whole[callee.index] = true;
    }
  }
  std::vector<ComputationId> ids;
  for (uint32_t c = 0; c < whole.size(); ++c) {
    if (whole[c]) ids.push_back({c});
  }
  return ids;
}

Result<PlannedModule> MakePlan(const Module& module, const PlanChoices& choices) {
  PlannedModule planned;
  planned.plan.computations.resize(module.computations.size());
  planned.placement.resize(module.computations.size());
  for (const ComputationId id : WholeComputations(module)) {
    ComputePlanner planner(module, id, choices);
    FM_TRY(planned.plan.computations[id.index], planner.Run());
    planned.placement[id.index] = planner.placement();
  }
  return planned;
}

PlanChoices FlippableChoices(const Module& module, const PlannedModule& planned) {
  PlanChoices flips;
  for (const ComputationId id : WholeComputations(module)) {
    const Computation& computation = module[id];
    const auto& placement = planned.placement[id.index];
    for (uint32_t i = 0; i < placement.size(); ++i) {
      const Instr& instr = computation.instrs[i];
      const bool scalar = instr.shape.is_array() && ElementCount(instr.shape) <= 16;
      if (scalar) continue;
      switch (placement[i]) {
        case Placement::kInlined:
          // Materialising a pure index map or a broadcast only adds traffic.
          if (IsElementwise(instr.op)) flips[{id.index, i}] = true;
          break;
        case Placement::kShared:
        case Placement::kRecompute: flips[{id.index, i}] = false; break;
        case Placement::kInGroup:
          if (instr.op == Op::kReduce || ClassOf(instr.op) == OpClass::Contract)
            flips[{id.index, i}] = true;
          break;
        default: break;
      }
    }
  }
  return flips;
}

namespace {

Error NoPart(const Computation& computation, InstrId instr, const std::string& why) {
  const bool known = instr.index < computation.instrs.size();
  return Invalid("plan: instruction " + std::to_string(instr.index) + " of computation `" +
                 computation.name + "` " + (known ? "(`" + computation[instr].name + "`) " : "") +
                 why);
}

// Roots and members as the planner writes them: increasing, each once, none handled elsewhere.
Result<void> CheckKernelPlan(const Computation& computation, const KernelPlan& kernel,
                             const std::vector<bool>& done) {
  if (kernel.roots.empty()) return Invalid("plan: a kernel without roots");
  for (const auto* list : {&kernel.roots, &kernel.members}) {
    for (size_t i = 0; i < list->size(); ++i) {
      const InstrId instr = (*list)[i];
      if (instr.index >= computation.instrs.size() || IsStructural(computation[instr].op)) {
        return NoPart(computation, instr, "cannot be part of a kernel");
      }
      if (i > 0 && !((*list)[i - 1] < instr)) {
        return NoPart(computation, instr, "is not listed once and in increasing order");
      }
    }
  }
  for (const InstrId root : kernel.roots) {
    if (done[root.index]) return NoPart(computation, root, "is materialised by two kernels");
    if (std::binary_search(kernel.members.begin(), kernel.members.end(), root)) {
      return NoPart(computation, root, "is both root and member of a kernel");
    }
  }
  return Ok();
}

Result<void> CheckComputationPlan(const Module& module, ComputationId id,
                                  const ComputationPlan& plan) {
  const Computation& computation = module[id];
  std::vector<bool> done(computation.instrs.size(), false);
  for (const KernelPlan& kernel : plan.kernels) {
    FM_RETURN_IF_ERROR(CheckKernelPlan(computation, kernel, done));
    std::vector<InstrId> inside = kernel.members;
    inside.insert(inside.end(), kernel.roots.begin(), kernel.roots.end());
    const std::set<InstrId> own(inside.begin(), inside.end());
    for (const InstrId instr : inside) {
      for (const InstrId operand : computation[instr].operands) {
        const Op op = computation[operand].op;
        if (own.contains(operand) || IsStructural(op) || done[operand.index]) continue;
        return Invalid("plan: `" + computation[instr].name + "` reads `" +
                       computation[operand].name + "` before any kernel has computed it");
      }
    }
    const auto lowered = loops::Lower(
        {&module, id, kernel.roots, kernel.members, kernel.klass, loops::Rounding::kAtStores});
    if (!lowered.ok()) return Invalid("plan: " + lowered.error().message);
    for (const InstrId root : kernel.roots) done[root.index] = true;
  }
  const std::vector<bool> live = Live(computation);
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (!live[i] || !IsStructural(instr.op)) continue;
    for (const InstrId operand : instr.operands) {
      if (IsStructural(computation[operand].op) || done[operand.index]) continue;
      return Invalid("plan: no kernel computes `" + computation[operand].name + "`");
    }
  }
  if (!IsStructural(computation.Root().op) && !done[computation.root.index]) {
    return Invalid("plan: no kernel computes the result `" + computation.Root().name + "`");
  }
  return Ok();
}

}  // namespace

Result<void> CheckPlan(const Module& module, const Plan& plan) {
  if (plan.computations.size() != module.computations.size()) {
    return Invalid("plan: made for " + std::to_string(plan.computations.size()) +
                   " computations, the module has " + std::to_string(module.computations.size()));
  }
  for (const ComputationId id : WholeComputations(module)) {
    FM_RETURN_IF_ERROR(CheckComputationPlan(module, id, plan.computations[id.index]));
  }
  return Ok();
}

}  // namespace fusemark
