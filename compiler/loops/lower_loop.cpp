#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/loops/lower_nests.h"

namespace fusemark::loops {
namespace {

// Suffix products of dims, without 1: the places where a row-major position changes its dim.
std::set<int64_t> Boundaries(const std::vector<int64_t>& dims) {
  std::set<int64_t> boundaries;
  int64_t product = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    product *= dims[i];
    boundaries.insert(product);
  }
  boundaries.erase(1);
  return boundaries;
}

bool IsChain(const std::set<int64_t>& boundaries) {
  int64_t previous = 1;
  for (const int64_t boundary : boundaries) {
    if (boundary % previous != 0) return false;
    previous = boundary;
  }
  return true;
}

// Dims to iterate over instead of the root's: where the root merges dims of a reshape's operand,
// the finer dims spare a division per element. Follows elementwise instructions and reshapes, for
// which element numbers are the same on both sides.
std::vector<int64_t> IterationDims(Emitter& emitter, InstrId root,
                                   const std::vector<int64_t>& dims) {
  std::set<int64_t> boundaries = Boundaries(dims);
  if (boundaries.contains(0)) return dims;  // no elements: nothing to divide
  std::set<InstrId> seen = {root};
  std::vector<InstrId> work = {root};
  bool refined = false;
  while (!work.empty()) {
    const Instr& in = emitter.instr(work.back());
    const bool inlined = emitter.Inlined(work.back());
    work.pop_back();
    if (!inlined || !(IsElementwise(in.op) || in.op == Op::kReshape)) continue;
    for (const InstrId operand : in.operands) {
      const Shape& shape = emitter.instr(operand).shape;
      if (!shape.is_array() || ElementCount(shape) != ElementCount(in.shape)) continue;
      // An operand buffer takes the reshape's dims itself.
      if (in.op == Op::kReshape && emitter.Inlined(operand)) {
        std::set<int64_t> merged = boundaries;
        merged.merge(Boundaries(shape.dims));
        if (IsChain(merged)) {
          refined |= merged != boundaries;
          boundaries = merged;
        }
      }
      if (seen.insert(operand).second) work.push_back(operand);
    }
  }
  if (!refined) return dims;
  std::vector<int64_t> finer;
  int64_t previous = 1;
  for (const int64_t boundary : boundaries) {
    finer.insert(finer.begin(), boundary / previous);
    previous = boundary;
  }
  return finer;
}

// One nest per operand of a concatenate, at its place in the result.
void LowerConcatenate(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  Builder& build = emitter.builder();
  const Instr& in = lowering.root(root);
  const auto dim = static_cast<size_t>(in.As<DimsAttrs>().dims[0]);
  int64_t begin = 0;
  for (const InstrId piece : in.operands) {
    const auto& dims = emitter.instr(piece).shape.dims;
    emitter.Nest('i', dims, false, [&](const Indices& indices) {
      const Value value = emitter.Emit(piece, indices);
      std::vector<ExprId> at;
      for (size_t i = 0; i < dims.size(); ++i)
        at.push_back(emitter.Expr(i == dim ? indices[i] + begin : indices[i]));
      emitter.Append(build.Store(lowering.results[root][0], at, emitter.Stored(value)));
    });
    begin += dims[dim];
  }
}

// A box of the result: offset + index for index in [0, extent) per dim.
struct Box {
  std::vector<int64_t> offset, extent;
};

// What a pad without interior leaves to the padding, cut into boxes: per dim one below and one
// above, over the whole result in later dims and the operand's part in earlier ones.
std::vector<Box> PaddingBoxes(const std::vector<int64_t>& dims, const std::vector<int64_t>& begin,
                              const std::vector<int64_t>& end) {
  std::vector<Box> boxes;
  Box box{std::vector<int64_t>(dims.size(), 0), dims};
  for (size_t i = 0; i < dims.size(); ++i) {
    Box below = box, above = box;
    below.extent[i] = begin[i];
    above.offset[i] = end[i];
    above.extent[i] = dims[i] - end[i];
    for (Box& side : {std::ref(below), std::ref(above)})
      if (side.extent[i] > 0) boxes.push_back(side);
    box.offset[i] = begin[i];
    box.extent[i] = end[i] - begin[i];
  }
  return boxes;
}

void LowerPad(Lowering& lowering, size_t root) {
  Emitter& emitter = lowering.emitter;
  Builder& build = emitter.builder();
  const Instr& in = lowering.root(root);
  const auto& pad = in.As<PadAttrs>();
  const auto& dims = in.shape.dims;
  const auto& operand = emitter.instr(in.operands[0]).shape.dims;
  // Elements [first, last) of the operand land in the result, at low + position * step.
  std::vector<int64_t> first, extent, begin, end, step;
  for (size_t i = 0; i < dims.size(); ++i) {
    step.push_back(pad.interior[i] + 1);
    first.push_back(std::min(operand[i], std::max<int64_t>(0, CeilDiv(-pad.low[i], step[i]))));
    const int64_t last = FloorDiv(dims[i] - 1 - pad.low[i], step[i]) + 1;
    extent.push_back(std::clamp<int64_t>(last - first[i], 0, operand[i] - first[i]));
    begin.push_back(std::min(dims[i], pad.low[i] + first[i] * step[i]));
    end.push_back(extent[i] > 0 ? begin[i] + (extent[i] - 1) * step[i] + 1 : begin[i]);
  }
  const auto store = [&](const std::vector<Affine>& indices, const Value& value) {
    std::vector<ExprId> at;
    for (const Affine& index : indices) at.push_back(emitter.Expr(index));
    emitter.Append(build.Store(lowering.results[root][0], at, emitter.Stored(value)));
  };
  const bool holes = std::any_of(step.begin(), step.end(), [](int64_t s) { return s > 1; });
  const bool nothing = std::find(extent.begin(), extent.end(), 0) != extent.end();
  const std::vector<int64_t> zero(dims.size(), 0);
  const std::vector<Box> boxes =
      holes || nothing ? std::vector<Box>{{zero, dims}} : PaddingBoxes(dims, begin, end);
  for (const Box& box : boxes) {
    emitter.Nest('i', box.extent, false, [&](const Indices& indices) {
      Indices at;
      for (size_t i = 0; i < indices.size(); ++i) at.push_back(indices[i] + box.offset[i]);
      store(at, emitter.Emit(in.operands[1], {}));
    });
  }
  emitter.Nest('i', extent, false, [&](const Indices& indices) {
    Indices from, to;
    for (size_t i = 0; i < indices.size(); ++i) {
      from.push_back(indices[i] + first[i]);
      to.push_back(indices[i] * step[i] + begin[i]);
    }
    store(to, emitter.Emit(in.operands[0], from));
  });
}

}  // namespace

