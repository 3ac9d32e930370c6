// gather (clamps its start indices) and scatter (drops windows that do not fit, in order).
#include <algorithm>
#include <array>

#include "compiler/reference/context.h"
#include "compiler/reference/indices.h"
#include "compiler/reference/region.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

bool Contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// The index tensor seen as a grid of index vectors; shared by gather and scatter.
struct IndexGrid {
  std::vector<int64_t> values;
  Dims dims;              // of the grid: the index tensor's dims without index_vector_dim
  Dims strides;           // of the grid in the index tensor
  int64_t component = 1;  // stride between the components of one index vector

  IndexGrid(const Tensor& indices, int64_t vector_dim) : values(ReadIndices(indices)) {
    const std::vector<int64_t> all = RowMajorStrides(indices.shape.dims);
    for (size_t d = 0; d < all.size(); ++d) {
      if (static_cast<int64_t>(d) == vector_dim) {
        component = all[d];
      } else {
        dims.push_back(indices.shape.dims[d]);
        strides.push_back(all[d]);
      }
    }
  }

  // Fills the start position in the operand for one place of the grid.
  void Start(const Dims& at, int64_t vector_dim, const Dims& index_map, const Dims& operand_batch,
             const Dims& grid_batch, Dims& start) const {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    std::fill(start.begin(), start.end(), 0);
    for (size_t k = 0; k < index_map.size(); ++k)
      start[static_cast<size_t>(index_map[k])] =
          values[static_cast<size_t>(offset + static_cast<int64_t>(k) * component)];
    for (size_t k = 0; k < operand_batch.size(); ++k) {
      const int64_t d = grid_batch[k] > vector_dim ? grid_batch[k] - 1 : grid_batch[k];
      start[static_cast<size_t>(operand_batch[k])] = at[static_cast<size_t>(d)];
    }
  }
};

// Splits the dims of gather's result or scatter's updates: `window` (in the order of the operand's
// kept dims) and `grid` (the others, in order).
struct SplitDims {
  Dims window_sizes, window_strides, grid_strides;

  SplitDims(const std::vector<int64_t>& dims, const Dims& window) {
    const std::vector<int64_t> strides = RowMajorStrides(dims);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (Contains(window, static_cast<int64_t>(d))) {
        window_sizes.push_back(dims[d]);
        window_strides.push_back(strides[d]);
      } else {
        grid_strides.push_back(strides[d]);
      }
    }
  }
};

// Strides of the operand dims that have a window dim, in order.
Dims KeptStrides(const std::vector<int64_t>& dims, const Dims& dropped, const Dims& batch) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  Dims kept;
  for (size_t d = 0; d < dims.size(); ++d)
    if (!Contains(dropped, static_cast<int64_t>(d)) && !Contains(batch, static_cast<int64_t>(d)))
      kept.push_back(strides[d]);
  return kept;
}

