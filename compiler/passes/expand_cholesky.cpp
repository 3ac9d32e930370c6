#include <algorithm>

#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

// Column k of a panel [b, m, w] divided by the root of its pivot, 0 above it. (An imaginary part of
// a pivot stays: division, not assignment, makes the diagonal.)
InstrId FactorColumn(Emitter& emit, InstrId panel, InstrId k) {
  const Dims dims = {emit.dims(panel)[0], emit.dims(panel)[1], 1};
  const InstrId zero = emit.Scalar(DType::kS32, 0);
  const InstrId column = emit.DynamicSlice(panel, {zero, zero, k}, dims);
  const InstrId pivot = emit.DynamicSlice(panel, {zero, k, k}, {dims[0], 1, 1});
  const InstrId root = emit.builder().Unary(Op::kSqrt, emit.Real(pivot));
  const InstrId divided = emit.OverReal(column, emit.Stretch(root, dims));
  const InstrId row_index = emit.Iota(DType::kS32, dims, 1);
  const InstrId below = emit.Compare(Direction::kGe, row_index, emit.Fill(k, dims));
  return emit.Select(below, divided, emit.Zeros(emit.dtype(panel), dims));
}

// The panel has its diagonal block at the top. Each step puts one finished column in its place and
// takes its outer product off the columns after it. The next finished column is part of the state,
// so that its roots and quotients are computed once and not in every element that reads them.
InstrId FactorPanel(const ExpandContext& context, InstrId panel) {
  const Dims dims = context.emit.dims(panel);
  const int64_t width = dims[2];
  const auto step = [&dims, width](Emitter& emit, InstrId k, const InstrIds& state) -> InstrIds {
    const InstrId p = state[0], factor = state[1];
    const InstrId top = emit.Slice(factor, 1, 0, width);
    const InstrId across = emit.builder().Reshape(emit.Conjugate(top), {dims[0], 1, width});
    const InstrId tall = emit.Stretch(factor, dims);
    const InstrId product = emit.Times(tall, emit.Stretch(across, dims));
    const InstrId updated = emit.Minus(p, product);
    const InstrId column_index = emit.Iota(DType::kS32, dims, 2), here = emit.Fill(k, dims);
    const InstrId after = emit.Compare(Direction::kGt, column_index, here);
    const InstrId others = emit.Select(after, updated, p);
    const InstrId is_column = emit.Compare(Direction::kEq, column_index, here);
    const InstrId next = emit.Select(is_column, tall, others);
    const InstrId following = emit.Add(k, emit.Scalar(DType::kS32, 1));
    return {next, FactorColumn(emit, next, following)};
  };
  const InstrId first = FactorColumn(context.emit, panel, context.emit.Scalar(DType::kS32, 0));
  return context.Loop(width, {panel, first}, step)[0];
}

// Lower factor of [b, n, n]: panel by panel, each first reduced by the product of those before it.
InstrId LowerFactor(const ExpandContext& context, InstrId a) {
  Emitter& emit = context.emit;
  const Dims dims = emit.dims(a);
  const int64_t n = dims[1], width = PanelWidth(n);
  if (width == n) return FactorPanel(context, a);
  InstrId factor = emit.Zeros(emit.dtype(a), dims);
  for (int64_t first = 0; first < n; first += width) {
    const int64_t end = std::min(first + width, n);
    InstrId panel = emit.Slice(emit.Slice(a, 1, first, n), 2, first, end);
    if (first > 0) {
      const InstrId done = emit.Slice(emit.Slice(factor, 1, first, n), 2, 0, first);
      const InstrId top = emit.Conjugate(emit.Slice(done, 1, 0, end - first));
      panel = emit.Minus(panel, emit.BatchDot(done, top, true));
    }
    factor = emit.Place(factor, FactorPanel(context, panel), {0, first, first});
  }
  return factor;
}

}  // namespace

std::optional<InstrId> ExpandCholesky(const ExpandContext& context, const Instr& instr) {
  Emitter& emit = context.emit;
  const Shape result = instr.shape;
  const int64_t count = ElementCount(result);
  if (count == 0) return emit.Zeros(result.dtype, result.dims);
  const int64_t n = result.dims.back();
  const bool lower = instr.As<TriangularAttrs>().lower;
  InstrId a = emit.builder().Convert(instr.operands[0], LinearType(result.dtype));
  a = emit.builder().Reshape(a, {count / (n * n), n, n});
  // The upper factor is the transpose of the lower one of the transpose.
  InstrId factor = LowerFactor(context, lower ? a : emit.TransposeLast(a));
  if (!lower) factor = emit.TransposeLast(factor);
  factor = emit.builder().Reshape(factor, result.dims);
  return emit.builder().Convert(factor, result.dtype);
}

}  // namespace fusemark
