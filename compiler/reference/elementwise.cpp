// Elementwise instructions over whole tensors: decode a block of each operand, compute, encode.
#include <algorithm>
#include <cstring>

#include "compiler/reference/context.h"
#include "compiler/reference/lane_ops.h"
#include "compiler/reference/region.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

// A block of one operand; a scalar operand of a larger result (select, clamp) is spread once.
class OperandBlocks {
 public:
  OperandBlocks(const Tensor& tensor, int64_t count)
      : tensor_(tensor),
        spread_(tensor.shape.dims.empty() && count != 1),
        buffer_(spread_ ? kBlock : std::min(count, kBlock), KindOf(tensor.shape.dtype)) {
    if (!spread_) return;
    const auto size = static_cast<size_t>(LaneSize(tensor.shape.dtype));
    auto* lanes = buffer_.as<std::byte>();
    Decode(tensor.shape.dtype, tensor.data.get(), 1, lanes);
    for (size_t i = 1; i < kBlock; ++i) std::memcpy(lanes + i * size, lanes, size);
  }

  const void* Load(int64_t first, int64_t n) {
    const DType dtype = tensor_.shape.dtype;
    if (!spread_) Decode(dtype, tensor_.data.get() + first * ByteSize(dtype), n, buffer_.data());
    return buffer_.data();
  }

 private:
  const Tensor& tensor_;
  bool spread_;
  LaneBuffer buffer_;
};

// Calls f(first, n, operand lanes) for every block of `count` elements.
template <class F>
void ForBlocks(int64_t count, Operands operands, F f) {
  std::vector<OperandBlocks> blocks;
  blocks.reserve(operands.size());
  for (const Tensor* operand : operands) blocks.emplace_back(*operand, count);
  std::vector<const void*> lanes(operands.size());
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    for (size_t i = 0; i < operands.size(); ++i) lanes[i] = blocks[i].Load(first, n);
    f(first, n, lanes);
  }
}

Tensor CopyBytes(const Shape& shape, const Tensor& source) {
  Tensor result = MakeTensor(shape, false);
  std::memcpy(result.data.get(), source.data.get(), static_cast<size_t>(source.size_bytes()));
  return result;
}

// One picked element per position, as raw bytes: NaN payloads pass unchanged.
Tensor Select(const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape, false);
  const int64_t count = ElementCount(instr.shape);
  const auto size = static_cast<size_t>(ByteSize(instr.shape.dtype));
  const auto* pred = operands[0]->as<uint8_t>();
  const bool one_pred = operands[0]->shape.dims.empty();
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& picked = pred[one_pred ? 0 : i] != 0 ? *operands[1] : *operands[2];
    const auto offset = static_cast<size_t>(i) * size;
    std::memcpy(result.data.get() + offset, picked.data.get() + offset, size);
  }
  return result;
}

// Bits move unchanged between types of any width, element 0 in the low bits. Sub-byte integers are
// held one per byte, so they are spread over bits and gathered again.
Tensor BitcastConvert(const Instr& instr, const Tensor& source) {
  const int from_bits = BitWidth(source.shape.dtype);
  const int to_bits = BitWidth(instr.shape.dtype);
  if (from_bits >= 8 && to_bits >= 8) return CopyBytes(instr.shape, source);
  if (from_bits == to_bits) {
    Tensor result = MakeTensor(instr.shape);
    LaneBuffer lanes(1);
    // Through lanes of the target class: sign extension differs between s4 and u4.
    for (int64_t i = 0; i < ElementCount(instr.shape); ++i) {
      *lanes.as<uint64_t>() = source.as<uint8_t>()[i];
      Encode(instr.shape.dtype, lanes.data(), 1, result.data.get() + i);
    }
    return result;
  }
  const auto from_step = static_cast<int64_t>(from_bits);
  std::vector<bool> bits;
  for (int64_t i = 0; i < ElementCount(source.shape); ++i) {
    const std::byte* element = source.data.get() + i * ByteSize(source.shape.dtype);
    for (int64_t b = 0; b < from_step; ++b)
      bits.push_back(((static_cast<uint8_t>(element[b / 8]) >> (b % 8)) & 1) != 0);
  }
  Tensor result = MakeTensor(instr.shape);
  for (int64_t i = 0; i < ElementCount(instr.shape); ++i) {
    auto* element = result.as<uint8_t>() + i * ByteSize(instr.shape.dtype);
    for (int b = 0; b < to_bits; ++b)
      if (bits[static_cast<size_t>(i * to_bits + b)])
        element[b / 8] = static_cast<uint8_t>(element[b / 8] | (1U << (b % 8)));
    if (IsSigned(instr.shape.dtype) && to_bits < 8 && ((element[0] >> (to_bits - 1)) & 1) != 0)
      element[0] = static_cast<uint8_t>(element[0] | (0xffU << to_bits));
  }
  return result;
}

}  // namespace

namespace {

// Loops of scalar instructions are common: no allocation but the result's.
constexpr int64_t kFew = 16;

void EvalFew(const Instr& instr, Operands operands, int64_t count, Tensor& result) {
  alignas(16) std::byte room[4][kFew * 16];
  DType types[3] = {};
  const void* lanes[3] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor& operand = *operands[i];
    types[i] = operand.shape.dtype;
    lanes[i] = room[i];
    const int64_t given = ElementCount(operand.shape), size = LaneSize(types[i]);
    Decode(types[i], operand.data.get(), given, room[i]);
    for (int64_t k = given; k < count; ++k)  // a scalar spread over the result
      std::memcpy(room[i] + k * size, room[i], static_cast<size_t>(size));
  }
  const size_t arity = operands.size();
  ApplyLanes(instr, {types, arity}, {lanes, arity}, count, room[3]);
  Encode(instr.shape.dtype, room[3], count, result.data.get());
}

}  // namespace

Tensor EvalElementwise(const Instr& instr, Operands operands) {
  if (instr.op == Op::kCopy) return CopyBytes(instr.shape, *operands[0]);
  if (instr.op == Op::kSelect) return Select(instr, operands);
  if (instr.op == Op::kBitcastConvert) return BitcastConvert(instr, *operands[0]);
  Tensor result = MakeTensor(instr.shape, false);
  const DType dtype = instr.shape.dtype;
  const int64_t count = ElementCount(instr.shape);
  if (count <= kFew) {
    EvalFew(instr, operands, count, result);
    return result;
  }
  std::vector<DType> types;
  for (const Tensor* operand : operands) types.push_back(operand->shape.dtype);
  LaneBuffer out(std::min(count, kBlock), KindOf(dtype));
  ForBlocks(count, operands, [&](int64_t first, int64_t n, const std::vector<const void*>& lanes) {
    ApplyLanes(instr, types, lanes, n, out.data());
    Encode(dtype, out.data(), n, result.data.get() + first * ByteSize(dtype));
  });
  return result;
}

Tensors EvalMap(const Context& context, const Instr& instr, Operands operands) {
  Region region(context, instr.called[0]);
  Tensors results;
  results.push_back(MakeTensor(instr.shape, false));
  const DType dtype = instr.shape.dtype;
  ForBlocks(ElementCount(instr.shape), operands,
            [&](int64_t first, int64_t n, const std::vector<const void*>& lanes) {
              region.Run(n, lanes);
              Encode(dtype, region.result(0), n, results[0].data.get() + first * ByteSize(dtype));
            });
  return results;
}

}  // namespace fusemark::reference
