#include "tests/unit/passes/random_module.h"

#include <algorithm>

namespace fusemark {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kBF16,
                            DType::kS32, DType::kU8,  DType::kF64};
const Dims kShapes[] = {{}, {1}, {6}, {2, 3}, {1, 6}, {6, 1}, {4, 1, 6}, {4, 6}, {24}, {2, 3, 4}};
const Dims kWideShapes[] = {{},       {33},      {65},      {33, 65},    {65, 33},
                            {17, 96}, {96},      {4, 3},    {3, 17, 96}, {2, 33, 65},
                            {200},    {200, 19}, {19, 200}, {1, 513},    {513}};
constexpr int64_t kMostElements = 4096, kMostWideElements = 20000;

}  // namespace

std::span<const Dims> RandomModule::Shapes() const {
  return wide_ ? std::span<const Dims>(kWideShapes) : std::span<const Dims>(kShapes);
}

// A value of the given dims made of an existing one by broadcast, or a fresh iota.
InstrId RandomModule::Like(const Dims& dims) {
  std::vector<InstrId> same;
  for (InstrId id : values_) {
    if ((*builder_)[id].shape.dims == dims) same.push_back(id);
  }
  if (!same.empty() && Below(4) != 0) return same[Below(same.size())];
  if (!dims.empty() && Below(2) == 0) {
    const auto dim = static_cast<int64_t>(Below(dims.size()));
    const int64_t extent = dims[static_cast<size_t>(dim)];
    for (InstrId id : values_) {
      if ((*builder_)[id].shape.dims == Dims{extent}) return builder_->Broadcast(id, dims, {dim});
    }
    return builder_->Emit(Op::kIota, ArrayShape(dtype_, dims), {}, DimsAttrs{{dim}});
  }
  return SplatLike(dims);
}

InstrId RandomModule::SplatLike(const Dims& dims) {
  constexpr double kValues[] = {0.0, -0.0, 1.0, 2.0, 4.0, 3.0, 0.5, -1.0};
  const double value = kValues[Below(std::size(kValues))];
  const InstrId scalar = builder_->Constant(ScalarLiteralOf(dtype_, value));
  return builder_->Broadcast(scalar, dims, {});
}

InstrId RandomModule::StepElementwise() {
  const InstrId value = Pick();
  const Dims dims = (*builder_)[value].shape.dims;
  switch (Below(7)) {
    case 0: return builder_->Unary(Op::kNegate, value);
    case 1: return builder_->Unary(Op::kAbs, value);
    case 2: {
      const DType other = kTypes[Below(std::size(kTypes))];
      return builder_->Convert(builder_->Convert(value, other), dtype_);
    }
    case 3: {
      const InstrId predicate = builder_->Emit(Op::kCompare, ArrayShape(DType::kPred, dims),
                                               {Like(dims), value}, CompareAttrs{Direction::kLt});
      return builder_->Emit(Op::kSelect, ArrayShape(dtype_, dims), {predicate, value, Like(dims)});
    }
    default: {
      constexpr Op kOps[] = {Op::kAdd,     Op::kSubtract, Op::kMultiply,
                             Op::kMaximum, Op::kMinimum,  Op::kDivide};
      const Op op = kOps[Below(std::size(kOps))];
      const InstrId other = Below(2) == 0 ? SplatLike(dims) : Like(dims);
      return Below(2) == 0 ? builder_->Binary(op, value, other)
                           : builder_->Binary(op, other, value);
    }
  }
}

InstrId RandomModule::StepMovement() {
  const InstrId value = Pick();
  const Dims dims = (*builder_)[value].shape.dims;
  switch (Below(3)) {
    case 0: {
      std::vector<Dims> fits;
      for (const Dims& to : Shapes()) {
        if (ElementCount(ArrayShape(dtype_, to)) == ElementCount(ArrayShape(dtype_, dims))) {
          fits.push_back(to);
        }
      }
      return fits.empty() ? value : builder_->Reshape(value, fits[Below(fits.size())]);
    }
    case 1: {
      Dims permutation = IdentityDims(static_cast<int64_t>(dims.size()));
      std::shuffle(permutation.begin(), permutation.end(), random_);
      return builder_->Transpose(value, permutation);
    }
    default: {
      if (dims.size() > 2) return value;
      Dims result = dims;
      const size_t at = Below(dims.size() + 1);
      result.insert(result.begin() + static_cast<int64_t>(at), Below(2) == 0 ? 1 : 4);
      Dims map;
      for (size_t d = 0; d < dims.size(); ++d) map.push_back(static_cast<int64_t>(d + (d >= at)));
      return builder_->Broadcast(value, result, map);
    }
  }
}

