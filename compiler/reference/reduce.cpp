// reduce: the operand is arranged as [reduced positions][kept positions], and the accumulators of
// all kept positions take one reduced position after the other, in row-major order.
#include <algorithm>
#include <cstring>

#include "compiler/reference/context.h"
#include "compiler/reference/region.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

// Raw elements with the reduced dims first.
Tensor ReducedFirst(const Tensor& tensor, const Dims& reduced) {
  std::vector<int64_t> dims, strides;
  const std::vector<int64_t> from = RowMajorStrides(tensor.shape.dims);
  const auto add = [&](size_t d) {
    dims.push_back(tensor.shape.dims[d]);
    strides.push_back(from[d]);
  };
  const auto is_reduced = [&](size_t d) {
    return std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) != reduced.end();
  };
  for (size_t d = 0; d < from.size(); ++d)
    if (is_reduced(d)) add(d);
  for (size_t d = 0; d < from.size(); ++d)
    if (!is_reduced(d)) add(d);
  Tensor arranged = MakeTensor(ArrayShape(tensor.shape.dtype, dims), false);
  CopyStrided(ByteSize(tensor.shape.dtype), dims, tensor.data.get(), strides, arranged.data.get(),
              RowMajorStrides(dims));
  return arranged;
}

// n lanes of the initial value.
void Spread(const Tensor& init, int64_t n, void* lanes) {
  const auto size = static_cast<size_t>(LaneSize(init.shape.dtype));
  auto* to = static_cast<std::byte*>(lanes);
  Decode(init.shape.dtype, init.data.get(), 1, to);
  for (int64_t i = 1; i < n; ++i) std::memcpy(to + static_cast<size_t>(i) * size, to, size);
}

struct Reduction {
  std::vector<Tensor> arranged;
  std::vector<LaneBuffer> sums, fresh;
  std::vector<void*> accumulators;
  std::vector<const void*> elements;

  // Positions [first, first + n) of the results.
  void Run(Combiner& combiner, Operands inits, int64_t first, int64_t n, int64_t kept,
           int64_t steps) {
    for (size_t k = 0; k < arranged.size(); ++k) Spread(*inits[k], n, accumulators[k]);
    for (int64_t step = 0; step < steps; ++step) {
      for (size_t k = 0; k < arranged.size(); ++k) {
        const DType dtype = arranged[k].shape.dtype;
        const int64_t at = step * kept + first;
        Decode(dtype, arranged[k].data.get() + at * ByteSize(dtype), n, fresh[k].data());
      }
      combiner.Combine(n, accumulators, elements);
    }
  }
};

std::vector<Shape> LeavesOf(const Shape& shape) {
  std::vector<Shape> leaves;
  FlattenLeaves(shape, leaves);
  return leaves;
}

}  // namespace

Tensors EvalReduce(const Context& context, const Instr& instr, Operands operands) {
  const size_t count = operands.size() / 2;
  const std::vector<Shape> leaves = LeavesOf(instr.shape);
  Reduction reduction;
  Tensors results;
  std::vector<DType> types;
  for (size_t k = 0; k < count; ++k) {
    reduction.arranged.push_back(ReducedFirst(*operands[k], instr.As<DimsAttrs>().dims));
    types.push_back(leaves[k].dtype);
    results.push_back(MakeTensor(leaves[k], false));
    reduction.sums.emplace_back();
    reduction.fresh.emplace_back();
    reduction.accumulators.push_back(reduction.sums[k].data());
    reduction.elements.push_back(reduction.fresh[k].data());
  }
  Combiner combiner(context, instr.called[0], types);
  const int64_t kept = ElementCount(leaves[0]);
  if (kept == 0) return results;
  const int64_t steps = ElementCount(operands[0]->shape) / kept;
  for (int64_t first = 0; first < kept; first += kBlock) {
    context.poll();
    const int64_t n = std::min(kBlock, kept - first);
    reduction.Run(combiner, operands.subspan(count), first, n, kept, steps);
    for (size_t k = 0; k < count; ++k)
      Encode(types[k], reduction.sums[k].data(), n,
             results[k].data.get() + first * ByteSize(types[k]));
  }
  return results;
}

}  // namespace fusemark::reference
