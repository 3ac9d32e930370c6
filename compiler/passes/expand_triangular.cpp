#include <algorithm>

#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

// Row k of x, final up to its division by the diagonal of the matrix.
InstrId SolvedRow(Emitter& emit, InstrId x, InstrId matrix, InstrId k, bool unit) {
  const Dims dims = {emit.dims(x)[0], 1, emit.dims(x)[2]};
  const InstrId zero = emit.Scalar(DType::kS32, 0);
  const InstrId row = emit.DynamicSlice(x, {zero, k, zero}, dims);
  if (unit) return row;
  const InstrId pivot = emit.DynamicSlice(matrix, {zero, k, k}, {dims[0], 1, 1});
  return emit.Over(row, emit.Stretch(pivot, dims));
}

// Solves m x = b for a lower triangular block [b, w, w] and [b, w, columns]: each step puts one
// final row in its place and takes it off the rows below. The next final row is part of the state,
// so that its quotients are computed once and not in every element that reads them.
InstrId SolveBlock(const ExpandContext& context, InstrId m, InstrId b, bool unit) {
  const Dims dims = context.emit.dims(b);
  const auto step = [&dims, unit](Emitter& emit, InstrId k, const InstrIds& state) -> InstrIds {
    const InstrId x = state[0], row = state[1], matrix = state[2];
    const InstrId zero = emit.Scalar(DType::kS32, 0);
    const InstrId column = emit.DynamicSlice(matrix, {zero, zero, k}, {dims[0], dims[1], 1});
    const InstrId wide = emit.Stretch(row, dims);
    const InstrId product = emit.Times(emit.Stretch(column, dims), wide);
    const InstrId updated = emit.Minus(x, product);
    const InstrId row_index = emit.Iota(DType::kS32, dims, 1), here = emit.Fill(k, dims);
    const InstrId below = emit.Compare(Direction::kGt, row_index, here);
    const InstrId others = emit.Select(below, updated, x);
    const InstrId is_row = emit.Compare(Direction::kEq, row_index, here);
    const InstrId next = emit.Select(is_row, wide, others);
    const InstrId following = emit.Add(k, emit.Scalar(DType::kS32, 1));
    return {next, SolvedRow(emit, next, matrix, following, unit), matrix};
  };
  const InstrId start = context.emit.Scalar(DType::kS32, 0);
  const InstrId first = SolvedRow(context.emit, b, m, start, unit);
  return context.Loop(dims[1], {b, first, m}, step)[0];
}

// Lower triangular m: block of rows by block of rows, each first reduced by what the rows before it
// contribute.
InstrId SolveLower(const ExpandContext& context, InstrId m, InstrId x, bool unit) {
  Emitter& emit = context.emit;
  const int64_t n = emit.dims(x)[1], width = PanelWidth(n);
  for (int64_t first = 0; first < n; first += width) {
    const int64_t end = std::min(first + width, n);
    const InstrId rows = emit.Slice(m, 1, first, end);
    InstrId block = emit.Slice(x, 1, first, end);
    if (first > 0) {
      const InstrId solved = emit.Slice(x, 1, 0, first);
      const InstrId before = emit.Slice(rows, 2, 0, first);
      block = emit.Minus(block, emit.BatchDot(before, solved, false));
    }
    block = SolveBlock(context, emit.Slice(rows, 2, first, end), block, unit);
    x = emit.Place(x, block, {0, first, 0});
  }
  return x;
}

}  // namespace

std::optional<InstrId> ExpandTriangularSolve(const ExpandContext& context, const Instr& instr) {
  Emitter& emit = context.emit;
  Builder& builder = emit.builder();
  const Shape result = instr.shape;
  const auto attrs = instr.As<TriangularAttrs>();
  const int64_t count = ElementCount(result);
  if (count == 0) return emit.Zeros(result.dtype, result.dims);
  const int64_t columns = result.dims.back(), rows = result.dims[result.dims.size() - 2];
  const int64_t batch = count / (rows * columns), n = attrs.left_side ? rows : columns;
  InstrId a = builder.Convert(instr.operands[0], LinearType(result.dtype));
  InstrId x = builder.Convert(instr.operands[1], LinearType(result.dtype));
  a = builder.Reshape(a, {batch, n, n});
  x = builder.Reshape(x, {batch, rows, columns});
  // From the right: x op(a) = b is op(a)^T x^T = b^T. Upper matrices are lower ones read backwards.
  const bool transposed = (attrs.transpose_a != "NO_TRANSPOSE") != !attrs.left_side;
  const bool backwards = attrs.lower == transposed;
  if (attrs.transpose_a == "ADJOINT") a = emit.Conjugate(a);
  if (transposed) a = emit.TransposeLast(a);
  if (!attrs.left_side) x = emit.TransposeLast(x);
  if (backwards) {
    a = emit.Reverse(a, {1, 2});
    x = emit.Reverse(x, {1});
  }
  x = SolveLower(context, a, x, attrs.unit_diagonal);
  if (backwards) x = emit.Reverse(x, {1});
  if (!attrs.left_side) x = emit.TransposeLast(x);
  return builder.Convert(builder.Reshape(x, result.dims), result.dtype);
}

}  // namespace fusemark
