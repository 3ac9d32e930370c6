// reduce-window and select-and-scatter: for one window position after the other, all outputs whose
// window reads the operand there (padding and dilation holes are skipped) take that element.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/reference/context.h"
#include "compiler/reference/region.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

// Pairs (output, element of the operand) met at one position of the window.
struct Pairs {
  std::vector<int64_t> outputs, sources;
};

class WindowWalk {
 public:
  WindowWalk(const Window& window, const std::vector<int64_t>& input,
             const std::vector<int64_t>& output)
      : window_(window), input_(input), output_(output), strides_(RowMajorStrides(input)) {
    for (const WindowDim& dim : window) sizes_.push_back(dim.size);
  }

  // Calls f(pairs) for every window position in row-major order.
  template <class F>
  void ForEachPosition(F f) const {
    for (size_t d = 0; d < sizes_.size(); ++d)
      if (sizes_[d] == 0 || output_[d] == 0) return;
    Dims at(sizes_.size(), 0);
    Pairs pairs;
    do {
      Find(at, pairs);
      if (!pairs.outputs.empty()) f(pairs);
    } while (NextIndex(sizes_, at));
  }

 private:
  static constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

  void Find(const Dims& at, Pairs& pairs) const {
    pairs.outputs.clear();
    pairs.sources.clear();
    // Per dim: the input offset that each output position reads, or kOutside.
    std::vector<Dims> offsets;
    for (size_t d = 0; d < at.size(); ++d) {
      offsets.emplace_back();
      for (int64_t o = 0; o < output_[d]; ++o) {
        const int64_t padded =
            o * window_[d].stride + at[d] * window_[d].window_dilation - window_[d].pad_low;
        const bool hole = padded < 0 || padded % window_[d].base_dilation != 0 ||
                          padded / window_[d].base_dilation >= input_[d];
        offsets[d].push_back(hole ? kOutside : padded / window_[d].base_dilation * strides_[d]);
      }
    }
    Expand(offsets, 0, 0, 0, pairs);
  }

  void Expand(const std::vector<Dims>& offsets, size_t d, int64_t output, int64_t source,
              Pairs& pairs) const {
    if (d == offsets.size()) {
      pairs.outputs.push_back(output);
      pairs.sources.push_back(source);
      return;
    }
    for (int64_t o = 0; o < output_[d]; ++o) {
      const int64_t offset = offsets[d][static_cast<size_t>(o)];
      if (offset != kOutside)
        Expand(offsets, d + 1, output * output_[d] + o, source + offset, pairs);
    }
  }

  const Window& window_;
  const std::vector<int64_t>&input_, &output_;
  std::vector<int64_t> strides_;
  Dims sizes_;
};

// lanes[i] = values[index[i]], or the other way round.
void MoveLanes(Kind kind, void* values, const int64_t* index, int64_t n, void* lanes, bool load) {
  VisitKind(kind, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    auto* all = static_cast<T*>(values);
    auto* some = static_cast<T*>(lanes);
    for (int64_t i = 0; i < n; ++i) {
      if (load)
        some[i] = all[index[i]];
      else
        all[index[i]] = some[i];
    }
  });
}

LaneBuffer DecodeTensor(const Tensor& tensor) {
  const int64_t count = ElementCount(tensor.shape);
  LaneBuffer lanes(count, KindOf(tensor.shape.dtype));
  Decode(tensor.shape.dtype, tensor.data.get(), count, lanes.data());
  return lanes;
}

LaneBuffer SpreadTensor(const Tensor& init, int64_t count) {
  const Kind kind = KindOf(init.shape.dtype);
  LaneBuffer lanes(std::max<int64_t>(count, 1), kind);
  Decode(init.shape.dtype, init.data.get(), 1, lanes.data());
  const auto size = static_cast<size_t>(LaneSize(kind));
  for (int64_t i = 1; i < count; ++i)
    std::memcpy(lanes.as<std::byte>() + static_cast<size_t>(i) * size, lanes.data(), size);
  return lanes;
}

// The operands of one reduce-window as lanes.
struct WindowReduction {
  std::vector<Kind> kinds;
  std::vector<LaneBuffer> inputs, sums, fresh, gathered;
  std::vector<void*> accumulators;
  std::vector<const void*> elements;

  void Add(const Tensor& input, const Tensor& init, int64_t outputs) {
    kinds.push_back(KindOf(input.shape.dtype));
    inputs.push_back(DecodeTensor(input));
    sums.push_back(SpreadTensor(init, outputs));
    fresh.emplace_back();
    gathered.emplace_back();
    accumulators.push_back(gathered.back().data());
    elements.push_back(fresh.back().data());
  }

