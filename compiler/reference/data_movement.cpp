// Instructions that only move elements: each is one strided copy of raw bytes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/reference/context.h"
#include "compiler/reference/indices.h"
#include "compiler/reference/lane_ops.h"
#include "compiler/reference/strided.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

std::vector<int64_t> StridesOf(const Tensor& tensor) {
  return RowMajorStrides(tensor.shape.dims);
}

// The whole result is read from `source` + offset with the given strides.
Tensor ReadStrided(const Instr& instr, const Tensor& source, int64_t offset,
                   const std::vector<int64_t>& strides) {
  Tensor result = MakeTensor(instr.shape, false);
  const int64_t size = ByteSize(instr.shape.dtype);
  CopyStrided(size, instr.shape.dims, source.data.get() + offset * size, strides, result.data.get(),
              StridesOf(result));
  return result;
}

Tensor Broadcast(const Instr& instr, const Tensor& source) {
  std::vector<int64_t> strides(instr.shape.dims.size(), 0);
  const std::vector<int64_t> from = StridesOf(source);
  const Dims& mapping = instr.As<DimsAttrs>().dims;
  for (size_t i = 0; i < mapping.size(); ++i) strides[static_cast<size_t>(mapping[i])] = from[i];
  return ReadStrided(instr, source, 0, strides);
}

Tensor Transpose(const Instr& instr, const Tensor& source) {
  const std::vector<int64_t> from = StridesOf(source);
  std::vector<int64_t> strides;
  for (int64_t d : instr.As<DimsAttrs>().dims) strides.push_back(from[static_cast<size_t>(d)]);
  return ReadStrided(instr, source, 0, strides);
}

Tensor Slice(const Instr& instr, const Tensor& source) {
  const auto& attrs = instr.As<SliceAttrs>();
  std::vector<int64_t> strides = StridesOf(source);
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += attrs.start[d] * strides[d];
    strides[d] *= attrs.stride[d];
  }
  return ReadStrided(instr, source, offset, strides);
}

Tensor Reverse(const Instr& instr, const Tensor& source) {
  std::vector<int64_t> strides = StridesOf(source);
  int64_t offset = 0;
  for (int64_t dim : instr.As<DimsAttrs>().dims) {
    const auto d = static_cast<size_t>(dim);
    offset += std::max<int64_t>(source.shape.dims[d] - 1, 0) * strides[d];
    strides[d] = -strides[d];
  }
  return ReadStrided(instr, source, offset, strides);
}

Tensor Concatenate(const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape, false);
  const auto dim = static_cast<size_t>(instr.As<DimsAttrs>().dims[0]);
  const int64_t size = ByteSize(instr.shape.dtype);
  const std::vector<int64_t> strides = StridesOf(result);
  std::byte* target = result.data.get();
  for (const Tensor* operand : operands) {
    CopyStrided(size, operand->shape.dims, operand->data.get(), StridesOf(*operand), target,
                strides);
    target += operand->shape.dims[dim] * strides[dim] * size;
  }
  return result;
}

// Fills a tensor with one element.
void Fill(Tensor& tensor, const std::byte* element) {
  const std::vector<int64_t> zeros(tensor.shape.dims.size(), 0);
  CopyStrided(ByteSize(tensor.shape.dtype), tensor.shape.dims, element, zeros, tensor.data.get(),
              StridesOf(tensor));
}

Tensor Pad(const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<PadAttrs>();
  const Tensor& source = *operands[0];
  Tensor result = MakeTensor(instr.shape, false);
  Fill(result, operands[1]->data.get());
  const std::vector<int64_t> from = StridesOf(source);
  std::vector<int64_t> to = StridesOf(result);
  std::vector<int64_t> counts;
  int64_t source_offset = 0, target_offset = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    // Element i lands at low + i * step; a negative edge crops those that fall outside.
    const int64_t step = attrs.interior[d] + 1, low = attrs.low[d];
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = instr.shape.dims[d] - 1 - low;
    const int64_t last = std::min(source.shape.dims[d] - 1, room < 0 ? -1 : room / step);
    counts.push_back(std::max<int64_t>(last - first + 1, 0));
    source_offset += first * from[d];
    target_offset += (low + first * step) * to[d];
    to[d] *= step;
  }
  if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return result;
  const int64_t size = ByteSize(instr.shape.dtype);
  CopyStrided(size, counts, source.data.get() + source_offset * size, from,
              result.data.get() + target_offset * size, to);
  return result;
}

