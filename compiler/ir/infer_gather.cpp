#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/infer.h"
#include "compiler/support/strings.h"

namespace fusemark {
namespace {

bool Contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Result<void> ExpectSorted(const InferContext& context, std::string_view what, const Dims& dims) {
  if (std::is_sorted(dims.begin(), dims.end())) return Ok();
  return context.Fail(
      fmt::format("{}={{{}}}, expected ascending dimensions", what, JoinInts(dims)));
}

// The parts gather and scatter have in common, under the names each of them uses.
struct Numbering {
  const Shape& operand;
  const Shape& indices;
  const Dims& removed;  // operand dims that the window does not have
  std::string_view removed_name;
  const Dims& operand_batch;
  std::string_view operand_batch_name;
  const Dims& indices_batch;
  std::string_view indices_batch_name;
  const Dims& index_map;  // index component -> operand dim
  std::string_view index_map_name;
  int64_t index_vector_dim;
};

Result<void> CheckNumbering(const InferContext& context, const Numbering& n) {
  const int64_t index_rank = n.indices.rank();
  if (!IsInteger(n.indices.dtype))
    return context.BadOperand(context.operand_count() / 2, "an array of integer indices");
  if (n.index_vector_dim < 0 || n.index_vector_dim > index_rank) {
    return context.Fail(fmt::format("index_vector_dim={}, expected 0 to {} for indices {}",
                                    n.index_vector_dim, index_rank, ToString(n.indices)));
  }
  FM_RETURN_IF_ERROR(context.ExpectDims(n.removed_name, n.removed, n.operand.rank()));
  FM_RETURN_IF_ERROR(ExpectSorted(context, n.removed_name, n.removed));
  FM_RETURN_IF_ERROR(context.ExpectDims(n.operand_batch_name, n.operand_batch, n.operand.rank()));
  FM_RETURN_IF_ERROR(context.ExpectDims(n.indices_batch_name, n.indices_batch, index_rank));
  FM_RETURN_IF_ERROR(context.ExpectDims(n.index_map_name, n.index_map, n.operand.rank()));
  for (int64_t dim : n.operand_batch) {
    if (Contains(n.removed, dim) || Contains(n.index_map, dim)) {
      return context.Fail(fmt::format("dimension {} is in {} and in {} or {}", dim,
                                      n.operand_batch_name, n.removed_name, n.index_map_name));
    }
  }
  const int64_t components = n.index_vector_dim == index_rank
                                 ? 1
                                 : n.indices.dims[static_cast<size_t>(n.index_vector_dim)];
  if (static_cast<int64_t>(n.index_map.size()) != components) {
    return context.Fail(fmt::format("{}={{{}}} has {} entries, but each index has {} components",
                                    n.index_map_name, JoinInts(n.index_map), n.index_map.size(),
                                    components));
  }
  if (n.operand_batch.size() != n.indices_batch.size()) {
    return context.Fail(fmt::format("{} has {} dimensions, but {} has {}", n.operand_batch_name,
                                    n.operand_batch.size(), n.indices_batch_name,
                                    n.indices_batch.size()));
  }
  for (size_t i = 0; i < n.operand_batch.size(); ++i) {
    const int64_t a = n.operand.dims[static_cast<size_t>(n.operand_batch[i])];
    const int64_t b = n.indices.dims[static_cast<size_t>(n.indices_batch[i])];
    if (SizesMatch(a, b) && n.indices_batch[i] != n.index_vector_dim) continue;
    return context.Fail(fmt::format(
        "batching dimension {} of {} does not pair with dimension {} "
        "of the indices {}",
        n.operand_batch[i], ToString(n.operand), n.indices_batch[i], ToString(n.indices)));
  }
  return Ok();
}

// Dims of the indices without the index vector.
Dims BatchDims(const Shape& indices, int64_t index_vector_dim) {
  Dims dims;
  for (int64_t i = 0; i < indices.rank(); ++i) {
    if (i != index_vector_dim) dims.push_back(indices.dims[static_cast<size_t>(i)]);
  }
  return dims;
}

Result<void> CheckSliceSizes(const InferContext& context, const GatherAttrs& attrs) {
  const Shape& operand = context.shape(0);
  if (attrs.slice_sizes.size() != operand.dims.size()) {
    return context.Fail(fmt::format("slice_sizes={{{}}} has {} entries, but the operand is {}",
                                    JoinInts(attrs.slice_sizes), attrs.slice_sizes.size(),
                                    ToString(operand)));
  }
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    const int64_t size = attrs.slice_sizes[i];
    const auto dim = static_cast<int64_t>(i);
    const bool removed =
        Contains(attrs.collapsed_slice_dims, dim) || Contains(attrs.operand_batching_dims, dim);
    const int64_t limit = removed ? 1 : operand.dims[i];
    if (size >= 0 && (limit < 0 || size <= limit)) continue;
    return context.Fail(fmt::format("slice size {} in dimension {} of {}, expected 0 to {}", size,
                                    i, ToString(operand), limit));
  }
  return Ok();
}

}  // namespace

