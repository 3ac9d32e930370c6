// Data movement of the emitter: instructions that are an index map on their operands.
#include <algorithm>

#include "compiler/loops/lower_expr.h"
#include "compiler/support/check.h"

namespace fusemark::loops {
namespace {

bool Contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

size_t At(int64_t dim) {
  return static_cast<size_t>(dim);
}

Dims MajorToMinor(const Shape& shape) {
  Dims order(shape.dims.size());
  const bool written = shape.layout && shape.layout->minor_to_major.size() == order.size();
  for (size_t i = 0; i < order.size(); ++i)
    order[i] =
        written ? shape.layout->minor_to_major[order.size() - 1 - i] : static_cast<int64_t>(i);
  return order;
}

}  // namespace

Value Emitter::Movement(InstrId id, const Indices& indices) {
  const Instr& in = instr(id);
  const auto operand_dims = [&]() -> const std::vector<int64_t>& {
    return instr(in.operands[0]).shape.dims;
  };
  Indices mapped;
  switch (in.op) {
    case Op::kBroadcast: return Broadcast(in, indices);
    case Op::kIota: {
      const Affine& position = indices[At(in.As<DimsAttrs>().dims[0])];
      const Value count = Bind("n", DType::kS64, Expr(position));
      return ConvertValue(in, count);
    }
    case Op::kReshape:
      if (!Inlined(in.operands[0]) && !SplatConstant(in.operands[0]))
        return LoadOperand(in.operands[0], indices, in.shape.dims);
      mapped = MapReshape(indices, in.shape.dims, operand_dims());
      return Emit(in.operands[0], mapped);
    case Op::kBitcast: return Reinterpret(in, indices);
    case Op::kTranspose: {
      const Dims& permutation = in.As<DimsAttrs>().dims;
      mapped.resize(indices.size());
      for (size_t i = 0; i < indices.size(); ++i) mapped[At(permutation[i])] = indices[i];
      return Emit(in.operands[0], mapped);
    }
    case Op::kSlice: {
      const auto& slice = in.As<SliceAttrs>();
      for (size_t i = 0; i < indices.size(); ++i)
        mapped.push_back(indices[i] * slice.stride[i] + slice.start[i]);
      return Emit(in.operands[0], mapped);
    }
    case Op::kReverse: {
      mapped = indices;
      for (const int64_t dim : in.As<DimsAttrs>().dims)
        mapped[At(dim)] = ConstantIndex(in.shape.dims[At(dim)] - 1) - indices[At(dim)];
      return Emit(in.operands[0], mapped);
    }
    case Op::kPad: return Pad(in, indices);
    case Op::kConcatenate: return Concatenate(in, indices);
    case Op::kGather: return Gather(in, indices);
    case Op::kDynamicSlice: return DynamicSlice(in, indices);
    case Op::kBitcastConvert: return WideBitcast(in, indices);
    default: FM_CHECK(false, "no index map for " + std::string(OpName(in.op)));
  }
  return {};
}

// Same bytes, read with another shape, layout or type: dims from major to minor as they lie in
// memory make it a reshape between two permutations.
Value Emitter::Reinterpret(const Instr& in, const Indices& indices) {
  const Shape& operand = instr(in.operands[0]).shape;
  const Dims to = MajorToMinor(in.shape), from = MajorToMinor(operand);
  std::vector<int64_t> to_dims, from_dims;
  Indices physical, mapped(operand.dims.size());
  for (const int64_t dim : to) {
    to_dims.push_back(in.shape.dims[At(dim)]);
    physical.push_back(indices[At(dim)]);
  }
  for (const int64_t dim : from) from_dims.push_back(operand.dims[At(dim)]);
  physical = MapReshape(physical, to_dims, from_dims);
  for (size_t i = 0; i < from.size(); ++i) mapped[At(from[i])] = physical[i];
  return BitcastValue(in, Emit(in.operands[0], mapped));
}

Value Emitter::Broadcast(const Instr& in, const Indices& indices) {
  Indices mapped;
  const auto* attrs = std::get_if<DimsAttrs>(&in.attrs);
  if (attrs != nullptr) {
    for (const int64_t dim : attrs->dims) mapped.push_back(indices[At(dim)]);
  }
  return Emit(in.operands[0], mapped);
}

// select(inside, operand[clamped], padding): both sides are evaluated, so the index is clamped.
Value Emitter::Pad(const Instr& in, const Indices& indices) {
  const auto& pad = in.As<PadAttrs>();
  const auto& dims = instr(in.operands[0]).shape.dims;
  const Value padding = Emit(in.operands[1], {});
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return padding;
  std::optional<ExprId> inside;
  const auto require = [&](ExprId condition) {
    inside = inside ? builder_.Binary(Op::kAnd, *inside, condition) : condition;
  };
  Indices mapped;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t step = pad.interior[i] + 1, last = (dims[i] - 1) * step;
    const Affine position = indices[i] + -pad.low[i];
    const Range range = RangeOf(position);
    if (range.hi < 0 || range.lo > last) return padding;
    if (const auto condition = InRange(position, 0, last)) require(*condition);
    const Affine clamped = Clamp(position, 0, last);
    if (step > 1) {
      const Affine offset = Mod(clamped, step);
      if (!offset.is_constant()) {
        require(builder_.Compare(Direction::kEq, Expr(offset), builder_.Index(0)));
      } else if (offset.constant != 0) {
        return padding;
      }
    }
    mapped.push_back(Div(clamped, step));
  }
  const Value value = Emit(in.operands[0], mapped);
  return inside ? Select(in.name, *inside, value, padding) : value;
}

