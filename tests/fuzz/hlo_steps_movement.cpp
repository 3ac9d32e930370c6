#include <algorithm>
#include <numeric>

#include "tests/fuzz/hlo_generator.h"

namespace fusemark {

InstrId HloGenerator::FreshStep() {
  return Fresh(PickType(kAnything), PickDims());
}

InstrId HloGenerator::BroadcastStep() {
  const InstrId value = Pick(kAnything, 0, 4);
  Dims dims = ShapeOf(value).dims, map(dims.size());
  std::iota(map.begin(), map.end(), 0);
  for (int64_t more = Between(1, 2); more > 0; --more) {
    const auto at = Below(dims.size() + 1);
    dims.insert(dims.begin() + static_cast<int64_t>(at), Between(1, 4));
    for (int64_t& dim : map) dim += dim >= static_cast<int64_t>(at) ? 1 : 0;
  }
  return Broadcast(value, dims, map);
}

// Splits or merges dims, adds or drops dims of one.
Dims HloGenerator::ReshapedDims(Dims dims) {
  for (int64_t edits = Between(1, 3); edits > 0; --edits) {
    const size_t at = Below(dims.size() + 1);
    switch (Below(3)) {
      case 0: dims.insert(dims.begin() + static_cast<int64_t>(at), 1); break;
      case 1:
        if (at + 1 < dims.size()) {
          dims[at] *= dims[at + 1];
          dims.erase(dims.begin() + static_cast<int64_t>(at) + 1);
        }
        break;
      default:
        for (const int64_t factor : {2, 3, 5}) {
          if (at >= dims.size() || dims[at] == factor || dims[at] % factor != 0) continue;
          dims[at] /= factor;
          dims.insert(dims.begin() + static_cast<int64_t>(at), factor);
          break;
        }
    }
  }
  return dims;
}

InstrId HloGenerator::Reshape() {
  const InstrId value = Pick(kAnything);
  const Dims dims = ReshapedDims(ShapeOf(value).dims);
  if (dims.size() > 5) return Invalid();
  return Add(Op::kReshape, {value}, {}, {}, ArrayShape(ShapeOf(value).dtype, dims));
}

// The bytes of a value in one layout, read as other dims in another one. Copies around it give and
// take the layouts, which no other step sees.
InstrId HloGenerator::Bitcast() {
  const InstrId value = Pick(kAnything);
  const Shape from = ShapeOf(value);
  const Dims dims = ReshapedDims(from.dims);
  if (dims.size() > 5) return Invalid();
  const auto any_layout = [&](InstrId id) {
    if (invalid_ || ShapeOf(id).dims.empty()) return;
    Shape& shape = scope_->computation.instrs[id.index].shape;
    Dims order(shape.dims.size());
    std::iota(order.begin(), order.end(), 0);
    shape.layout = Layout{Shuffled(order), ""};
  };
  DType dtype = from.dtype;
  if (dtype == DType::kF32 && Chance(30)) dtype = DType::kS32;
  if (dtype == DType::kU16 && Chance(30)) dtype = DType::kBF16;
  const InstrId stored = Add(Op::kCopy, {value});
  any_layout(stored);
  const InstrId read = Add(Op::kBitcast, {stored}, {}, {}, ArrayShape(dtype, dims));
  any_layout(read);
  return Add(Op::kCopy, {read});
}

InstrId HloGenerator::Transpose() {
  const InstrId value = Pick(kAnything, 1);
  Dims permutation(ShapeOf(value).dims.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  return Add(Op::kTranspose, {value}, DimsAttrs{Shuffled(permutation)});
}

InstrId HloGenerator::Slice() {
  const InstrId value = Pick(kAnything, 1);
  SliceAttrs attrs;
  for (const int64_t dim : ShapeOf(value).dims) {
    const int64_t start = Chance(50) ? 0 : Between(0, dim);
    attrs.start.push_back(Chance(95) ? std::min(start, std::max<int64_t>(dim - 1, 0)) : start);
    attrs.limit.push_back(Chance(50) ? dim : Between(attrs.start.back(), dim));
    attrs.stride.push_back(Chance(60) ? 1 : Between(1, 3));
  }
  return Add(Op::kSlice, {value}, std::move(attrs));
}

InstrId HloGenerator::DimensionSize() {
  const InstrId value = Pick(kAnything, 1);
  const auto dim = static_cast<int64_t>(Below(ShapeOf(value).dims.size()));
  return Add(Op::kGetDimensionSize, {value}, DimsAttrs{{dim}});
}

InstrId HloGenerator::Pad() {
  const InstrId value = Pick(kAnything, 1);
  const Shape shape = ShapeOf(value);
  PadAttrs attrs;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    attrs.low.push_back(Chance(50) ? 0 : Between(-1, 2));
    attrs.high.push_back(Chance(50) ? 0 : Between(-1, 3));
    attrs.interior.push_back(Chance(75) ? 0 : Between(1, 2));
  }
  return Add(Op::kPad, {value, Like(shape.dtype, {})}, std::move(attrs));
}

InstrId HloGenerator::Concatenate() {
  const InstrId value = Pick(kAnything, 1);
  const Shape shape = ShapeOf(value);
  const size_t axis = Below(shape.dims.size());
  std::vector<InstrId> parts{value};
  for (int64_t more = Between(1, 2); more > 0; --more) {
    Dims dims = shape.dims;
    if (Chance(50)) dims[axis] = Between(0, 3);
    parts.push_back(Like(shape.dtype, dims));
  }
  for (size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[Below(i)]);
  return Add(Op::kConcatenate, parts, DimsAttrs{{static_cast<int64_t>(axis)}});
}

InstrId HloGenerator::Reverse() {
  const InstrId value = Pick(kAnything, 1);
  Dims dims;
  for (int64_t i = 0; i < ShapeOf(value).rank(); ++i)
    if (Chance(60)) dims.push_back(i);
  return Add(Op::kReverse, {value}, DimsAttrs{dims});
}

// Starts are clamped, so any integers do.
InstrId HloGenerator::Gather() {
  const InstrId operand = Pick(kAnything, 1, 4);
  const Dims dims = ShapeOf(operand).dims;
  GatherAttrs attrs;
  Dims batch;
  for (int64_t i = Between(0, 2); i > 0; --i) batch.push_back(Between(1, 4));
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool indexed = Chance(60);
    if (indexed) attrs.start_index_map.push_back(static_cast<int64_t>(i));
    const bool collapsed = dims[i] > 0 && Chance(40);
    attrs.slice_sizes.push_back(collapsed || dims[i] == 0 ? std::min<int64_t>(dims[i], 1)
                                                          : Between(indexed ? 1 : 0, dims[i]));
    if (collapsed) attrs.collapsed_slice_dims.push_back(static_cast<int64_t>(i));
  }
  attrs.start_index_map = Shuffled(attrs.start_index_map);
  // Which dims of the result hold the slice.
  const size_t offsets = dims.size() - attrs.collapsed_slice_dims.size();
  Dims positions(offsets + batch.size());
  std::iota(positions.begin(), positions.end(), 0);
  positions = Shuffled(positions);
  attrs.offset_dims.assign(positions.begin(), positions.begin() + static_cast<int64_t>(offsets));
  std::sort(attrs.offset_dims.begin(), attrs.offset_dims.end());
  attrs.index_vector_dim = static_cast<int64_t>(batch.size());
  const auto vector_size = static_cast<int64_t>(attrs.start_index_map.size());
  Dims index_dims = batch;
  if (vector_size != 1 || Chance(50)) {
    attrs.index_vector_dim = Between(0, attrs.index_vector_dim);
    index_dims.insert(index_dims.begin() + attrs.index_vector_dim, vector_size);
  }
  const InstrId indices = Like(Chance(70) ? DType::kS32 : PickType(kIntegers), index_dims);
  return Add(Op::kGather, {operand, indices}, std::move(attrs));
}