int64_t Dot(const Dims& a, const Dims& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Tensor EvalGather(const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<GatherAttrs>();
  const Tensor& source = *operands[0];
  Tensor result = MakeTensor(instr.shape, false);
  if (ElementCount(instr.shape) == 0) return result;
  const IndexGrid grid(*operands[1], attrs.index_vector_dim);
  const SplitDims split(instr.shape.dims, attrs.offset_dims);
  const std::vector<int64_t> strides = RowMajorStrides(source.shape.dims);
  const Dims kept =
      KeptStrides(source.shape.dims, attrs.collapsed_slice_dims, attrs.operand_batching_dims);
  const int64_t size = ByteSize(instr.shape.dtype);
  Dims at(grid.dims.size(), 0), start(source.shape.dims.size(), 0);
  do {
    grid.Start(at, attrs.index_vector_dim, attrs.start_index_map, attrs.operand_batching_dims,
               attrs.start_indices_batching_dims, start);
    for (size_t d = 0; d < start.size(); ++d)
      start[d] = std::clamp<int64_t>(start[d], 0, source.shape.dims[d] - attrs.slice_sizes[d]);
    CopyStrided(size, split.window_sizes, source.data.get() + Dot(start, strides) * size, kept,
                result.data.get() + Dot(at, split.grid_strides) * size, split.window_strides);
  } while (NextIndex(grid.dims, at));
  return result;
}

namespace {

// All operands of one scatter as lanes, so that repeated sums round once at the end.
struct ScatterState {
  std::vector<DType> types;
  std::vector<LaneBuffer> operands, updates, gathered, fresh;
  std::vector<void*> accumulators;
  std::vector<const void*> elements;

  ScatterState(Operands all, size_t count) {
    for (size_t k = 0; k < count; ++k) {
      const Tensor& operand = *all[k];
      const Tensor& update = *all[count + 1 + k];
      types.push_back(operand.shape.dtype);
      operands.emplace_back(ElementCount(operand.shape), KindOf(types[k]));
      Decode(types[k], operand.data.get(), ElementCount(operand.shape), operands[k].data());
      updates.emplace_back(ElementCount(update.shape), KindOf(types[k]));
      Decode(types[k], update.data.get(), ElementCount(update.shape), updates[k].data());
      gathered.emplace_back();
      fresh.emplace_back();
      accumulators.push_back(gathered[k].data());
      elements.push_back(fresh[k].data());
    }
  }

  // operand[to + to_offsets[i]] = f(that, update[from + from_offsets[i]]) over a whole window.
  void Apply(Combiner& combiner, int64_t to, const Dims& to_offsets, int64_t from,
             const Dims& from_offsets) {
    const auto total = static_cast<int64_t>(to_offsets.size());
    for (int64_t first = 0; first < total; first += kBlock) {
      const int64_t n = std::min(kBlock, total - first);
      for (size_t k = 0; k < types.size(); ++k)
        Move(k, n, to, to_offsets.data() + first, from, from_offsets.data() + first, true);
      combiner.Combine(n, accumulators, elements);
      for (size_t k = 0; k < types.size(); ++k)
        Move(k, n, to, to_offsets.data() + first, from, from_offsets.data() + first, false);
    }
  }

  void Move(size_t k, int64_t n, int64_t to, const int64_t* to_offsets, int64_t from,
            const int64_t* from_offsets, bool load) {
    VisitKind(KindOf(types[k]), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      T* operand = operands[k].as<T>() + to;
      const T* update = updates[k].as<T>() + from;
      for (int64_t i = 0; i < n; ++i) {
        if (!load) {
          operand[to_offsets[i]] = gathered[k].as<T>()[i];
          continue;
        }
        gathered[k].as<T>()[i] = operand[to_offsets[i]];
        fresh[k].as<T>()[i] = update[from_offsets[i]];
      }
    });
  }
};

// Offsets of every element of a box, row-major.
Dims BoxOffsets(const Dims& sizes, const Dims& strides) {
  Dims offsets, at(sizes.size(), 0);
  for (int64_t size : sizes)
    if (size == 0) return offsets;
  do offsets.push_back(Dot(at, strides));
  while (NextIndex(sizes, at));
  return offsets;
}

}  // namespace

Tensors EvalScatter(const Context& context, const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<ScatterAttrs>();
  const size_t count = operands.size() / 2;
  ScatterState state(operands, count);
  Combiner combiner(context, instr.called[0], state.types);
  const std::vector<int64_t>& dims = operands[0]->shape.dims;
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  const IndexGrid grid(*operands[count], attrs.index_vector_dim);
  const SplitDims split(operands[count + 1]->shape.dims, attrs.update_window_dims);
  const Dims kept = KeptStrides(dims, attrs.inserted_window_dims, attrs.input_batching_dims);
  const Dims to_offsets = BoxOffsets(split.window_sizes, kept);
  const Dims from_offsets = BoxOffsets(split.window_sizes, split.window_strides);
  Dims window(dims.size(), 1);  // extent of the window in every operand dim
  for (size_t d = 0, w = 0; d < dims.size(); ++d)
    if (!Contains(attrs.inserted_window_dims, static_cast<int64_t>(d)) &&
        !Contains(attrs.input_batching_dims, static_cast<int64_t>(d)))
      window[d] = split.window_sizes[w++];

  Dims at(grid.dims.size(), 0), start(dims.size(), 0);
  const bool empty = std::find(grid.dims.begin(), grid.dims.end(), 0) != grid.dims.end();
  if (!empty) {
    do {
      grid.Start(at, attrs.index_vector_dim, attrs.scatter_dims_to_operand_dims,
                 attrs.input_batching_dims, attrs.scatter_indices_batching_dims, start);
      bool fits = true;
      for (size_t d = 0; d < dims.size(); ++d)
        fits = fits && start[d] >= 0 && start[d] <= dims[d] - window[d];
      if (fits)
        state.Apply(combiner, Dot(start, strides), to_offsets, Dot(at, split.grid_strides),
                    from_offsets);
    } while (NextIndex(grid.dims, at));
  }
  Tensors results;
  for (size_t k = 0; k < count; ++k) {
    results.push_back(MakeTensor(operands[k]->shape, false));
    Encode(state.types[k], state.operands[k].data(), ElementCount(operands[k]->shape),
           results[k].data.get());
  }
  return results;
}

}  // namespace fusemark::reference
