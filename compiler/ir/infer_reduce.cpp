#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/infer.h"

namespace fusemark {
namespace {

// n arrays of equal dims followed by n scalars of their types; returns n.
Result<size_t> CheckInputsAndInits(const InferContext& context) {
  const size_t count = context.operand_count() / 2;
  if (context.operand_count() % 2 != 0) {
    return context.Fail(fmt::format("found {} operands, expected n arrays and n initial values",
                                    context.operand_count()));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!context.shape(i).is_array() || !DimsMatch(context.shape(i), context.shape(0)))
      return context.BadOperand(i, "an array with the dimensions of operand 0");
    if (!context.shape(count + i).is_scalar())
      return context.BadOperand(
          count + i, fmt::format("{}[] as initial value", DTypeName(context.shape(i).dtype)));
  }
  return count;
}

// The called computation combines n accumulators with n elements. The accumulators have the types
// of its results, which also are the results of the instruction.
Result<std::vector<DType>> CheckCombiner(const InferContext& context, size_t count) {
  const Computation& callee = context.called(0);
  const Shape& root = callee.Root().shape;
  std::vector<Shape> results;
  if (root.is_tuple) {
    results = root.elements;
  } else {
    results = {root};
  }
  if (results.size() != count) {
    return context.Fail(fmt::format("%{} returns {}, expected {} scalar{}", callee.name,
                                    ToString(root), count, count == 1 ? "" : "s"));
  }
  std::vector<DType> accumulators;
  for (const Shape& result : results) {
    if (!result.is_scalar()) {
      return context.Fail(
          fmt::format("%{} returns {}, expected scalars", callee.name, ToString(root)));
    }
    accumulators.push_back(result.dtype);
  }
  std::vector<DType> parameters = accumulators;
  for (size_t i = 0; i < count; ++i) {
    parameters.push_back(accumulators[i]);
    if (context.shape(count + i).dtype != accumulators[i]) {
      return context.BadOperand(count + i, fmt::format("{}[], the type that %{} accumulates in",
                                                       DTypeName(accumulators[i]), callee.name));
    }
    if (context.shape(i).dtype != accumulators[i]) {
      return context.BadOperand(i, fmt::format("element type {}, which %{} combines",
                                               DTypeName(accumulators[i]), callee.name));
    }
  }
  FM_RETURN_IF_ERROR(context.ExpectScalarParameters(0, parameters));
  return accumulators;
}

Inferred OneOrTuple(const std::vector<DType>& dtypes, const Dims& dims) {
  if (dtypes.size() == 1) return std::optional<Shape>(PlainArray(dtypes[0], dims));
  std::vector<Shape> shapes;
  for (DType dtype : dtypes) shapes.push_back(PlainArray(dtype, dims));
  return std::optional<Shape>(TupleShape(std::move(shapes)));
}

}  // namespace

Inferred InferReduce(const InferContext& context) {
  FM_TRY(const size_t count, CheckInputsAndInits(context));
  FM_TRY(const std::vector<DType> dtypes, CheckCombiner(context, count));
  const Dims& reduced = context.instr.As<DimsAttrs>().dims;
  const Shape& operand = context.shape(0);
  FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", reduced, operand.rank()));
  Dims kept;
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    if (std::find(reduced.begin(), reduced.end(), dim) == reduced.end())
      kept.push_back(operand.dims[static_cast<size_t>(dim)]);
  }
  return OneOrTuple(dtypes, kept);
}

Result<Dims> WindowedDims(const InferContext& context, const Dims& dims, const Window& window) {
  if (window.size() != dims.size()) {
    return context.Fail(
        fmt::format("the window has {} dimensions, expected {}", window.size(), dims.size()));
  }
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const WindowDim& dim = window[i];
    if (dim.size < 1 || dim.stride < 1 || dim.base_dilation < 1 || dim.window_dilation < 1) {
      return context.Fail(
          fmt::format("window dimension {} has size {}, stride {}, dilations {} "
                      "and {}, expected 1 or more",
                      i, dim.size, dim.stride, dim.base_dilation, dim.window_dilation));
    }
    if (dims[i] < 0) {
      result.push_back(-1);
      continue;
    }
    int64_t base = std::max<int64_t>(dims[i] - 1, 0);
    int64_t reach = dim.size - 1;
    const bool overflow = __builtin_mul_overflow(base, dim.base_dilation, &base) ||
                          __builtin_add_overflow(base, dims[i] == 0 ? 0 : 1, &base) ||
                          __builtin_add_overflow(base, dim.pad_low, &base) ||
                          __builtin_add_overflow(base, dim.pad_high, &base) ||
                          __builtin_mul_overflow(reach, dim.window_dilation, &reach) ||
                          __builtin_add_overflow(reach, 1, &reach);
    if (overflow || base < 0) {
      return context.Fail(
          fmt::format("padding {}_{} and dilation make no valid size of dimension "
                      "{} (size {})",
                      dim.pad_low, dim.pad_high, i, dims[i]));
    }
    result.push_back(base < reach ? 0 : (base - reach) / dim.stride + 1);
  }
  return result;
}