const std::vector<int64_t>& Lowering::DimsOf(size_t i) const {
  const Shape& shape = root(i).shape;
  return shape.is_tuple ? shape.elements[0].dims : shape.dims;
}

void Lowering::StoreRoot(size_t i, const Indices& indices) {
  if (root(i).op == Op::kComplex) {
    for (size_t part = 0; part < 2; ++part) {
      const Value value = emitter.Emit(root(i).operands[part], indices);
      std::vector<ExprId> at;
      for (const Affine& index : indices) at.push_back(emitter.Expr(index));
      at.push_back(emitter.builder().Index(static_cast<int64_t>(part)));
      emitter.Append(emitter.builder().Store(results[i][0], at, emitter.Stored(value)));
    }
    return;
  }
  for (size_t leaf = 0; leaf < results[i].size(); ++leaf) {
    const Value value = emitter.Emit(request.roots[i], indices, static_cast<int64_t>(leaf));
    std::vector<ExprId> at;
    for (const Affine& index : indices) at.push_back(emitter.Expr(index));
    emitter.Append(emitter.builder().Store(results[i][leaf], at, emitter.Stored(value)));
  }
}

void LowerRoots(Lowering& lowering, std::span<const size_t> roots) {
  Emitter& emitter = lowering.emitter;
  const auto& dims = lowering.DimsOf(roots[0]);
  const auto loops = IterationDims(emitter, lowering.request.roots[roots[0]], dims);
  emitter.Nest('i', loops, false, [&](const Indices& indices) {
    const Indices at = loops == dims ? indices : emitter.MapReshape(indices, loops, dims);
    for (const size_t root : roots) lowering.StoreRoot(root, at);
  });
}

void LowerLoops(Lowering& lowering) {
  const size_t count = lowering.request.roots.size();
  lowering.emitter.set_share_passes(lowering.request.klass == KernelClass::kReduce);
  std::vector<bool> done(count, false);
  for (size_t i = 0; i < count; ++i) {
    if (done[i]) continue;
    const Op op = lowering.root(i).op;
    if (op == Op::kConcatenate) {
      LowerConcatenate(lowering, i);
      continue;
    }
    if (op == Op::kPad) {
      LowerPad(lowering, i);
      continue;
    }
    std::vector<size_t> together;
    for (size_t j = i; j < count; ++j) {
      const Op other = lowering.root(j).op;
      const bool pieces = other == Op::kConcatenate || other == Op::kPad;
      if (done[j] || pieces || lowering.DimsOf(j) != lowering.DimsOf(i)) continue;
      together.push_back(j);
      done[j] = true;
    }
    LowerRoots(lowering, together);
  }
}

}  // namespace fusemark::loops
