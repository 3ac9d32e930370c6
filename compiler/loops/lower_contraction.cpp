// Contractions of the emitter: dot. Convolution, its relative with a window, is in
// lower_convolution.cpp.
#include "compiler/loops/lower_contraction.h"

#include <algorithm>

#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {

DType ContractionType(DType lhs, DType rhs, DType result) {
  if (!IsFloat(result)) return result;
  const bool wide = lhs == DType::kF64 || rhs == DType::kF64 || result == DType::kF64;
  return wide ? DType::kF64 : DType::kF32;
}

void MultiplyAccumulate(Emitter& emitter, BufferId accumulator, ExprId a, ExprId b) {
  Builder& build = emitter.builder();
  const DType type = build.kernel()[accumulator].dtype;
  const ExprId sum = emitter.Read(accumulator);
  if (IsFloat(type)) {
    emitter.Assign(accumulator, build.Fma(a, b, sum));
  } else if (type == DType::kPred) {
    emitter.Assign(accumulator, build.Binary(Op::kOr, sum, build.Binary(Op::kAnd, a, b)));
  } else {
    emitter.Assign(accumulator, build.Binary(Op::kAdd, sum, build.Binary(Op::kMultiply, a, b)));
  }
}

Value Emitter::Dot(const Instr& in, const Indices& indices) {
  const auto& dot = in.As<DotAttrs>();
  const Shape &lhs = instr(in.operands[0]).shape, &rhs = instr(in.operands[1]).shape;
  const DType type = ContractionType(lhs.dtype, rhs.dtype, in.shape.dtype);
  const BufferId sum = Accumulator(type, builder_.Constant(type, 0));
  std::vector<int64_t> extents;
  for (const int64_t dim : dot.lhs_contracting)
    extents.push_back(lhs.dims[static_cast<size_t>(dim)]);

  // Result dims: batch, then what is left of lhs, then of rhs.
  const auto operand_index = [&](const Shape& shape, const Dims& batch, const Dims& contracting,
                                 size_t& next_free, const Indices& along) {
    Indices at(shape.dims.size());
    std::vector<bool> used(shape.dims.size(), false);
    for (size_t i = 0; i < batch.size(); ++i) {
      at[static_cast<size_t>(batch[i])] = indices[i];
      used[static_cast<size_t>(batch[i])] = true;
    }
    for (size_t i = 0; i < contracting.size(); ++i) {
      at[static_cast<size_t>(contracting[i])] = along[i];
      used[static_cast<size_t>(contracting[i])] = true;
    }
    for (size_t dim = 0; dim < at.size(); ++dim) {
      if (!used[dim]) at[dim] = indices[next_free++];
    }
    return at;
  };
  // The algorithm asks for bf16 inputs; everything finer is met by f32 itself.
  const auto input = [&](const Value& value) {
    ExprId held = Use(value);
    if (dot.algorithm == "dot_bf16_bf16_f32" && IsFloat(value.dtype))
      held = builder_.Convert(builder_.Convert(held, DType::kBF16), DType::kF32);
    return builder_.Convert(held, type);
  };
  Nest('k', extents, true, [&](const Indices& along) {
    size_t next_free = dot.lhs_batch.size();
    const Indices lhs_at = operand_index(lhs, dot.lhs_batch, dot.lhs_contracting, next_free, along);
    const Indices rhs_at = operand_index(rhs, dot.rhs_batch, dot.rhs_contracting, next_free, along);
    const Value a = Emit(in.operands[0], lhs_at), b = Emit(in.operands[1], rhs_at);
    MultiplyAccumulate(*this, sum, input(a), input(b));
  });
  return Round(in.name, in.shape.dtype, builder_.Convert(Read(sum), HeldType(in.shape.dtype)));
}

}  // namespace fusemark::loops
