#include <algorithm>

#include "compiler/passes/expand_composites.h"

namespace fusemark {
namespace {

// Major-to-minor order of the dims in memory.
Dims PhysicalOrder(const Shape& shape) {
  if (!shape.layout) return IdentityDims(shape.rank());
  Dims order = shape.layout->minor_to_major;
  std::reverse(order.begin(), order.end());
  return order;
}

bool IsUntiled(const Shape& shape) {
  return !shape.layout ||
         (static_cast<int64_t>(shape.layout->minor_to_major.size()) == shape.rank() &&
          shape.layout->suffix.find("T(") == std::string::npos);
}

bool CanExpand(const Shape& from, const Shape& to) {
  return from.is_array() && to.is_array() && ByteSize(from.dtype) == ByteSize(to.dtype) &&
         BitWidth(from.dtype) == BitWidth(to.dtype) && ElementCount(from) == ElementCount(to) &&
         IsUntiled(from) && IsUntiled(to);
}

}  // namespace

bool ExpandBitcasts(Computation& computation, const Effects& effects) {
  const bool any = std::any_of(computation.instrs.begin(), computation.instrs.end(),
                               [](const Instr& instr) { return instr.op == Op::kBitcast; });
  if (!any) return false;
  bool changed = false;
  Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
    const Shape from = instr.op == Op::kBitcast ? builder[instr.operands[0]].shape : Shape();
    if (instr.op != Op::kBitcast || !CanExpand(from, instr.shape)) {
      return builder.Keep(std::move(instr));
    }
    changed = true;
    InstrId value = builder.Transpose(instr.operands[0], PhysicalOrder(from));
    if (from.dtype != instr.shape.dtype) {
      value = builder.Emit(Op::kBitcastConvert,
                           ArrayShape(instr.shape.dtype, builder[value].shape.dims), {value});
    }
    const Dims order = PhysicalOrder(instr.shape);
    Dims physical, inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      physical.push_back(instr.shape.dims[static_cast<size_t>(order[i])]);
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    value = builder.Transpose(builder.Reshape(value, std::move(physical)), std::move(inverse));
    // The copy carries the bitcast's layout, which a bitcast of this value still has to see.
    instr.op = Op::kCopy;
    instr.operands = {value};
    return builder.Keep(std::move(instr));
  });
  return changed;
}

}  // namespace fusemark