Inferred InferGather(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const Shape& operand = context.shape(0);
  const Shape& indices = context.shape(1);
  const auto& attrs = context.instr.As<GatherAttrs>();
  FM_RETURN_IF_ERROR(
      CheckNumbering(context, {operand, indices, attrs.collapsed_slice_dims, "collapsed_slice_dims",
                               attrs.operand_batching_dims, "operand_batching_dims",
                               attrs.start_indices_batching_dims, "start_indices_batching_dims",
                               attrs.start_index_map, "start_index_map", attrs.index_vector_dim}));
  FM_RETURN_IF_ERROR(CheckSliceSizes(context, attrs));
  Dims window;
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    if (Contains(attrs.collapsed_slice_dims, dim) || Contains(attrs.operand_batching_dims, dim))
      continue;
    window.push_back(attrs.slice_sizes[static_cast<size_t>(dim)]);
  }
  const Dims batch = BatchDims(indices, attrs.index_vector_dim);
  const auto rank = static_cast<int64_t>(batch.size() + attrs.offset_dims.size());
  FM_RETURN_IF_ERROR(context.ExpectDims("offset_dims", attrs.offset_dims, rank));
  FM_RETURN_IF_ERROR(ExpectSorted(context, "offset_dims", attrs.offset_dims));
  if (window.size() != attrs.offset_dims.size()) {
    return context.Fail(fmt::format("offset_dims has {} dimensions, but the slice keeps {}",
                                    attrs.offset_dims.size(), window.size()));
  }
  Dims result;
  size_t next_window = 0;
  size_t next_batch = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    result.push_back(Contains(attrs.offset_dims, dim) ? window[next_window++]
                                                      : batch[next_batch++]);
  }
  return std::optional<Shape>(PlainArray(operand.dtype, std::move(result)));
}

namespace {

// One update array: window dims fit in the operand, the others are the batch dims.
Result<void> CheckUpdates(const InferContext& context, size_t number, const Dims& batch) {
  const auto& attrs = context.instr.As<ScatterAttrs>();
  const Shape& operand = context.shape(0);
  const Shape& updates = context.shape(number);
  FM_RETURN_IF_ERROR(
      context.ExpectDims("update_window_dims", attrs.update_window_dims, updates.rank()));
  FM_RETURN_IF_ERROR(ExpectSorted(context, "update_window_dims", attrs.update_window_dims));
  Dims bounds;
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    if (Contains(attrs.inserted_window_dims, dim) || Contains(attrs.input_batching_dims, dim))
      continue;
    bounds.push_back(operand.dims[static_cast<size_t>(dim)]);
  }
  if (bounds.size() != attrs.update_window_dims.size() ||
      updates.dims.size() != bounds.size() + batch.size()) {
    return context.BadOperand(
        number, fmt::format("{} window dimensions (update_window_dims) and {} of the indices",
                            bounds.size(), batch.size()));
  }
  size_t next_window = 0;
  size_t next_batch = 0;
  for (int64_t dim = 0; dim < updates.rank(); ++dim) {
    const int64_t size = updates.dims[static_cast<size_t>(dim)];
    if (Contains(attrs.update_window_dims, dim)) {
      const int64_t bound = bounds[next_window++];
      if (bound < 0 || size <= bound) continue;
      return context.BadOperand(number, fmt::format("at most {} in dimension {}", bound, dim));
    }
    const int64_t expected = batch[next_batch++];
    if (SizesMatch(size, expected)) continue;
    return context.BadOperand(number, fmt::format("size {} in dimension {}", expected, dim));
  }
  return Ok();
}

}  // namespace

Inferred InferScatter(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const size_t count = context.operand_count() / 2;
  if (context.operand_count() != 2 * count + 1) {
    return context.Fail(
        fmt::format("found {} operands, expected n arrays, the indices and n "
                    "updates",
                    context.operand_count()));
  }
  const auto& attrs = context.instr.As<ScatterAttrs>();
  const Shape& indices = context.shape(count);
  FM_RETURN_IF_ERROR(CheckNumbering(
      context,
      {context.shape(0), indices, attrs.inserted_window_dims, "inserted_window_dims",
       attrs.input_batching_dims, "input_batching_dims", attrs.scatter_indices_batching_dims,
       "scatter_indices_batching_dims", attrs.scatter_dims_to_operand_dims,
       "scatter_dims_to_operand_dims", attrs.index_vector_dim}));
  const Dims batch = BatchDims(indices, attrs.index_vector_dim);
  std::vector<DType> parameters;
  std::vector<Shape> results;
  for (size_t i = 0; i < count; ++i) {
    if (!DimsMatch(context.shape(i), context.shape(0)))
      return context.BadOperand(i, "the dimensions of operand 0");
    FM_RETURN_IF_ERROR(CheckUpdates(context, count + 1 + i, batch));
    if (context.shape(count + 1 + i).dtype != context.shape(i).dtype) {
      return context.BadOperand(count + 1 + i,
                                fmt::format("element type {}", DTypeName(context.shape(i).dtype)));
    }
    parameters.push_back(context.shape(i).dtype);
    results.push_back(Plain(context.shape(i)));
  }
  for (size_t i = 0; i < count; ++i) parameters.push_back(parameters[i]);
  FM_RETURN_IF_ERROR(context.ExpectScalarParameters(0, parameters));
  if (count == 1) return std::optional<Shape>(std::move(results[0]));
  return std::optional<Shape>(TupleShape(std::move(results)));
}

}  // namespace fusemark
