#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/infer.h"
#include "compiler/support/strings.h"

namespace fusemark {

Inferred InferBroadcast(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  const Shape& result = context.instr.shape;
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  if (!result.is_array() || result.dtype != operand.dtype) {
    return context.Fail(fmt::format("the result is written as {}, expected an array of {}",
                                    ToString(result), DTypeName(operand.dtype)));
  }
  if (static_cast<int64_t>(dims.size()) != operand.rank()) {
    return context.Fail(fmt::format("dimensions={{{}}} maps {} dimensions, but the operand is {}",
                                    JoinInts(dims), dims.size(), ToString(operand)));
  }
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", dims, result.rank()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t target = result.dims[static_cast<size_t>(dims[i])];
    if (SizesMatch(operand.dims[i], target)) continue;
    return context.Fail(
        fmt::format("dimension {} of the operand {} has size {}, but dimension {} of the result "
                    "{} has size {}; HLO does not stretch",
                    i, ToString(operand), operand.dims[i], dims[i], ToString(result), target));
  }
  return std::optional<Shape>();
}

Inferred InferReshape(const InferContext& context) {
  if (!context.shape(0).is_array()) return context.BadOperand(0, "an array");
  const Shape& operand = context.shape(0);
  const Shape& result = context.instr.shape;
  const bool unbounded =
      std::any_of(result.dims.begin(), result.dims.end(), [](int64_t dim) { return dim < 0; }) ||
      std::any_of(operand.dims.begin(), operand.dims.end(), [](int64_t dim) { return dim < 0; });
  if (unbounded && result.is_array()) return std::optional<Shape>();
  const auto bytes = CheckedByteSize(result);
  if (result.is_array() && result.dtype == operand.dtype && bytes &&
      *bytes == CheckedByteSize(operand)) {
    return std::optional<Shape>();
  }
  return context.Fail(
      fmt::format("the result is written as {}, which does not have the elements "
                  "of {}",
                  ToString(result), ToString(operand)));
}

Inferred InferBitcast(const InferContext& context) {
  const auto from = CheckedByteSize(context.shape(0));
  const auto to = CheckedByteSize(context.instr.shape);
  if (from && to && *from == *to) return std::optional<Shape>();
  return context.Fail(
      fmt::format("the result is written as {}, which does not have the bytes of "
                  "{}",
                  ToString(context.instr.shape), ToString(context.shape(0))));
}

Inferred InferTranspose(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", dims, operand.rank()));
  if (static_cast<int64_t>(dims.size()) != operand.rank()) {
    return context.Fail(fmt::format("dimensions={{{}}} has {} entries, but the operand is {}",
                                    JoinInts(dims), dims.size(), ToString(operand)));
  }
  Dims result;
  for (int64_t dim : dims) result.push_back(operand.dims[static_cast<size_t>(dim)]);
  return std::optional<Shape>(PlainArray(operand.dtype, std::move(result)));
}

Inferred InferSlice(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  const auto& attrs = context.instr.As<SliceAttrs>();
  const size_t rank = operand.dims.size();
  if (attrs.start.size() != rank || attrs.limit.size() != rank || attrs.stride.size() != rank) {
    return context.Fail(fmt::format("slice has {} entries, but the operand is {}",
                                    attrs.start.size(), ToString(operand)));
  }
  Dims result;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = attrs.start[i];
    const int64_t limit = attrs.limit[i];
    const int64_t stride = attrs.stride[i];
    const bool inside = operand.dims[i] < 0 || limit <= operand.dims[i];
    if (start < 0 || limit < start || !inside || stride < 1) {
      return context.Fail(
          fmt::format("slice [{}:{}:{}] does not fit dimension {} of {}, expected "
                      "0 <= start <= limit <= {} and a stride of 1 or more",
                      start, limit, stride, i, ToString(operand), operand.dims[i]));
    }
    result.push_back((limit - start) / stride + ((limit - start) % stride != 0 ? 1 : 0));
  }
  return std::optional<Shape>(PlainArray(operand.dtype, std::move(result)));
}

Inferred InferReverse(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", context.instr.As<DimsAttrs>().dims,
                                        context.shape(0).rank()));
  return std::optional<Shape>(Plain(context.shape(0)));
}

