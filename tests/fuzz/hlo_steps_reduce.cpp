#include <algorithm>
#include <numeric>

#include "tests/fuzz/hlo_generator.h"

namespace fusemark {
namespace {

constexpr double kInfinity = 1e30;  // ScalarLiteralOf saturates

}  // namespace

// Op::kParameter: the second operand.
ComputationId HloGenerator::Combiner(Op op, DType dtype) {
  const Shape scalar = ArrayShape(dtype, {});
  return Nested("combine", {scalar, scalar}, true, [&](const std::vector<InstrId>& in) {
    if (op == Op::kParameter) return in[1];
    return Chance(80) ? Add(op, {in[0], in[1]}) : Add(op, {in[1], in[0]});
  });
}

Op HloGenerator::CombinerOp(DType dtype) {
  constexpr Op kPredOps[] = {Op::kAnd, Op::kOr, Op::kMaximum};
  constexpr Op kRealOps[] = {Op::kAdd, Op::kAdd, Op::kMaximum, Op::kMinimum, Op::kMultiply};
  constexpr Op kComplexOps[] = {Op::kAdd, Op::kMultiply};
  if (dtype == DType::kPred) return OneOf(kPredOps);
  return IsComplex(dtype) ? OneOf(kComplexOps) : OneOf(kRealOps);
}

// Most often the neutral element.
InstrId HloGenerator::Neutral(Op op, DType dtype) {
  if (Chance(15)) return Like(dtype, {});
  if (dtype == DType::kPred) return Scalar(dtype, op == Op::kAnd ? 1 : 0);
  switch (op) {
    case Op::kMultiply: return Scalar(dtype, 1);
    case Op::kMaximum:
      return Scalar(dtype, IsUnsigned(dtype) ? 0 : IsFloat(dtype) ? -kInfinity : -2);
    case Op::kMinimum: return Scalar(dtype, IsFloat(dtype) ? kInfinity : 1);
    default: return Scalar(dtype, 0);
  }
}

InstrId HloGenerator::Reduce() {
  const InstrId value = Pick(kAnything);
  const Shape shape = ShapeOf(value);
  Dims dims;
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (Chance(50)) dims.push_back(i);
  const Op op = CombinerOp(shape.dtype);
  const InstrId init = Neutral(op, shape.dtype);
  return Add(Op::kReduce, {value, init}, DimsAttrs{dims}, {Combiner(op, shape.dtype)});
}

// Keeps the better key; of equal keys the one with the lower index: what argmax is made of.
ComputationId HloGenerator::ArgCombiner(DType key, DType index, bool largest) {
  const Shape k = ArrayShape(key, {}), i = ArrayShape(index, {});
  return Nested("arg", {k, i, k, i}, true, [&](const std::vector<InstrId>& in) {
    const Direction better = largest ? Direction::kGt : Direction::kLt;
    const InstrId wins = Add(Op::kCompare, {in[0], in[2]}, CompareOf(key, better, false));
    const InstrId nan = Add(Op::kCompare, {in[0], in[0]}, CompareOf(key, Direction::kNe, false));
    const InstrId equal = Add(Op::kCompare, {in[0], in[2]}, CompareOf(key, Direction::kEq, false));
    const InstrId lower =
        Add(Op::kCompare, {in[1], in[3]}, CompareOf(index, Direction::kLt, false));
    const InstrId first = Add(Op::kOr, {wins, nan});
    const InstrId tie = Add(Op::kAnd, {equal, lower});
    const InstrId takes = Add(Op::kOr, {first, tie});
    return Add(Op::kTuple,
               {Add(Op::kSelect, {first, in[0], in[2]}), Add(Op::kSelect, {takes, in[1], in[3]})});
  });
}

InstrId HloGenerator::ArgReduce() {
  const InstrId value = Pick(kReals, 1);
  const Shape shape = ShapeOf(value);
  const auto dim = static_cast<int64_t>(Below(shape.dims.size()));
  const DType index = Chance(70) ? DType::kS32 : DType::kS64;
  const InstrId iota = Add(Op::kIota, {}, DimsAttrs{{dim}}, {}, ArrayShape(index, shape.dims));
  const bool largest = Chance(60);
  const InstrId init = Neutral(largest ? Op::kMaximum : Op::kMinimum, shape.dtype);
  const InstrId zero = Scalar(index, 0);
  return Add(Op::kReduce, {value, iota, init, zero}, DimsAttrs{{dim}},
             {ArgCombiner(shape.dtype, index, largest)});
}

Window HloGenerator::PickWindow(const Dims& dims, bool dilated) {
  Window window(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (Chance(40)) continue;
    WindowDim& dim = window[i];
    dim.size = Between(1, std::min<int64_t>(3, std::max<int64_t>(dims[i], 1)));
    dim.stride = Between(1, 2);
    dim.pad_low = Chance(60) ? 0 : Between(0, dim.size - 1);
    dim.pad_high = Chance(60) ? 0 : Between(0, 2);
    if (!dilated) continue;
    if (Chance(15)) dim.base_dilation = 2;
    if (Chance(15)) dim.window_dilation = 2;
  }
  return window;
}

Dims HloGenerator::WindowedDims(const Dims& dims, const Window& window) const {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const WindowDim& dim = window[i];
    const int64_t base = dims[i] == 0 ? 0 : (dims[i] - 1) * dim.base_dilation + 1;
    const int64_t padded = base + dim.pad_low + dim.pad_high;
    const int64_t reach = (dim.size - 1) * dim.window_dilation + 1;
    result.push_back(padded < reach ? 0 : (padded - reach) / dim.stride + 1);
  }
  return result;
}