// Counts exactly as integers, then converts: no accumulated rounding.
Tensor Iota(const Instr& instr) {
  const auto dim = static_cast<size_t>(instr.As<DimsAttrs>().dims[0]);
  const DType dtype = instr.shape.dtype;
  Tensor row = MakeTensor(ArrayShape(dtype, {instr.shape.dims[dim]}));
  LaneBuffer counter(1), value(1);
  for (int64_t i = 0; i < instr.shape.dims[dim]; ++i) {
    *counter.as<int64_t>() = i;
    ConvertLanes(DType::kS64, dtype, counter.data(), 1, value.data());
    Encode(dtype, value.data(), 1, row.data.get() + i * ByteSize(dtype));
  }
  std::vector<int64_t> strides(instr.shape.dims.size(), 0);
  strides[dim] = 1;
  return ReadStrided(instr, row, 0, strides);
}

// Offset of a block of the given sizes whose start indices are clamped into the array.
int64_t ClampedOffset(Operands starts, const std::vector<int64_t>& dims,
                      const std::vector<int64_t>& sizes) {
  std::vector<int64_t> at;
  for (const Tensor* start : starts)
    for (int64_t index : ReadIndices(*start)) at.push_back(index);  // scalars, or one old vector
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    offset += std::clamp<int64_t>(at[d], 0, dims[d] - sizes[d]) * strides[d];
  return offset;
}

Tensor Reshape(const Instr& instr, const Tensor& source) {
  Tensor result = MakeTensor(instr.shape, false);
  std::memcpy(result.data.get(), source.data.get(), static_cast<size_t>(result.size_bytes()));
  return result;
}

}  // namespace

std::vector<int64_t> ReadIndices(const Tensor& tensor) {
  const int64_t count = ElementCount(tensor.shape);
  std::vector<int64_t> indices(static_cast<size_t>(count));
  if (KindOf(tensor.shape.dtype) == Kind::kInt) {
    Decode(tensor.shape.dtype, tensor.data.get(), count, indices.data());
    return indices;
  }
  std::vector<uint64_t> lanes(static_cast<size_t>(count));
  Decode(tensor.shape.dtype, tensor.data.get(), count, lanes.data());
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < lanes.size(); ++i)
    indices[i] = static_cast<int64_t>(std::min(lanes[i], kLargest));
  return indices;
}

Tensor EvalDataMovement(const Instr& instr, Operands operands) {
  switch (instr.op) {
    case Op::kBroadcast: return Broadcast(instr, *operands[0]);
    case Op::kReshape: return Reshape(instr, *operands[0]);
    case Op::kTranspose: return Transpose(instr, *operands[0]);
    case Op::kSlice: return Slice(instr, *operands[0]);
    case Op::kReverse: return Reverse(instr, *operands[0]);
    case Op::kConcatenate: return Concatenate(instr, operands);
    case Op::kIota: return Iota(instr);
    case Op::kPad: return Pad(instr, operands);
    case Op::kDynamicSlice: {
      const auto& dims = operands[0]->shape.dims;
      const int64_t offset = ClampedOffset(operands.subspan(1), dims, instr.shape.dims);
      return ReadStrided(instr, *operands[0], offset, RowMajorStrides(dims));
    }
    default: FM_CHECK(false, std::string(OpName(instr.op)));
  }
}

// `bitcast` reinterprets memory, so layouts count: the bytes of the operand in its layout are the
// bytes of the result in its own.
Tensor EvalBitcast(const Instr& instr, const Tensor& source, const Shape& from) {
  const auto physical_strides = [](const Shape& shape) {
    std::vector<int64_t> strides(shape.dims.size(), 1);
    if (!shape.layout || shape.layout->minor_to_major.size() != shape.dims.size())
      return RowMajorStrides(shape.dims);
    int64_t stride = 1;
    for (int64_t d : shape.layout->minor_to_major) {
      strides[static_cast<size_t>(d)] = stride;
      stride *= shape.dims[static_cast<size_t>(d)];
    }
    return strides;
  };
  Tensor memory = MakeTensor(ArrayShape(source.shape.dtype, {ElementCount(source.shape)}), false);
  CopyStrided(ByteSize(source.shape.dtype), source.shape.dims, source.data.get(), StridesOf(source),
              memory.data.get(), physical_strides(from));
  return ReadStrided(instr, memory, 0, physical_strides(instr.shape));
}

Tensor EvalDynamicUpdateSlice(Operands operands, Tensor base) {
  const Tensor& update = *operands[1];
  const int64_t size = ByteSize(base.shape.dtype);
  const int64_t offset = ClampedOffset(operands.subspan(2), base.shape.dims, update.shape.dims);
  CopyStrided(size, update.shape.dims, update.data.get(), StridesOf(update),
              base.data.get() + offset * size, StridesOf(base));
  return base;
}

}  // namespace fusemark::reference