InstrId RandomModule::StepSlicing() {
  const InstrId value = Pick();
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  const size_t at = Below(dims.size());
  if (Below(2) == 0) {
    SliceAttrs attrs{Dims(dims.size(), 0), dims, Dims(dims.size(), 1)};
    attrs.start[at] = static_cast<int64_t>(Below(static_cast<uint64_t>(dims[at])));
    attrs.stride[at] = 1 + static_cast<int64_t>(Below(2));
    Dims result = dims;
    result[at] = (dims[at] - attrs.start[at] + attrs.stride[at] - 1) / attrs.stride[at];
    return builder_->Emit(Op::kSlice, ArrayShape(dtype_, result), {value}, std::move(attrs));
  }
  Dims result = dims;
  result[at] *= 2;
  return builder_->Emit(Op::kConcatenate, ArrayShape(dtype_, result), {value, Like(dims)},
                        DimsAttrs{{static_cast<int64_t>(at)}});
}

InstrId RandomModule::StepReduce(InstrId value) {
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  return Reduced(value, {static_cast<int64_t>(Below(dims.size()))});
}

// `dims` increase.
InstrId RandomModule::Reduced(InstrId value, const Dims& dims) {
  Dims result = (*builder_)[value].shape.dims;
  for (size_t i = dims.size(); i-- > 0;) result.erase(result.begin() + dims[i]);
  Instr reduce;
  reduce.op = Op::kReduce;
  reduce.shape = ArrayShape(dtype_, result);
  reduce.operands = {value, builder_->Constant(ScalarLiteralOf(dtype_, 0))};
  reduce.attrs = DimsAttrs{dims};
  reduce.called = {{static_cast<uint32_t>(Below(2))}};
  return builder_->Emit(std::move(reduce));
}

// A reduction of the minor dims whose result goes back over the row.
InstrId RandomModule::StepRow() {
  const InstrId value = Pick();
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t kept = static_cast<int64_t>(Below(dims.size()));
  Dims reduced, map;
  for (int64_t dim = 0; dim < rank; ++dim) (dim < kept ? map : reduced).push_back(dim);
  InstrId scalar = Reduced(value, reduced);
  values_.push_back(scalar);
  if (IsFloat(dtype_) && Below(2) == 0) scalar = builder_->Unary(Op::kLogistic, scalar);
  const InstrId back = builder_->Broadcast(scalar, dims, map);
  return builder_->Binary(Below(2) == 0 ? Op::kMultiply : Op::kMaximum, value, back);
}

InstrId RandomModule::StepWindow(InstrId value) {
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  Dims result = dims;
  WindowAttrs attrs;
  attrs.window.resize(dims.size());
  const size_t at = Below(dims.size());
  WindowDim& window = attrs.window[at];
  window.size = 1 + static_cast<int64_t>(Below(3));
  window.stride = 1 + static_cast<int64_t>(Below(2));
  window.pad_low = static_cast<int64_t>(Below(2));
  window.pad_high = static_cast<int64_t>(Below(2));
  const int64_t padded = dims[at] + window.pad_low + window.pad_high;
  if (padded < window.size) return value;
  result[at] = (padded - window.size) / window.stride + 1;
  Instr instr;
  instr.op = Op::kReduceWindow;
  instr.shape = ArrayShape(dtype_, result);
  instr.operands = {value, builder_->Constant(ScalarLiteralOf(dtype_, 0))};
  instr.attrs = std::move(attrs);
  instr.called = {{static_cast<uint32_t>(Below(2))}};
  return builder_->Emit(std::move(instr));
}

// A slice read at one place and written at another; starts beyond the end are clamped.
InstrId RandomModule::StepUpdate(InstrId value) {
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  Dims sizes = dims;
  std::vector<InstrId> from{value}, to;
  for (int64_t& size : sizes) {
    size = 1 + static_cast<int64_t>(Below(static_cast<uint64_t>(size)));
    for (auto* list : {&from, &to}) {
      const auto start = static_cast<double>(Below(40)) - 3;
      list->push_back(builder_->Constant(ScalarLiteralOf(DType::kS32, start)));
    }
  }
  const InstrId slice =
      builder_->Emit(Op::kDynamicSlice, ArrayShape(dtype_, sizes), from, DimsAttrs{sizes});
  if (Below(2) == 0) return slice;
  std::vector<InstrId> operands{Like(dims), builder_->Unary(Op::kNegate, slice)};
  operands.insert(operands.end(), to.begin(), to.end());
  return builder_->Emit(Op::kDynamicUpdateSlice, ArrayShape(dtype_, dims), operands);
}