InstrId HloGenerator::ReduceWindow() {
  const InstrId value = Pick(kAnything, 1, 4);
  const Shape shape = ShapeOf(value);
  const Op op = CombinerOp(shape.dtype);
  const Window window = PickWindow(shape.dims, true);
  const InstrId init = Neutral(op, shape.dtype);
  return Add(Op::kReduceWindow, {value, init}, WindowAttrs{window}, {Combiner(op, shape.dtype)});
}

// A window over all of a dim, padded on one side: prefix or suffix sums.
InstrId HloGenerator::RunningReduce() {
  const InstrId value = Pick(kReals, 1, 3);
  const Shape shape = ShapeOf(value);
  const size_t at = Below(shape.dims.size());
  if (shape.dims[at] == 0) return Invalid();
  Window window(shape.dims.size());
  window[at].size = shape.dims[at];
  (Chance(70) ? window[at].pad_low : window[at].pad_high) = shape.dims[at] - 1;
  const Op op = CombinerOp(shape.dtype);
  const InstrId init = Neutral(op, shape.dtype);
  return Add(Op::kReduceWindow, {value, init}, WindowAttrs{window}, {Combiner(op, shape.dtype)});
}

InstrId HloGenerator::SelectAndScatter() {
  const InstrId value = Pick(kReals, 1, 4);
  const Shape shape = ShapeOf(value);
  const Window window = PickWindow(shape.dims, false);
  const InstrId source = Like(shape.dtype, WindowedDims(shape.dims, window));
  const ComputationId select =
      Comparison({shape.dtype}, Chance(70) ? Direction::kGe : Direction::kLe, false);
  const ComputationId scatter = Combiner(Op::kAdd, shape.dtype);
  return Add(Op::kSelectAndScatter, {value, source, Scalar(shape.dtype, 0)}, WindowAttrs{window},
             {select, scatter});
}

InstrId HloGenerator::Dot() {
  const InstrId lhs = Pick(kNumbers, 0, 4);
  const Shape shape = ShapeOf(lhs);
  DotAttrs attrs;
  struct Dim {
    int64_t lhs, extent;
    bool batch;
  };
  std::vector<Dim> rhs;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t extent = shape.dims[static_cast<size_t>(i)];
    if (Chance(40))
      rhs.push_back({i, extent, false});
    else if (Chance(25))
      rhs.push_back({i, extent, true});
  }
  for (int64_t free = Between(0, 2); free > 0; --free) rhs.push_back({-1, Between(1, 6), false});
  for (size_t i = rhs.size(); i > 1; --i) std::swap(rhs[i - 1], rhs[Below(i)]);
  Dims dims;
  for (size_t i = 0; i < rhs.size(); ++i) {
    dims.push_back(rhs[i].extent);
    if (rhs[i].lhs < 0) continue;
    (rhs[i].batch ? attrs.lhs_batch : attrs.lhs_contracting).push_back(rhs[i].lhs);
    (rhs[i].batch ? attrs.rhs_batch : attrs.rhs_contracting).push_back(static_cast<int64_t>(i));
  }
  return Add(Op::kDot, {lhs, Like(shape.dtype, dims)}, std::move(attrs));
}

namespace {

// The dims in the order that `labels` names them, e.g. "b0f1"; digits are spatial.
Dims InOrder(const std::string& labels, char first, int64_t first_dim, char second,
             int64_t second_dim, const Dims& spatial) {
  Dims dims;
  for (const char label : labels) {
    if (label == first)
      dims.push_back(first_dim);
    else if (label == second)
      dims.push_back(second_dim);
    else
      dims.push_back(spatial[static_cast<size_t>(label - '0')]);
  }
  return dims;
}

int64_t Place(const std::string& labels, char label) {
  return static_cast<int64_t>(labels.find(label));
}

Dims Spatial(const std::string& labels, int64_t rank) {
  Dims places;
  for (int64_t i = 0; i < rank; ++i) places.push_back(Place(labels, static_cast<char>('0' + i)));
  return places;
}

}  // namespace

