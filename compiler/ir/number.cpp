#include "compiler/ir/number.h"

#include <cmath>
#include <limits>

#include "compiler/support/check.h"

namespace fusemark {
FloatFormat FloatFormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF4E2M1FN: return {2, 1, 1, FloatSpecials::kNone};
    case DType::kF8E5M2: return {5, 2, 15, FloatSpecials::kIeee};
    case DType::kF8E4M3: return {4, 3, 7, FloatSpecials::kIeee};
    case DType::kF8E4M3FN: return {4, 3, 7, FloatSpecials::kFn};
    case DType::kF8E4M3B11FNUZ: return {4, 3, 11, FloatSpecials::kFnuz};
    case DType::kF8E5M2FNUZ: return {5, 2, 16, FloatSpecials::kFnuz};
    case DType::kF8E4M3FNUZ: return {4, 3, 8, FloatSpecials::kFnuz};
    case DType::kF8E3M4: return {3, 4, 3, FloatSpecials::kIeee};
    case DType::kF8E8M0FNU: return {8, 0, 127, FloatSpecials::kScale};
    case DType::kBF16: return {8, 7, 127, FloatSpecials::kIeee};
    case DType::kF16: return {5, 10, 15, FloatSpecials::kIeee};
    default: break;
  }
  FM_CHECK(false, "no narrow float format");
}

uint64_t NanBits(const FloatFormat& format, bool negative) {
  const uint64_t sign = static_cast<uint64_t>(negative)
                        << (format.exponent_bits + format.mantissa_bits);
  const uint64_t exponent = ((1ULL << format.exponent_bits) - 1) << format.mantissa_bits;
  switch (format.specials) {
    case FloatSpecials::kIeee: return sign | exponent | (1ULL << (format.mantissa_bits - 1));
    case FloatSpecials::kFn: return sign | exponent | ((1ULL << format.mantissa_bits) - 1);
    case FloatSpecials::kFnuz: return 1ULL << (format.exponent_bits + format.mantissa_bits);
    case FloatSpecials::kScale: return 0xff;
    case FloatSpecials::kNone: return sign;  // f4 has no NaN: XLA gives zero with the sign
  }
  return 0;
}

// The bits of a value too large for the format.
uint64_t OverflowBits(const FloatFormat& format, bool negative) {
  const uint64_t sign = static_cast<uint64_t>(negative)
                        << (format.exponent_bits + format.mantissa_bits);
  const uint64_t exponent = ((1ULL << format.exponent_bits) - 1) << format.mantissa_bits;
  if (format.specials == FloatSpecials::kIeee) return sign | exponent;
  if (format.specials == FloatSpecials::kNone)
    return sign | exponent | ((1ULL << format.mantissa_bits) - 1);
  return NanBits(format, negative);
}

uint64_t LargestBits(const FloatFormat& format) {
  uint64_t largest = (1ULL << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (format.specials == FloatSpecials::kIeee)
    largest = (((1ULL << format.exponent_bits) - 1) << format.mantissa_bits) - 1;
  if (format.specials == FloatSpecials::kFn) largest -= 1;
  return largest;
}

namespace {

double DecodeNarrow(const FloatFormat& format, uint64_t bits) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint64_t mantissa = bits & ((1ULL << format.mantissa_bits) - 1);
  const uint64_t exponent = (bits >> format.mantissa_bits) & ((1ULL << format.exponent_bits) - 1);
  const uint64_t top = (1ULL << format.exponent_bits) - 1;
  const bool negative = ((bits >> width) & 1) != 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == FloatSpecials::kScale) {
    return bits == 0xff ? nan : std::ldexp(1.0, static_cast<int>(bits) - format.bias);
  }
  if (format.specials == FloatSpecials::kFnuz && bits == (1ULL << width)) return nan;
  if (format.specials == FloatSpecials::kFn &&
      (bits & ((1ULL << width) - 1)) == (1ULL << width) - 1) {
    return negative ? -nan : nan;
  }
  if (format.specials == FloatSpecials::kIeee && exponent == top) {
    const double special = mantissa != 0 ? nan : std::numeric_limits<double>::infinity();
    return negative ? -special : special;
  }
  const double significand =
      static_cast<double>(mantissa) / static_cast<double>(1ULL << format.mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(significand, 1 - format.bias)
                    : std::ldexp(1.0 + significand, static_cast<int>(exponent) - format.bias);
  return negative ? -magnitude : magnitude;
}

uint64_t EncodeNarrow(const FloatFormat& format, double value) {
  const bool negative = std::signbit(value);
  const int width = format.exponent_bits + format.mantissa_bits;
  if (std::isnan(value)) return NanBits(format, negative);
  if (std::isinf(value)) return OverflowBits(format, negative);
  const uint64_t sign = static_cast<uint64_t>(negative) << width;
  const double magnitude = std::fabs(value);
  if (format.specials == FloatSpecials::kScale) {
    if (!(value > 0)) return negative || value == 0 ? 0xff : 0;
    const double exponent = std::nearbyint(std::log2(magnitude)) + format.bias;
    return exponent < 0 ? 0 : exponent > 254 ? 0xff : static_cast<uint64_t>(exponent);
  }
  if (magnitude == 0) return format.specials == FloatSpecials::kFnuz ? 0 : sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent with m in [0.5, 1)
  const int min_exponent = 1 - format.bias;
  const int scale = std::max(exponent - 1, min_exponent);
  // Units in the last place of this binade; nearbyint rounds half to even (the default rounding
  // mode).
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - scale));
  uint64_t bits = static_cast<uint64_t>(units);
  // Normal numbers carry the hidden bit: bits = 2^mantissa + m, so adding the biased exponent minus
  // one fits both cases.
  bits += static_cast<uint64_t>(scale - min_exponent) << format.mantissa_bits;
  if (bits > LargestBits(format)) return OverflowBits(format, negative);
  if (bits == 0 && format.specials == FloatSpecials::kFnuz) return 0;
  return sign | bits;
}

}  // namespace

float F16ToF32(uint16_t bits) {
  return static_cast<float>(DecodeNarrow(FloatFormatOf(DType::kF16), bits));
}
uint16_t F32ToF16(float value) {
  return F64ToF16(static_cast<double>(value));
}
uint16_t F64ToBF16(double value) {
  return static_cast<uint16_t>(EncodeNarrow(FloatFormatOf(DType::kBF16), value));
}
uint16_t F64ToF16(double value) {
  return static_cast<uint16_t>(EncodeNarrow(FloatFormatOf(DType::kF16), value));
}

double FloatFromBits(DType dtype, uint64_t bits) {
  if (dtype == DType::kF64) return std::bit_cast<double>(bits);
  if (dtype == DType::kF32)
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return DecodeNarrow(FloatFormatOf(dtype), bits);
}

uint64_t FloatToBits(DType dtype, double value) {
  if (dtype == DType::kF64) return std::bit_cast<uint64_t>(value);
  if (dtype == DType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return EncodeNarrow(FloatFormatOf(dtype), value);
}

}  // namespace fusemark
