// How each element type lies in a 64-bit pattern: Unpack gives the value, Pack the pattern. Private
// to scalar*.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "compiler/ir/number.h"

namespace fusemark::loops {

template <bool kSigned, int kWidth>
struct IntegerTraits {
  static constexpr bool kIsFloat = false, kIsNarrow = false;
  static constexpr int kBits = kWidth;
  static constexpr uint64_t kMask = ~uint64_t{0} >> (64 - kWidth);
  using Value = std::conditional_t<kSigned, int64_t, uint64_t>;
  static Value Unpack(uint64_t bits) { return static_cast<Value>(bits); }
  static uint64_t Pack(Value value) { return Wrap(static_cast<uint64_t>(value)); }
  static uint64_t Wrap(uint64_t bits) {
    if constexpr (kSigned)
      return static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - kWidth)) >> (64 - kWidth));
    return bits & kMask;
  }
};

struct PredTraits {
  static constexpr bool kIsFloat = false, kIsNarrow = false;
  static constexpr int kBits = 1;
  using Value = uint64_t;
  static Value Unpack(uint64_t bits) { return bits; }
  static uint64_t Pack(Value value) { return value != 0 ? 1 : 0; }
};

struct F32Traits {
  static constexpr bool kIsFloat = true, kIsNarrow = false;
  using Value = float;
  static float Unpack(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
  static uint64_t Pack(float value) { return std::bit_cast<uint32_t>(value); }
};

struct F64Traits {
  static constexpr bool kIsFloat = true, kIsNarrow = false;
  using Value = double;
  static double Unpack(uint64_t bits) { return std::bit_cast<double>(bits); }
  static uint64_t Pack(double value) { return std::bit_cast<uint64_t>(value); }
};

template <DType kType>
struct NarrowTraits {
  static constexpr bool kIsFloat = true, kIsNarrow = true;
  using Value = double;
  static double Unpack(uint64_t bits) { return FloatFromBits(kType, bits); }
  static uint64_t Pack(double value) { return FloatToBits(kType, value); }
};

template <>
struct NarrowTraits<DType::kBF16> {
  static constexpr bool kIsFloat = true, kIsNarrow = true;
  using Value = double;
  static double Unpack(uint64_t bits) {
    return static_cast<double>(BF16ToF32(static_cast<uint16_t>(bits)));
  }
  static uint64_t Pack(double value) {
    // A double that is a float rounds once through the short way.
    const auto narrow = static_cast<float>(value);
    if (static_cast<double>(narrow) == value) return F32ToBF16(narrow);
    return F64ToBF16(value);
  }
};

// function(Traits{}) for the type, or a null result where the type has no scalar operations.
template <class Function>
auto WithTraits(DType dtype, Function function) -> decltype(function(PredTraits{})) {
  switch (dtype) {
    case DType::kPred: return function(PredTraits{});
    case DType::kS2: return function(IntegerTraits<true, 2>{});
    case DType::kS4: return function(IntegerTraits<true, 4>{});
    case DType::kS8: return function(IntegerTraits<true, 8>{});
    case DType::kS16: return function(IntegerTraits<true, 16>{});
    case DType::kS32: return function(IntegerTraits<true, 32>{});
    case DType::kS64: return function(IntegerTraits<true, 64>{});
    case DType::kU2: return function(IntegerTraits<false, 2>{});
    case DType::kU4: return function(IntegerTraits<false, 4>{});
    case DType::kU8: return function(IntegerTraits<false, 8>{});
    case DType::kU16: return function(IntegerTraits<false, 16>{});
    case DType::kU32: return function(IntegerTraits<false, 32>{});
    case DType::kU64: return function(IntegerTraits<false, 64>{});
    case DType::kF32: return function(F32Traits{});
    case DType::kF64: return function(F64Traits{});
    case DType::kBF16: return function(NarrowTraits<DType::kBF16>{});
    case DType::kF16: return function(NarrowTraits<DType::kF16>{});
    case DType::kF8E5M2: return function(NarrowTraits<DType::kF8E5M2>{});
    case DType::kF8E4M3FN: return function(NarrowTraits<DType::kF8E4M3FN>{});
    default: return {};
  }
}

}  // namespace fusemark::loops
