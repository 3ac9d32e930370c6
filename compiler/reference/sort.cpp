// sort (any comparator, always stable) and topk.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include "compiler/reference/context.h"
#include "compiler/reference/region.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

// Own merge sort: a comparator that is no strict weak order (NaN under a plain LT) must still
// terminate and stay in bounds, which std::stable_sort does not promise.
template <class Less>
void MergeSort(std::vector<int64_t>& order, Less less) {
  std::vector<int64_t> merged(order.size());
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, order.size());
      const size_t end = std::min(begin + 2 * width, order.size());
      size_t left = begin, right = middle;
      for (size_t to = begin; to < end; ++to) {
        const bool take_right = right < end && (left == middle || less(order[right], order[left]));
        merged[to] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
}

// The lines along one dimension of a shape: offset of the first element and stride between
// elements.
struct Lines {
  int64_t length, stride;
  std::vector<int64_t> outer_dims, outer_strides;

  Lines(const std::vector<int64_t>& dims, int64_t along) {
    const std::vector<int64_t> strides = RowMajorStrides(dims);
    length = dims[static_cast<size_t>(along)];
    stride = strides[static_cast<size_t>(along)];
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) == along) continue;
      outer_dims.push_back(dims[d]);
      outer_strides.push_back(strides[d]);
    }
  }

  template <class F>
  void ForEach(F f) const {
    for (int64_t dim : outer_dims)
      if (dim == 0) return;
    std::vector<int64_t> at(outer_dims.size(), 0);
    do f(std::inner_product(at.begin(), at.end(), outer_strides.begin(), int64_t{0}));
    while (NextIndex(outer_dims, at));
  }
};

}  // namespace

Tensors EvalSort(const Context& context, const Instr& instr, Operands operands) {
  Region comparator(context, instr.called[0]);
  const Lines lines(operands[0]->shape.dims, instr.As<SortAttrs>().dim);
  Tensors results;
  std::vector<LaneBuffer> keys;
  for (const Tensor* operand : operands) {
    results.push_back(MakeTensor(operand->shape, false));
    keys.emplace_back(lines.length, KindOf(operand->shape.dtype));
  }
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  std::vector<const void*> params(2 * operands.size());
  const auto less = [&](int64_t a, int64_t b) {
    for (size_t k = 0; k < keys.size(); ++k) {
      const int64_t size = LaneSize(operands[k]->shape.dtype);
      params[2 * k] = keys[k].as<std::byte>() + a * size;
      params[2 * k + 1] = keys[k].as<std::byte>() + b * size;
    }
    comparator.Run(1, params);
    return *static_cast<const uint64_t*>(comparator.result(0)) != 0;
  };
  lines.ForEach([&](int64_t offset) {
    context.poll();
    for (size_t k = 0; k < keys.size(); ++k) {
      const DType dtype = operands[k]->shape.dtype;
      const int64_t step = ByteSize(dtype), lane = LaneSize(dtype);
      for (int64_t i = 0; i < lines.length; ++i)
        Decode(dtype, operands[k]->data.get() + (offset + i * lines.stride) * step, 1,
               keys[k].as<std::byte>() + i * lane);
    }
    std::iota(order.begin(), order.end(), 0);
    MergeSort(order, less);
    for (size_t k = 0; k < keys.size(); ++k) {
      const int64_t step = ByteSize(operands[k]->shape.dtype);
      for (int64_t i = 0; i < lines.length; ++i)
        std::memcpy(results[k].data.get() + (offset + i * lines.stride) * step,
                    operands[k]->data.get() +
                        (offset + order[static_cast<size_t>(i)] * lines.stride) * step,
                    static_cast<size_t>(step));
    }
  });
  return results;
}

// Along the last dimension, best first, ties by the lower index. Floats compare by total order, so
// +NaN is the largest.
Tensors EvalTopK(const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<TopKAttrs>();
  const Tensor& source = *operands[0];
  const DType dtype = source.shape.dtype;
  const int64_t length = source.shape.dims.back(), step = ByteSize(dtype);
  const int64_t rows = length == 0 ? 0 : ElementCount(source.shape) / length;
  Tensors results;
  results.push_back(MakeTensor(instr.shape.elements[0], false));
  results.push_back(MakeTensor(instr.shape.elements[1], false));
  LaneBuffer lanes(length, KindOf(dtype));
  const auto key = [&](int64_t i) {
    const int64_t bits = lanes.as<int64_t>()[i];
    return KindOf(dtype) == Kind::kFloat && bits < 0 ? INT64_MAX ^ bits : bits;
  };
  const auto better = [&](int64_t a, int64_t b) {
    const int64_t x = key(attrs.largest ? a : b), y = key(attrs.largest ? b : a);
    if (KindOf(dtype) == Kind::kUint) return static_cast<uint64_t>(x) > static_cast<uint64_t>(y);
    return x > y;
  };
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    Decode(dtype, source.data.get() + row * length * step, length, lanes.data());
    std::iota(order.begin(), order.end(), 0);
    MergeSort(order, better);
    for (int64_t i = 0; i < attrs.k; ++i) {
      const int64_t from = row * length + order[static_cast<size_t>(i)], to = row * attrs.k + i;
      std::memcpy(results[0].data.get() + to * step, source.data.get() + from * step,
                  static_cast<size_t>(step));
      Encode(results[1].shape.dtype, &order[static_cast<size_t>(i)], 1,
             results[1].data.get() + to * ByteSize(results[1].shape.dtype));
    }
  }
  return results;
}

}  // namespace fusemark::reference
