#include <algorithm>

#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

// Elementwise, scalar and without calls: then applying the region to whole arrays means the same.
bool IsLiftable(const Computation& region) {
  return std::all_of(region.instrs.begin(), region.instrs.end(), [](const Instr& instr) {
    const bool shape_ok = instr.shape.is_scalar() && instr.called.empty();
    const bool op_ok = IsElementwise(instr.op) || instr.op == Op::kParameter ||
                       instr.op == Op::kConstant || instr.op == Op::kReshape ||
                       (instr.op == Op::kBroadcast && instr.As<DimsAttrs>().dims.empty());
    return shape_ok && op_ok && instr.op != Op::kStochasticConvert;
  });
}

InstrId InlineMap(Builder& builder, const Instr& map, const Computation& region) {
  std::vector<InstrId> values(region.instrs.size());
  for (size_t i = 0; i < region.instrs.size(); ++i) {
    const Instr& scalar = region.instrs[i];
    switch (scalar.op) {
      case Op::kParameter:
        values[i] = map.operands[static_cast<size_t>(scalar.As<ParameterAttrs>().number)];
        break;
      case Op::kConstant:
        values[i] = builder.Broadcast(builder.Emit(scalar), map.shape.dims, {});
        break;
      case Op::kReshape:
      case Op::kBroadcast: values[i] = values[scalar.operands[0].index]; break;
      default: {
        Instr lifted = scalar;
        lifted.shape = ArrayShape(scalar.shape.dtype, map.shape.dims);
        for (InstrId& operand : lifted.operands) operand = values[operand.index];
        values[i] = builder.Emit(std::move(lifted));
      }
    }
  }
  return values[region.root.index];
}

bool CallsWhole(Op op) {
  return op == Op::kCall || op == Op::kFusion;
}

// Size of the computation with its calls (already flattened themselves) inlined.
int64_t InlinedSize(const Module& module, const Computation& computation) {
  auto size = static_cast<int64_t>(computation.instrs.size());
  for (const Instr& instr : computation.instrs) {
    if (!CallsWhole(instr.op) && instr.op != Op::kMap) continue;
    size += static_cast<int64_t>(module[instr.called[0]].instrs.size());
  }
  return size;
}

}  // namespace

Result<bool> InlineCalls(Module& module, const PassContext& context) {
  bool changed = CollectComputations(module);
  const Effects effects = FindEffects(module);
  // Callees come first, so every body copied here has no calls left: depth costs nothing.
  for (Computation& computation : module.computations) {
    const bool calls = std::any_of(
        computation.instrs.begin(), computation.instrs.end(),
        [](const Instr& instr) { return CallsWhole(instr.op) || instr.op == Op::kMap; });
    // Calls double in size per level in the worst case; past the limit they stay calls.
    if (!calls || InlinedSize(module, computation) > context.max_inlined_instrs) continue;
    changed |= Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
      if (CallsWhole(instr.op)) {
        changed = true;
        return builder.Inline(module[instr.called[0]], instr.operands);
      }
      if (instr.op == Op::kMap && IsLiftable(module[instr.called[0]])) {
        changed = true;
        return InlineMap(builder, instr, module[instr.called[0]]);
      }
      return builder.Keep(std::move(instr));
    });
  }
  return CollectComputations(module) || changed;
}

}  // namespace fusemark