Inferred InferConcatenate(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  Shape result = Plain(context.shape(0));
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", dims, result.rank()));
  if (dims.size() != 1) {
    return context.Fail(
        fmt::format("dimensions={{{}}}, expected exactly one dimension", JoinInts(dims)));
  }
  const auto axis = static_cast<size_t>(dims[0]);
  for (size_t i = 1; i < context.operand_count(); ++i) {
    const Shape& operand = context.shape(i);
    Shape expected = result;
    if (operand.rank() == result.rank()) expected.dims[axis] = operand.dims[axis];
    if (!Compatible(operand, expected)) {
      return context.BadOperand(
          i, fmt::format("{} but for dimension {}", ToString(context.shape(0)), axis));
    }
    if (result.dims[axis] < 0 || operand.dims[axis] < 0) {
      result.dims[axis] = -1;  // of unbounded size
      result.dynamic_dims |= 1U << axis;
    } else if (__builtin_add_overflow(result.dims[axis], operand.dims[axis], &result.dims[axis]))
      return context.Fail("the sizes of the operands add up to more than 64 bits hold");
  }
  return std::optional<Shape>(std::move(result));
}

Inferred InferIota(const InferContext& context) {
  const Shape& result = context.instr.shape;
  if (!result.is_array() || result.dtype == DType::kPred) {
    return context.Fail(
        fmt::format("the result is written as {}, expected an array of numbers", ToString(result)));
  }
  const Dims& dims = context.instr.As<DimsAttrs>().dims;
  FM_RETURN_IF_ERROR(context.ExpectDims("iota_dimension", dims, result.rank()));
  if (dims.size() > 1 || (dims.empty() && result.rank() != 0))
    return context.Fail("expected exactly one iota_dimension");
  return std::optional<Shape>();
}

Inferred InferPad(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  FM_RETURN_IF_ERROR(context.ExpectSameType(1, PlainArray(operand.dtype, {})));
  const auto& attrs = context.instr.As<PadAttrs>();
  const size_t rank = operand.dims.size();
  if (attrs.low.size() != rank || attrs.high.size() != rank || attrs.interior.size() != rank) {
    return context.Fail(fmt::format("padding has {} entries, but the operand is {}",
                                    attrs.low.size(), ToString(operand)));
  }
  Dims result;
  for (size_t i = 0; i < rank; ++i) {
    if (operand.dims[i] < 0) {
      result.push_back(-1);
      continue;
    }
    int64_t holes = 0;
    int64_t size = operand.dims[i];
    const bool overflow =
        __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), attrs.interior[i], &holes) ||
        __builtin_add_overflow(size, holes, &size) ||
        __builtin_add_overflow(size, attrs.low[i], &size) ||
        __builtin_add_overflow(size, attrs.high[i], &size);
    if (attrs.interior[i] < 0 || overflow || size < 0) {
      return context.Fail(fmt::format("padding {}_{}_{} makes no valid size of dimension {} of {}",
                                      attrs.low[i], attrs.high[i], attrs.interior[i], i,
                                      ToString(operand)));
    }
    result.push_back(size);
  }
  return std::optional<Shape>(PlainArray(operand.dtype, std::move(result)));
}

namespace {

// One scalar integer start index per dimension, all of one type, from operand `first` on.
Result<void> CheckStartIndices(const InferContext& context, size_t first) {
  const auto rank = context.shape(0).dims.size();
  if (context.operand_count() != first + rank) {
    return context.Fail(
        fmt::format("found {} start indices, expected one scalar per dimension of "
                    "{}",
                    context.operand_count() - first, ToString(context.shape(0))));
  }
  for (size_t i = first; i < context.operand_count(); ++i) {
    if (!context.shape(i).is_scalar() || !IsInteger(context.shape(i).dtype))
      return context.BadOperand(i, "an integer scalar");
    if (context.shape(i).dtype != context.shape(first).dtype)
      return context.BadOperand(i, "the type of the other start indices");
  }
  return Ok();
}

}  // namespace

Inferred InferDynamicSlice(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  FM_RETURN_IF_ERROR(CheckStartIndices(context, 1));
  const Shape& operand = context.shape(0);
  const Dims& sizes = context.instr.As<DimsAttrs>().dims;
  bool fits = sizes.size() == operand.dims.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && (operand.dims[i] < 0 || sizes[i] <= operand.dims[i]);
  }
  if (!fits) {
    return context.Fail(fmt::format("dynamic_slice_sizes={{{}}} does not fit in {}",
                                    JoinInts(sizes), ToString(operand)));
  }
  return std::optional<Shape>(PlainArray(operand.dtype, sizes));
}

Inferred InferDynamicUpdateSlice(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  FM_RETURN_IF_ERROR(CheckStartIndices(context, 2));
  const Shape& operand = context.shape(0);
  const Shape& update = context.shape(1);
  bool fits = update.dtype == operand.dtype && update.rank() == operand.rank();
  for (size_t i = 0; fits && i < update.dims.size(); ++i) {
    fits = operand.dims[i] < 0 || update.dims[i] <= operand.dims[i];
  }
  if (!fits) {
    return context.BadOperand(1, fmt::format("a part of {} in every dimension", ToString(operand)));
  }
  return std::optional<Shape>(Plain(operand));
}

}  // namespace fusemark