Value Emitter::Concatenate(const Instr& in, const Indices& indices) {
  const size_t dim = At(in.As<DimsAttrs>().dims[0]);
  const Range range = RangeOf(indices[dim]);
  std::optional<Value> result;
  int64_t end = in.shape.dims[dim];
  // From the last piece backwards: result = index < end of piece ? piece : result.
  for (size_t piece = in.operands.size(); piece-- > 0;) {
    const int64_t size = instr(in.operands[piece]).shape.dims[dim];
    const int64_t begin = end - size;
    if (size > 0 && range.hi >= begin && range.lo < end) {
      Indices mapped = indices;
      mapped[dim] = Clamp(indices[dim] + -begin, 0, size - 1);
      const Value value = Emit(in.operands[piece], mapped);
      if (!result) {
        result = value;
      } else {
        const ExprId here =
            builder_.Compare(Direction::kLt, Expr(indices[dim]), builder_.Index(end));
        result = Select(in.name, here, value, *result);
      }
    }
    end = begin;
  }
  return *result;
}

Value Emitter::DynamicSlice(const Instr& in, const Indices& indices) {
  const auto& dims = instr(in.operands[0]).shape.dims;
  Indices mapped;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t high = dims[i] - in.shape.dims[i];
    const Value start = high > 0 ? Emit(in.operands[i + 1], {}) : Constant(DType::kS32, 0);
    mapped.push_back(ClampedStart(start, high) + indices[i]);
  }
  return Emit(in.operands[0], mapped);
}

Value Emitter::Gather(const Instr& in, const Indices& indices) {
  const auto& gather = in.As<GatherAttrs>();
  const auto& dims = instr(in.operands[0]).shape.dims;
  const auto& start_dims = instr(in.operands[1]).shape.dims;
  Indices batch, offsets;
  for (size_t i = 0; i < indices.size(); ++i)
    (Contains(gather.offset_dims, static_cast<int64_t>(i)) ? offsets : batch).push_back(indices[i]);

  // Position in start_indices without the index vector dim.
  const auto start_at = [&](int64_t component) {
    Indices at = batch;
    if (gather.index_vector_dim < static_cast<int64_t>(start_dims.size()))
      at.insert(at.begin() + gather.index_vector_dim, ConstantIndex(component));
    return at;
  };
  Indices mapped;
  size_t next_offset = 0;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    const auto d = static_cast<int64_t>(dim);
    Affine position = ConstantIndex(0);
    const auto start = std::find(gather.start_index_map.begin(), gather.start_index_map.end(), d);
    const auto pair =
        std::find(gather.operand_batching_dims.begin(), gather.operand_batching_dims.end(), d);
    if (start != gather.start_index_map.end()) {
      const int64_t high = dims[dim] - gather.slice_sizes[dim];
      if (high > 0)
        position = ClampedStart(
            Emit(in.operands[1], start_at(start - gather.start_index_map.begin())), high);
    } else if (pair != gather.operand_batching_dims.end()) {
      int64_t of_start =
          gather.start_indices_batching_dims[At(pair - gather.operand_batching_dims.begin())];
      if (of_start > gather.index_vector_dim) --of_start;
      position = batch[At(of_start)];
    }
    const bool sliced =
        !Contains(gather.collapsed_slice_dims, d) && pair == gather.operand_batching_dims.end();
    mapped.push_back(sliced ? position + offsets[next_offset++] : position);
  }
  return Emit(in.operands[0], mapped);
}

// bitcast-convert between widths: a minor-most dim appears or goes; element 0 holds the low bits.
Value Emitter::WideBitcast(const Instr& in, const Indices& indices) {
  const InstrId operand = in.operands[0];
  const DType to = in.shape.dtype, from = instr(operand).shape.dtype;
  const int to_bits = BitWidth(to), from_bits = BitWidth(from);
  const auto unsigned_of = [](int bits) {
    return bits == 64   ? DType::kU64
           : bits == 32 ? DType::kU32
           : bits == 16 ? DType::kU16
                        : DType::kU8;
  };
  if (from_bits > to_bits) {
    const Value wide = Emit(operand, Indices(indices.begin(), indices.end() - 1));
    const DType type = unsigned_of(from_bits);
    const ExprId amount = builder_.Convert(builder_.Mul(Expr(indices.back()), to_bits), type);
    const ExprId shifted = builder_.Binary(Op::kShiftRightLogical, BitsOf(wide), amount);
    return Bind(in.name, to, FromBits(to, builder_.Convert(shifted, unsigned_of(to_bits))));
  }
  const DType type = unsigned_of(to_bits);
  std::optional<ExprId> bits;
  for (int64_t part = 0; part < to_bits / from_bits; ++part) {
    Indices at = indices;
    at.push_back(ConstantIndex(part));
    const ExprId piece = builder_.Convert(BitsOf(Emit(operand, at)), type);
    const ExprId shifted = builder_.Binary(
        Op::kShiftLeft, piece, builder_.Constant(type, static_cast<uint64_t>(part * from_bits)));
    bits = bits ? builder_.Binary(Op::kOr, *bits, shifted) : shifted;
  }
  return Bind(in.name, to, FromBits(to, *bits));
}

}  // namespace fusemark::loops