Inferred InferReduceWindow(const InferContext& context) {
  FM_TRY(const size_t count, CheckInputsAndInits(context));
  FM_TRY(const std::vector<DType> dtypes, CheckCombiner(context, count));
  FM_TRY(const Dims dims,
         WindowedDims(context, context.shape(0).dims, context.instr.As<WindowAttrs>().window));
  return OneOrTuple(dtypes, dims);
}

Inferred InferSelectAndScatter(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  FM_TRY(const Dims dims,
         WindowedDims(context, operand.dims, context.instr.As<WindowAttrs>().window));
  FM_RETURN_IF_ERROR(context.ExpectSameType(1, PlainArray(operand.dtype, dims)));
  FM_RETURN_IF_ERROR(context.ExpectSameType(2, PlainArray(operand.dtype, {})));
  for (size_t i = 0; i < 2; ++i) {
    FM_RETURN_IF_ERROR(context.ExpectScalarParameters(i, {operand.dtype, operand.dtype}));
    const Shape& root = context.called(i).Root().shape;
    const DType expected = i == 0 ? DType::kPred : operand.dtype;
    if (root.is_scalar() && root.dtype == expected) continue;
    return context.Fail(fmt::format("%{} returns {}, expected {}[]", context.called(i).name,
                                    ToString(root), DTypeName(expected)));
  }
  return std::optional<Shape>(Plain(operand));
}

Inferred InferSort(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& first = context.shape(0);
  const int64_t dim = context.instr.As<SortAttrs>().dim;
  if (first.rank() > 0) FM_RETURN_IF_ERROR(context.ExpectDims("dimensions", {dim}, first.rank()));
  std::vector<DType> parameters;
  std::vector<DType> dtypes;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    if (!DimsMatch(context.shape(i), first))
      return context.BadOperand(i, "the dimensions of operand 0");
    parameters.insert(parameters.end(), 2, context.shape(i).dtype);
    dtypes.push_back(context.shape(i).dtype);
  }
  FM_RETURN_IF_ERROR(context.ExpectScalarParameters(0, parameters));
  const Shape& root = context.called(0).Root().shape;
  if (!root.is_scalar() || root.dtype != DType::kPred) {
    return context.Fail(fmt::format("the comparator %{} returns {}, expected pred[]",
                                    context.called(0).name, ToString(root)));
  }
  return OneOrTuple(dtypes, first.dims);
}

Inferred InferTopK(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  Shape values = Plain(context.shape(0));
  const int64_t k = context.instr.As<TopKAttrs>().k;
  if (values.dims.empty() || k < 0 || (values.dims.back() >= 0 && k > values.dims.back())) {
    return context.Fail(
        fmt::format("k={}, expected at most the last dimension of {}", k, ToString(values)));
  }
  values.dims.back() = k;
  Shape indices = values;
  indices.dtype = DType::kS32;
  return std::optional<Shape>(TupleShape({std::move(values), std::move(indices)}));
}

Inferred InferMap(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  std::vector<DType> dtypes;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    if (!DimsMatch(context.shape(i), context.shape(0)))
      return context.BadOperand(i, "the dimensions of operand 0");
    dtypes.push_back(context.shape(i).dtype);
  }
  FM_RETURN_IF_ERROR(context.ExpectScalarParameters(0, dtypes));
  const Shape& root = context.called(0).Root().shape;
  if (!root.is_scalar()) {
    return context.Fail(
        fmt::format("%{} returns {}, expected a scalar", context.called(0).name, ToString(root)));
  }
  return std::optional<Shape>(PlainArray(root.dtype, context.shape(0).dims));
}

}  // namespace fusemark
