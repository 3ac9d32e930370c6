// Element types of HLO and their properties. Storage: every element takes ByteSize(dtype) whole
// bytes (sub-byte integers are kept one per byte, sign- or zero-extended), pred is one byte holding
// 0 or 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusemark {

enum class DType : uint8_t {
#define FM_DTYPE(enumerator, name, bits, klass) enumerator,
#include "compiler/ir/dtypes.def"
#undef FM_DTYPE
};

enum class DTypeClass : uint8_t { Pred, Signed, Unsigned, Float, Complex, Opaque };

std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
// Width of the value in bits as HLO defines it: 4 for s4, 8 for pred, 64 for c64.
int BitWidth(DType dtype);
// Bytes one element takes in memory.
int64_t ByteSize(DType dtype);
DTypeClass ClassOf(DType dtype);

inline bool IsFloat(DType dtype) {
  return ClassOf(dtype) == DTypeClass::Float;
}
inline bool IsSigned(DType dtype) {
  return ClassOf(dtype) == DTypeClass::Signed;
}
inline bool IsUnsigned(DType dtype) {
  return ClassOf(dtype) == DTypeClass::Unsigned;
}
inline bool IsInteger(DType dtype) {
  return IsSigned(dtype) || IsUnsigned(dtype);
}
inline bool IsComplex(DType dtype) {
  return ClassOf(dtype) == DTypeClass::Complex;
}
// The type of the real and imaginary part: c64 -> f32, c128 -> f64.
inline DType ComponentOf(DType dtype) {
  return dtype == DType::kC128 ? DType::kF64 : DType::kF32;
}

}  // namespace fusemark
