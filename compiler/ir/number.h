// Conversion between storage bit patterns of the narrow float types and float/double. Round to
// nearest even; NaN stays a quiet NaN of the same sign; overflow follows each format (inf, or NaN
// for formats without inf). Header-only for the two types kernels meet everywhere; the f8 family is
// in number.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include "compiler/ir/dtype.h"

namespace fusemark {

inline float BF16ToF32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t F32ToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  // NaN first: adding the rounding bias to a NaN pattern could overflow into zero.
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x0040);
  const uint32_t bias = 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>((bits + bias) >> 16);
}

float F16ToF32(uint16_t bits);
uint16_t F32ToF16(float value);
// Round once from double: going through f32 would round twice.
uint16_t F64ToBF16(double value);
uint16_t F64ToF16(double value);

// What a narrow float type consists of. kFn: no inf, NaN is all ones; kFnuz: no inf, no -0, NaN is
// the sign alone; kNone: neither inf nor NaN; kScale: powers of two without sign.
enum class FloatSpecials : uint8_t { kIeee, kFn, kFnuz, kNone, kScale };
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  FloatSpecials specials = FloatSpecials::kIeee;
};
// Of the types narrower than f32.
FloatFormat FloatFormatOf(DType dtype);
uint64_t NanBits(const FloatFormat& format, bool negative);
// The bits of a value too large for the format, and of the largest finite one.
uint64_t OverflowBits(const FloatFormat& format, bool negative);
uint64_t LargestBits(const FloatFormat& format);

// Any float dtype of at most 64 bits: the value its low bits mean, and the nearest value's bits.
double FloatFromBits(DType dtype, uint64_t bits);
uint64_t FloatToBits(DType dtype, double value);

}  // namespace fusemark