InstrId RandomModule::StepPad(InstrId value) {
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  if (Below(3) == 0) {
    return builder_->Emit(Op::kReverse, ArrayShape(dtype_, dims), {value},
                          DimsAttrs{{static_cast<int64_t>(Below(dims.size()))}});
  }
  PadAttrs attrs;
  Dims result = dims;
  for (int64_t& extent : result) {
    const auto low = static_cast<int64_t>(Below(3)) - 1, inner = static_cast<int64_t>(Below(2));
    const int64_t padded = extent + (extent - 1) * inner + low + 2;
    attrs.low.push_back(low);
    attrs.high.push_back(2);
    attrs.interior.push_back(inner);
    extent = padded;
  }
  return builder_->Emit(Op::kPad, ArrayShape(dtype_, result),
                        {value, builder_->Constant(ScalarLiteralOf(dtype_, 2))}, std::move(attrs));
}

InstrId RandomModule::StepWide() {
  switch (Below(5)) {
    case 0: return StepRow();
    case 1: return StepWindow(Pick());
    case 2: return StepUpdate(Pick());
    case 3: return StepPad(Pick());
    default:
      if (!IsFloat(dtype_)) return builder_->Unary(Op::kNegate, Pick());
      return builder_->Unary(Below(2) == 0 ? Op::kTanh : Op::kLogistic, Pick());
  }
}

InstrId RandomModule::StepDot(InstrId value) {
  const Dims dims = (*builder_)[value].shape.dims;
  if (dims.empty()) return value;
  const auto at = static_cast<int64_t>(Below(dims.size()));
  const int64_t extent = dims[static_cast<size_t>(at)];
  DotAttrs attrs;
  attrs.lhs_contracting = {at};
  attrs.rhs_contracting = {1};
  Dims result = dims;
  result.erase(result.begin() + at);
  result.push_back(2);
  result.push_back(3);
  InstrId rhs = Like({2, extent, 3});
  return builder_->Emit(Op::kDot, ArrayShape(dtype_, result), {value, rhs}, std::move(attrs));
}

InstrId RandomModule::Step() {
  if (wide_ && Below(2) == 0) return StepWide();
  switch (Below(8)) {
    case 0:
    case 1:
    case 2: return StepElementwise();
    case 3:
    case 4: return StepMovement();
    case 5: return StepSlicing();
    case 6: return StepReduce(Pick());
    default: return StepDot(Pick());
  }
}

Module RandomModule::Make() {
  const Effects effects;
  Module module;
  module.name = "random";
  dtype_ = kTypes[Below(std::size(kTypes))];
  for (const Op op : {Op::kAdd, Op::kMaximum}) {
    Builder region(effects);
    const InstrId a = region.Emit(Op::kParameter, ArrayShape(dtype_, {}), {}, ParameterAttrs{0});
    const InstrId b = region.Emit(Op::kParameter, ArrayShape(dtype_, {}), {}, ParameterAttrs{1});
    module.computations.push_back(region.Finish(std::string(OpName(op)), region.Binary(op, a, b)));
  }
  Builder builder(effects);
  builder_ = &builder;
  values_.clear();
  for (int64_t number = 0; number < 3; ++number) {
    const Dims& dims = Shapes()[Below(Shapes().size())];
    values_.push_back(
        builder.Emit(Op::kParameter, ArrayShape(dtype_, dims), {}, ParameterAttrs{number}));
  }
  values_.push_back(SplatLike(Shapes()[Below(Shapes().size())]));  // so that some is constant
  values_.push_back(Like({6}));
  const uint64_t steps = 4 + Below(20);
  for (uint64_t i = 0; i < steps; ++i) {
    const InstrId value = Step();
    // Concatenations and broadcasts must not pile up into large tensors.
    if (ElementCount(builder[value].shape) <= (wide_ ? kMostWideElements : kMostElements) &&
        builder[value].shape.rank() <= 4) {
      values_.push_back(value);
    }
  }
  std::vector<InstrId> results(
      values_.end() - std::min<int64_t>(3, static_cast<int64_t>(values_.size())), values_.end());
  module.computations.push_back(builder.Finish("main", builder.Tuple(results)));
  module.entry = {2};
  return module;
}

}  // namespace fusemark