InstrId HloGenerator::DynamicSlice() {
  const InstrId value = Pick(kAnything, 1);
  const Dims dims = ShapeOf(value).dims;
  Dims sizes;
  std::vector<InstrId> operands{value};
  const DType index = Chance(70) ? DType::kS32 : PickType(kIntegers);
  for (const int64_t dim : dims) {
    sizes.push_back(Between(dim > 0 && Chance(95) ? 1 : 0, dim));
    operands.push_back(Chance(50) ? Like(index, {}) : Scalar(index, 1));
  }
  return Add(Op::kDynamicSlice, operands, DimsAttrs{sizes});
}

InstrId HloGenerator::DynamicUpdateSlice() {
  const InstrId value = Pick(kAnything, 1);
  const Shape shape = ShapeOf(value);
  Dims sizes;
  const DType index = Chance(70) ? DType::kS32 : PickType(kIntegers);
  for (const int64_t dim : shape.dims) sizes.push_back(Between(dim > 0 ? 1 : 0, dim));
  std::vector<InstrId> operands{value, Like(shape.dtype, sizes)};
  for (size_t i = 0; i < sizes.size(); ++i)
    operands.push_back(Chance(50) ? Like(index, {}) : Scalar(index, 1));
  return Add(Op::kDynamicUpdateSlice, operands);
}

