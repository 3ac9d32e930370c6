#include "compiler/passes/simplify_algebra.h"

namespace fusemark {
namespace {

// Scalar predicates and bounds stand beside array operands as they are.
bool IsScalarBeside(const Builder& builder, const Instr& instr, InstrId operand) {
  return builder[operand].shape.dims.empty() && instr.operands.size() == 3;
}

// f(broadcast(a), broadcast(b)) is broadcast(f(a, b)) when both are spread the same way: the work
// shrinks to what is distinct (rsqrt over channels instead of over the image).
Step HoistAboveBroadcast(Builder& builder, Instr& instr) {
  if (instr.operands.empty() || instr.shape.dims.empty() || instr.op == Op::kStochasticConvert) {
    return Leave();
  }
  const Instr* spread = nullptr;  // the broadcast of an array, if there is one
  for (InstrId id : instr.operands) {
    const Instr& operand = builder[id];
    if (IsScalarBeside(builder, instr, id)) continue;
    if (operand.op != Op::kBroadcast || operand.shape.dims != instr.shape.dims) return Leave();
    if (builder[operand.operands[0]].shape.dims.empty()) continue;
    if (spread == nullptr) {
      spread = &operand;
      continue;
    }
    const bool alike =
        spread->As<DimsAttrs>() == operand.As<DimsAttrs>() &&
        SameDims(builder[spread->operands[0]].shape, builder[operand.operands[0]].shape);
    if (!alike) return Leave();
  }
  const Dims dims = spread ? spread->As<DimsAttrs>().dims : Dims{};
  const Dims small = spread ? builder[spread->operands[0]].shape.dims : Dims{};
  Instr inner = instr;
  inner.shape = ArrayShape(instr.shape.dtype, small);
  for (InstrId& id : inner.operands) {
    if (builder[id].op != Op::kBroadcast) continue;
    const InstrId source = builder[id].operands[0];
    id = builder[source].shape.dims.empty() ? builder.Broadcast(source, small, {}) : source;
  }
  return Become(instr, Op::kBroadcast, {builder.Emit(std::move(inner))}, DimsAttrs{dims});
}

// Has a buffer in any case, and a buffer can be read in any dims.
bool IsInMemory(Op op) {
  switch (op) {
    case Op::kParameter:
    case Op::kGetTupleElement:
    case Op::kConvolution:
    case Op::kReduceWindow: return true;
    default: return false;
  }
}

// f(reshape(a), reshape(b)) is reshape(f(a, b)), and spread operands are spread to a's dims
// instead: what follows a dot or a reduction stays in its dims, so that it can share its loops.
// Only towards fewer dims, or two such rules would chase each other.
Step HoistAboveReshape(Builder& builder, Instr& instr) {
  const Instr* reshaped = nullptr;
  for (InstrId id : instr.operands) {
    if (builder[id].op == Op::kReshape) reshaped = &builder[id];
  }
  if (reshaped == nullptr || instr.op == Op::kStochasticConvert) return Leave();
  const Dims dims = builder[reshaped->operands[0]].shape.dims;
  if (dims.size() >= instr.shape.dims.size()) return Leave();
  std::vector<SwappedBroadcast> spreads(instr.operands.size());
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    const Instr& operand = builder[instr.operands[i]];
    if (IsScalarBeside(builder, instr, instr.operands[i])) continue;
    if (operand.shape.dims != instr.shape.dims) return Leave();
    if (operand.op == Op::kReshape) {
      if (builder[operand.operands[0]].shape.dims != dims) return Leave();
      continue;
    }
    if (IsInMemory(operand.op)) continue;
    if (operand.op != Op::kBroadcast) return Leave();
    auto swapped = SwapReshapeBroadcast(builder, operand, dims);
    if (!swapped) return Leave();
    spreads[i] = std::move(*swapped);
  }
  Instr inner = instr;
  inner.shape = ArrayShape(instr.shape.dtype, dims);
  for (size_t i = 0; i < inner.operands.size(); ++i) {
    const Op op = builder[inner.operands[i]].op;
    if (IsScalarBeside(builder, instr, instr.operands[i])) continue;
    if (IsInMemory(op)) {
      inner.operands[i] = builder.Reshape(inner.operands[i], dims);
      continue;
    }
    const InstrId source = builder[inner.operands[i]].operands[0];
    if (op == Op::kReshape) {
      inner.operands[i] = source;
    } else {
      const InstrId value = builder.Reshape(source, std::move(spreads[i].operand_dims));
      inner.operands[i] = builder.Broadcast(value, dims, std::move(spreads[i].broadcast_dims));
    }
  }
  return Become(instr, Op::kReshape, {builder.Emit(std::move(inner))});
}

}  // namespace

Step SimplifyHoist(Builder& builder, Instr& instr) {
  // complex() stands at the entry's results and nothing may stand behind it (expand_complex.cpp).
  if (IsComplex(instr.shape.dtype)) return Leave();
  const Step step = HoistAboveBroadcast(builder, instr);
  return step.fired ? step : HoistAboveReshape(builder, instr);
}

}  // namespace fusemark
