#include <algorithm>
#include <cstring>

#include "compiler/passes/simplify_algebra.h"

namespace fusemark {
namespace {

// slice(broadcast(x)) where only spread dims are cut: a smaller broadcast.
Step SliceOfBroadcast(const Builder& builder, Instr& instr) {
  const Instr& broadcast = builder[instr.operands[0]];
  const Dims& dims = broadcast.As<DimsAttrs>().dims;
  const bool untouched = std::all_of(dims.begin(), dims.end(), [&](int64_t d) {
    const auto i = static_cast<size_t>(d);
    return broadcast.shape.dims[i] == instr.shape.dims[i];
  });
  if (!untouched) return Leave();
  return Become(instr, Op::kBroadcast, broadcast.operands, DimsAttrs{dims});
}

// slice(concatenate(a, b, c)) that lies within one piece: a slice of that piece.
Step SliceOfConcatenate(const Builder& builder, Instr& instr) {
  const Instr& concatenate = builder[instr.operands[0]];
  const auto dim = static_cast<size_t>(concatenate.As<DimsAttrs>().dims[0]);
  SliceAttrs attrs = instr.As<SliceAttrs>();
  int64_t begin = 0;
  for (InstrId piece : concatenate.operands) {
    const int64_t end = begin + builder[piece].shape.dims[dim];
    if (attrs.start[dim] >= begin && attrs.limit[dim] <= end && begin < end) {
      attrs.start[dim] -= begin;
      attrs.limit[dim] -= begin;
      return Become(instr, Op::kSlice, {piece}, std::move(attrs));
    }
    begin = end;
  }
  return Leave();
}

Step SimplifySlice(const Builder& builder, Instr& instr) {
  const Instr& inner = builder[instr.operands[0]];
  if (inner.shape.dims == instr.shape.dims) return Use(instr.operands[0]);
  switch (inner.op) {
    case Op::kSlice: {
      SliceAttrs composed = instr.As<SliceAttrs>();
      const auto& first = inner.As<SliceAttrs>();
      for (size_t d = 0; d < composed.start.size(); ++d) {
        const int64_t last = composed.start[d] + (instr.shape.dims[d] - 1) * composed.stride[d];
        composed.start[d] = first.start[d] + composed.start[d] * first.stride[d];
        composed.stride[d] *= first.stride[d];
        // The last element taken decides the limit; an empty result keeps an empty range.
        composed.limit[d] = instr.shape.dims[d] == 0 ? composed.start[d]
                                                     : first.start[d] + last * first.stride[d] + 1;
      }
      return Become(instr, Op::kSlice, inner.operands, std::move(composed));
    }
    case Op::kBroadcast: return SliceOfBroadcast(builder, instr);
    case Op::kConcatenate: return SliceOfConcatenate(builder, instr);
    default: return Leave();
  }
}

Step SimplifyConcatenate(const Builder& builder, Instr& instr) {
  if (instr.operands.size() == 1) return Use(instr.operands[0]);
  const auto dim = static_cast<size_t>(instr.As<DimsAttrs>().dims[0]);
  std::vector<InstrId> pieces;
  for (InstrId piece : instr.operands) {
    if (builder[piece].shape.dims[dim] != 0) pieces.push_back(piece);
  }
  if (pieces.size() < instr.operands.size() && !pieces.empty()) {
    return Become(instr, Op::kConcatenate, std::move(pieces), instr.As<DimsAttrs>());
  }
  // All pieces spread one and the same scalar.
  const Instr& first = builder[instr.operands[0]];
  if (first.op != Op::kBroadcast || !builder[first.operands[0]].shape.dims.empty()) return Leave();
  for (InstrId piece : instr.operands) {
    const Instr& other = builder[piece];
    if (other.op != Op::kBroadcast || other.operands != first.operands) return Leave();
  }
  return Become(instr, Op::kBroadcast, first.operands, DimsAttrs{});
}

Step SimplifyPad(Instr& instr) {
  const auto& attrs = instr.As<PadAttrs>();
  const auto none = [](const Dims& dims) {
    return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d == 0; });
  };
  const bool nothing = none(attrs.low) && none(attrs.high) && none(attrs.interior);
  return nothing ? Use(instr.operands[0]) : Leave();
}

// The value of a constant integer scalar that fits in int64.
std::optional<int64_t> ConstantIndex(const Builder& builder, InstrId id) {
  const Literal* literal = SplatOf(builder, id);
  const DType dtype = builder[id].shape.dtype;
  if (literal == nullptr || !IsInteger(dtype)) return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, literal->data->data(), literal->data->size());
  const int width = static_cast<int>(ByteSize(dtype)) * 8;
  if (IsSigned(dtype)) {
    const auto shifted = static_cast<int64_t>(bits << (64 - width));
    return shifted >> (64 - width);
  }
  if (static_cast<int64_t>(bits) < 0) return std::nullopt;
  return static_cast<int64_t>(bits);
}

Step SimplifyDynamicSlice(const Builder& builder, Instr& instr) {
  const Shape& operand = builder[instr.operands[0]].shape;
  // A slice of full size starts at 0 whatever is asked, because starts are clamped.
  if (operand.dims == instr.shape.dims) return Use(instr.operands[0]);
  if (instr.operands.size() != operand.dims.size() + 1) return Leave();
  SliceAttrs attrs;
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    const int64_t room = operand.dims[d] - instr.shape.dims[d];
    std::optional<int64_t> start = 0;
    if (room > 0) start = ConstantIndex(builder, instr.operands[d + 1]);
    if (!start) return Leave();
    attrs.start.push_back(std::clamp<int64_t>(*start, 0, room));
    attrs.limit.push_back(attrs.start.back() + instr.shape.dims[d]);
    attrs.stride.push_back(1);
  }
  return Become(instr, Op::kSlice, {instr.operands[0]}, std::move(attrs));
}

}  // namespace

Step SimplifySlicing(Builder& builder, Instr& instr) {
  switch (instr.op) {
    case Op::kSlice: return SimplifySlice(builder, instr);
    case Op::kConcatenate: return SimplifyConcatenate(builder, instr);
    case Op::kPad: return SimplifyPad(instr);
    case Op::kDynamicSlice: return SimplifyDynamicSlice(builder, instr);
    case Op::kDynamicUpdateSlice:
      // An update of full size overwrites everything (its start is clamped to 0).
      if (builder[instr.operands[1]].shape.dims == instr.shape.dims) return Use(instr.operands[1]);
      return Leave();
    default: return Leave();
  }
}

}  // namespace fusemark