InstrId HloGenerator::Convolution() {
  const int64_t rank = Between(0, 2);
  std::string spatial_labels = std::string("01").substr(0, static_cast<size_t>(rank));
  const auto labels = [&](const char* two) {
    std::string text = two + spatial_labels;
    for (size_t i = text.size(); i > 1 && Chance(60); --i) std::swap(text[i - 1], text[Below(i)]);
    return text;
  };
  const std::string lhs = labels("bf"), rhs = labels("io"), out = labels("bf");
  ConvAttrs attrs;
  attrs.dims = {Place(lhs, 'b'),    Place(lhs, 'f'),    Place(rhs, 'i'),
                Place(rhs, 'o'),    Place(out, 'b'),    Place(out, 'f'),
                Spatial(lhs, rank), Spatial(rhs, rank), Spatial(out, rank)};
  attrs.dim_labels = lhs + "_" + rhs + "->" + out;
  if (Chance(25))
    attrs.feature_group_count = 2;
  else if (Chance(15))
    attrs.batch_group_count = 2;
  const int64_t groups = attrs.feature_group_count * attrs.batch_group_count;
  const int64_t batch = attrs.batch_group_count * Between(1, 2);
  const int64_t input = Between(1, 3), output = groups * Between(1, 3);
  Dims extents, sizes;
  for (int64_t i = 0; i < rank; ++i) extents.push_back(Between(1, 6));
  attrs.window = PickWindow(extents, true);
  for (WindowDim& dim : attrs.window) {
    sizes.push_back(dim.size);
    dim.reversal = Chance(10);
  }
  const DType dtype = Chance(80) ? PickType(kFloats) : PickType(kIntegers);
  const InstrId image =
      Like(dtype, InOrder(lhs, 'b', batch, 'f', input * attrs.feature_group_count, extents));
  const InstrId filter = Like(dtype, InOrder(rhs, 'i', input, 'o', output, sizes));
  return Add(Op::kConvolution, {image, filter}, std::move(attrs));
}

// Orders by the first of several keys.
ComputationId HloGenerator::Comparison(const std::vector<DType>& dtypes, Direction direction,
                                       bool total) {
  std::vector<Shape> parameters;
  for (const DType dtype : dtypes) parameters.insert(parameters.end(), 2, ArrayShape(dtype, {}));
  if (parameters.size() < 2) parameters.resize(2, parameters[0]);
  return Nested("order", parameters, true, [&](const std::vector<InstrId>& in) {
    return Add(Op::kCompare, {in[0], in[1]}, CompareOf(dtypes[0], direction, total));
  });
}

// Stable and by total order, so that one result is right.
InstrId HloGenerator::Sort() {
  const InstrId value = Pick(kReals, 1);
  const Shape shape = ShapeOf(value);
  std::vector<InstrId> operands{value};
  std::vector<DType> dtypes{shape.dtype};
  for (int64_t more = Between(0, 2); more > 0; --more) {
    dtypes.push_back(PickType(kAnything));
    operands.push_back(Like(dtypes.back(), shape.dims));
  }
  const Direction direction = Chance(60) ? Direction::kLt : Direction::kGt;
  const auto dim = static_cast<int64_t>(Below(shape.dims.size()));
  return Add(Op::kSort, operands, SortAttrs{dim, true}, {Comparison(dtypes, direction, true)});
}

InstrId HloGenerator::TopK() {
  const InstrId value = Pick(kReals, 1);
  const int64_t k = Between(0, ShapeOf(value).dims.back());
  return Add(Op::kTopK, {value}, TopKAttrs{k, Chance(70)});
}

InstrId HloGenerator::BatchNorm() {
  const InstrId value = Pick(kFloats, 1, 4);
  const Shape shape = ShapeOf(value);
  const auto at = Below(shape.dims.size());
  const BatchNormAttrs attrs{0.001, static_cast<int64_t>(at)};
  const Dims feature{shape.dims[at]};
  const auto vector = [&] { return Like(shape.dtype, feature); };
  const InstrId a = vector(), b = vector();
  switch (Below(3)) {
    case 0: return Add(Op::kBatchNormTraining, {value, a, b}, attrs);
    case 1: {
      const InstrId mean = vector();
      const InstrId variance = Add(Op::kAbs, {vector()});
      return Add(Op::kBatchNormInference, {value, a, b, mean, variance}, attrs);
    }
    default: {
      const InstrId variance = Add(Op::kAbs, {vector()});
      const InstrId gradient = Like(shape.dtype, shape.dims);
      return Add(Op::kBatchNormGrad, {value, a, b, variance, gradient}, attrs);
    }
  }
}

}  // namespace fusemark