// The combiner overwrites or accumulates; windows that leave the operand are dropped.
InstrId HloGenerator::Scatter() {
  const InstrId operand = Pick(kAnything, 1, 4);
  const Shape shape = ShapeOf(operand);
  ScatterAttrs attrs;
  Dims batch, window;
  for (int64_t i = Between(0, 2); i > 0; --i) batch.push_back(Between(1, 4));
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const int64_t dim = shape.dims[i];
    if (Chance(60)) attrs.scatter_dims_to_operand_dims.push_back(static_cast<int64_t>(i));
    if (dim > 0 && Chance(50)) {
      attrs.inserted_window_dims.push_back(static_cast<int64_t>(i));
    } else {
      window.push_back(Between(dim > 0 ? 1 : 0, dim));
    }
  }
  attrs.scatter_dims_to_operand_dims = Shuffled(attrs.scatter_dims_to_operand_dims);
  Dims positions(window.size() + batch.size());
  std::iota(positions.begin(), positions.end(), 0);
  positions = Shuffled(positions);
  attrs.update_window_dims.assign(positions.begin(),
                                  positions.begin() + static_cast<int64_t>(window.size()));
  std::sort(attrs.update_window_dims.begin(), attrs.update_window_dims.end());
  Dims update_dims;
  for (size_t at = 0, w = 0, b = 0; at < positions.size(); ++at) {
    const auto& windows = attrs.update_window_dims;
    const bool is_window =
        std::find(windows.begin(), windows.end(), static_cast<int64_t>(at)) != windows.end();
    update_dims.push_back(is_window ? window[w++] : batch[b++]);
  }
  const auto vector_size = static_cast<int64_t>(attrs.scatter_dims_to_operand_dims.size());
  attrs.index_vector_dim = Between(0, static_cast<int64_t>(batch.size()));
  Dims index_dims = batch;
  index_dims.insert(index_dims.begin() + attrs.index_vector_dim, vector_size);
  const InstrId indices = Like(DType::kS32, index_dims);
  const InstrId updates = Like(shape.dtype, update_dims);
  const Op op = Chance(30) ? Op::kParameter : CombinerOp(shape.dtype);
  return Add(Op::kScatter, {operand, indices, updates}, std::move(attrs),
             {Combiner(op, shape.dtype)});
}

}  // namespace fusemark
