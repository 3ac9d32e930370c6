#include "compiler/reference/lanes.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/ir/number.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

// f(storage element) -> lane, over n elements.
template <class Storage, class Lane, class F>
void DecodeAll(const std::byte* source, int64_t n, void* lanes, F f) {
  const auto* from = reinterpret_cast<const Storage*>(source);
  auto* to = static_cast<Lane*>(lanes);
  for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
}

template <class Lane, class Storage, class F>
void EncodeAll(const void* lanes, int64_t n, std::byte* target, F f) {
  const auto* from = static_cast<const Lane*>(lanes);
  auto* to = reinterpret_cast<Storage*>(target);
  for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
}

template <class Storage, class Lane>
void Widen(const std::byte* source, int64_t n, void* lanes) {
  DecodeAll<Storage, Lane>(source, n, lanes, [](Storage x) { return static_cast<Lane>(x); });
}

template <class Lane, class Storage>
void Narrow(const void* lanes, int64_t n, std::byte* target) {
  EncodeAll<Lane, Storage>(lanes, n, target, [](Lane x) { return static_cast<Storage>(x); });
}

// Round to odd: a later rounding to a narrower type then gives the same as one rounding from
// double.
float ToFloatOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) bits -= 1;
  return std::bit_cast<float>(bits | 1);
}

// Narrow types of one byte: all 256 values, made once per type.
const double* ByteTable(DType dtype) {
  static const auto* const kTables = [] {
    auto* tables = new double[static_cast<size_t>(DType::kOpaque) + 1][256]();
    for (size_t d = static_cast<size_t>(DType::kF4E2M1FN);
         d <= static_cast<size_t>(DType::kF8E8M0FNU); ++d) {
      for (uint64_t bits = 0; bits < 256; ++bits)
        tables[d][bits] = FloatFromBits(static_cast<DType>(d), bits);
    }
    return tables;
  }();
  return kTables[static_cast<size_t>(dtype)];
}

void DecodeFloat(DType dtype, const std::byte* source, int64_t n, void* lanes) {
  switch (dtype) {
    case DType::kF32: return Widen<float, double>(source, n, lanes);
    case DType::kF64: return Widen<double, double>(source, n, lanes);
    case DType::kBF16:
      return DecodeAll<uint16_t, double>(
          source, n, lanes, [](uint16_t x) { return static_cast<double>(BF16ToF32(x)); });
    case DType::kF16:
      return DecodeAll<uint16_t, double>(
          source, n, lanes, [](uint16_t x) { return static_cast<double>(F16ToF32(x)); });
    default: break;
  }
  const double* table = ByteTable(dtype);
  DecodeAll<uint8_t, double>(source, n, lanes, [table](uint8_t x) { return table[x]; });
}

void EncodeFloat(DType dtype, const void* lanes, int64_t n, std::byte* target) {
  switch (dtype) {
    case DType::kF32: return Narrow<double, float>(lanes, n, target);
    case DType::kF64: return Narrow<double, double>(lanes, n, target);
    case DType::kBF16:
      return EncodeAll<double, uint16_t>(lanes, n, target,
                                         [](double x) { return F32ToBF16(ToFloatOdd(x)); });
    case DType::kF16:
      return EncodeAll<double, uint16_t>(lanes, n, target, [](double x) { return F64ToF16(x); });
    default: break;
  }
  EncodeAll<double, uint8_t>(
      lanes, n, target, [dtype](double x) { return static_cast<uint8_t>(FloatToBits(dtype, x)); });
}

template <int bits>
int8_t WrapSigned(int64_t value) {
  return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(value) << (8 - bits)) >>
                             (8 - bits));
}

}  // namespace

Kind KindOf(DType dtype) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred:
    case DTypeClass::Unsigned: return Kind::kUint;
    case DTypeClass::Signed: return Kind::kInt;
    case DTypeClass::Float: return Kind::kFloat;
    case DTypeClass::Complex: return Kind::kComplex;
    case DTypeClass::Opaque: break;
  }
  FM_CHECK(false, "a token has no elements");
}

void Decode(DType dtype, const std::byte* source, int64_t n, void* lanes) {
  switch (dtype) {
    case DType::kPred:
      return DecodeAll<uint8_t, uint64_t>(source, n, lanes,
                                          [](uint8_t x) { return uint64_t{x != 0}; });
    case DType::kS2:
    case DType::kS4:
    case DType::kS8: return Widen<int8_t, int64_t>(source, n, lanes);
    case DType::kS16: return Widen<int16_t, int64_t>(source, n, lanes);
    case DType::kS32: return Widen<int32_t, int64_t>(source, n, lanes);
    case DType::kS64: return Widen<int64_t, int64_t>(source, n, lanes);
    case DType::kU2:
    case DType::kU4:
    case DType::kU8: return Widen<uint8_t, uint64_t>(source, n, lanes);
    case DType::kU16: return Widen<uint16_t, uint64_t>(source, n, lanes);
    case DType::kU32: return Widen<uint32_t, uint64_t>(source, n, lanes);
    case DType::kU64: return Widen<uint64_t, uint64_t>(source, n, lanes);
    case DType::kC64: return Widen<std::complex<float>, Complex>(source, n, lanes);
    case DType::kC128: return Widen<Complex, Complex>(source, n, lanes);
    default: return DecodeFloat(dtype, source, n, lanes);
  }
}

void Encode(DType dtype, const void* lanes, int64_t n, std::byte* target) {
  switch (dtype) {
    case DType::kPred:
      return EncodeAll<uint64_t, uint8_t>(lanes, n, target,
                                          [](uint64_t x) { return uint8_t{x != 0}; });
    case DType::kS2: return EncodeAll<int64_t, int8_t>(lanes, n, target, WrapSigned<2>);
    case DType::kS4: return EncodeAll<int64_t, int8_t>(lanes, n, target, WrapSigned<4>);
    case DType::kS8: return Narrow<int64_t, int8_t>(lanes, n, target);
    case DType::kS16: return Narrow<int64_t, int16_t>(lanes, n, target);
    case DType::kS32: return Narrow<int64_t, int32_t>(lanes, n, target);
    case DType::kS64: return Narrow<int64_t, int64_t>(lanes, n, target);
    case DType::kU2:
      return EncodeAll<uint64_t, uint8_t>(lanes, n, target,
                                          [](uint64_t x) { return static_cast<uint8_t>(x & 3); });
    case DType::kU4:
      return EncodeAll<uint64_t, uint8_t>(lanes, n, target,
                                          [](uint64_t x) { return static_cast<uint8_t>(x & 15); });
    case DType::kU8: return Narrow<uint64_t, uint8_t>(lanes, n, target);
    case DType::kU16: return Narrow<uint64_t, uint16_t>(lanes, n, target);
    case DType::kU32: return Narrow<uint64_t, uint32_t>(lanes, n, target);
    case DType::kU64: return Narrow<uint64_t, uint64_t>(lanes, n, target);
    case DType::kC64: return Narrow<Complex, std::complex<float>>(lanes, n, target);
    case DType::kC128: return Narrow<Complex, Complex>(lanes, n, target);
    default: return EncodeFloat(dtype, lanes, n, target);
  }
}

void RoundLanes(DType dtype, void* lanes, int64_t n) {
  if (ByteSize(dtype) == LaneSize(dtype)) return;
  alignas(16) std::byte buffer[kBlock * 8];
  const int64_t size = LaneSize(dtype);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    auto* block = static_cast<std::byte*>(lanes) + i * size;
    Encode(dtype, block, count, buffer);
    Decode(dtype, buffer, count, block);
  }
}

}  // namespace fusemark::reference