  void Apply(Combiner& combiner, const Pairs& pairs) {
    const auto total = static_cast<int64_t>(pairs.outputs.size());
    for (int64_t first = 0; first < total; first += kBlock) {
      const int64_t n = std::min(kBlock, total - first);
      const int64_t* outputs = pairs.outputs.data() + first;
      const int64_t* sources = pairs.sources.data() + first;
      for (size_t k = 0; k < kinds.size(); ++k) {
        MoveLanes(kinds[k], inputs[k].data(), sources, n, fresh[k].data(), true);
        MoveLanes(kinds[k], sums[k].data(), outputs, n, gathered[k].data(), true);
      }
      combiner.Combine(n, accumulators, elements);
      for (size_t k = 0; k < kinds.size(); ++k)
        MoveLanes(kinds[k], sums[k].data(), outputs, n, gathered[k].data(), false);
    }
  }
};

}  // namespace

Tensors EvalReduceWindow(const Context& context, const Instr& instr, Operands operands) {
  const size_t count = operands.size() / 2;
  std::vector<Shape> leaves;
  FlattenLeaves(instr.shape, leaves);
  WindowReduction reduction;
  std::vector<DType> types;
  for (size_t k = 0; k < count; ++k) {
    reduction.Add(*operands[k], *operands[count + k], ElementCount(leaves[k]));
    types.push_back(leaves[k].dtype);
  }
  Combiner combiner(context, instr.called[0], types);
  const WindowWalk walk(instr.As<WindowAttrs>().window, operands[0]->shape.dims, leaves[0].dims);
  walk.ForEachPosition([&](const Pairs& pairs) {
    context.poll();
    reduction.Apply(combiner, pairs);
  });
  Tensors results;
  for (size_t k = 0; k < count; ++k) {
    results.push_back(MakeTensor(leaves[k], false));
    Encode(types[k], reduction.sums[k].data(), ElementCount(leaves[k]), results[k].data.get());
  }
  return results;
}

namespace {

// For every source element, the operand element its window picks: the first one, replaced when
// select(picked, candidate) is false. -1 where the window meets only padding.
Dims PickElements(const Context& context, const Instr& instr, const Tensor& operand,
                  const Tensor& source, LaneBuffer& values) {
  const Kind kind = KindOf(operand.shape.dtype);
  Region select(context, instr.called[0]);
  Dims picked(static_cast<size_t>(ElementCount(source.shape)), -1);
  LaneBuffer current, candidate;
  const WindowWalk walk(instr.As<WindowAttrs>().window, operand.shape.dims, source.shape.dims);
  walk.ForEachPosition([&](const Pairs& pairs) {
    context.poll();
    const auto total = static_cast<int64_t>(pairs.outputs.size());
    for (int64_t first = 0; first < total; first += kBlock) {
      const int64_t n = std::min(kBlock, total - first);
      const int64_t* outputs = pairs.outputs.data() + first;
      const int64_t* sources = pairs.sources.data() + first;
      Dims pick(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t old = picked[static_cast<size_t>(outputs[i])];
        pick[static_cast<size_t>(i)] = old < 0 ? sources[i] : old;
      }
      MoveLanes(kind, values.data(), pick.data(), n, current.data(), true);
      MoveLanes(kind, values.data(), sources, n, candidate.data(), true);
      const void* params[] = {current.data(), candidate.data()};
      select.Run(n, params);
      const auto* keep = static_cast<const uint64_t*>(select.result(0));
      for (int64_t i = 0; i < n; ++i) {
        int64_t& place = picked[static_cast<size_t>(outputs[i])];
        if (place < 0 || keep[i] == 0) place = sources[i];
      }
    }
  });
  return picked;
}

}  // namespace

Tensor EvalSelectAndScatter(const Context& context, const Instr& instr, Operands operands) {
  const Tensor &operand = *operands[0], &source = *operands[1];
  const DType dtype = instr.shape.dtype;
  const Kind kind = KindOf(dtype);
  LaneBuffer values = DecodeTensor(operand), updates = DecodeTensor(source);
  const Dims picked = PickElements(context, instr, operand, source, values);
  LaneBuffer sums = SpreadTensor(*operands[2], ElementCount(instr.shape));
  Combiner combiner(context, instr.called[1], {dtype});
  for (size_t i = 0; i < picked.size(); ++i) {
    if (picked[i] < 0) continue;
    void* accumulators[] = {sums.as<std::byte>() + picked[i] * LaneSize(kind)};
    const void* elements[] = {updates.as<std::byte>() + static_cast<int64_t>(i) * LaneSize(kind)};
    combiner.Combine(1, accumulators, elements);
  }
  Tensor result = MakeTensor(instr.shape, false);
  Encode(dtype, sums.data(), ElementCount(instr.shape), result.data.get());
  return result;
}

}  // namespace fusemark::reference
