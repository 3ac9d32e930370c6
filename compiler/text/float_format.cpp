#include "compiler/text/float_format.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/ir/number.h"

namespace fusemark {
namespace {

// Mantissa bits of the types whose NaNs carry a payload: exponent all ones, mantissa not zero.
int PayloadBits(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 52;
    case DType::kF32: return 23;
    case DType::kF16: return 10;
    case DType::kBF16: return 7;
    case DType::kF8E5M2: return 2;
    case DType::kF8E4M3: return 3;
    case DType::kF8E3M4: return 4;
    default: return 0;
  }
}

// Significant bits, the hidden one included.
int PrecisionBits(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 11;
    case DType::kBF16: return 8;
    case DType::kF8E3M4: return 5;
    default: return 4;  // the other narrow types have 4 or fewer
  }
}

uint64_t DefaultNan(DType dtype, bool negative) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return FloatToBits(dtype, negative ? -nan : nan);
}

template <class T>
void AppendShortest(T value, std::string& text) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  text.append(buffer, result.ptr);
}

}  // namespace

bool MakeNan(DType dtype, bool negative, uint64_t payload, uint64_t& bits) {
  const int mantissa = PayloadBits(dtype);
  if (mantissa == 0 || payload == 0 || payload >> mantissa != 0) return false;
  const int width = BitWidth(dtype);
  const uint64_t exponent = ((1ULL << (width - 1 - mantissa)) - 1) << mantissa;
  bits = (static_cast<uint64_t>(negative) << (width - 1)) | exponent | payload;
  return true;
}

bool OverflowsSilently(DType dtype, double value) {
  // The largest f4e2m1fn is 6; 7 would round to 8.
  return dtype == DType::kF4E2M1FN && std::fabs(value) >= 7;
}

void AppendFloat(DType dtype, uint64_t bits, std::string& text) {
  const double value = FloatFromBits(dtype, bits);
  if (std::isnan(value)) {
    const int mantissa = PayloadBits(dtype);
    const bool has_sign = bits != DefaultNan(dtype, false);
    const bool negative = has_sign && ((bits >> (BitWidth(dtype) - 1)) & 1) != 0;
    text += negative ? "-nan" : "nan";
    if (mantissa != 0 && bits != DefaultNan(dtype, negative)) {
      text += fmt::format("({:#x})", bits & ((1ULL << mantissa) - 1));
    }
    return;
  }
  if (std::isinf(value)) {
    text += value < 0 ? "-inf" : "inf";
    return;
  }
  if (dtype == DType::kF64) return AppendShortest(value, text);
  if (dtype == DType::kF32) return AppendShortest(static_cast<float>(value), text);
  // Narrow types: the exact value if it is short, else enough digits to round back (XLA's choice).
  constexpr ptrdiff_t kShort = 8;
  char buffer[64];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  if (result.ptr - buffer > kShort) {
    const int digits = 2 + (PrecisionBits(dtype) * 30103) / 100000;
    result =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  }
  text.append(buffer, result.ptr);
}

}  // namespace fusemark
