#include "compiler/ir/identity.h"

#include <limits>

#include "compiler/ir/number.h"

namespace fusemark {

std::optional<uint64_t> IdentityBits(Op op, DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const bool floating = IsFloat(dtype) && BitWidth(dtype) >= 16;
  if (!floating && !IsInteger(dtype) && dtype != DType::kPred) return std::nullopt;
  const int bits = dtype == DType::kPred ? 1 : BitWidth(dtype);
  const uint64_t ones = ~uint64_t{0} >> (64 - bits);
  const uint64_t lowest = IsSigned(dtype) ? ~(ones >> 1) : 0;
  const uint64_t highest = IsSigned(dtype) ? ones >> 1 : ones;
  switch (op) {
    case Op::kAdd: return floating ? FloatToBits(dtype, -0.0) : 0;
    case Op::kMultiply: return floating ? FloatToBits(dtype, 1.0) : 1;
    case Op::kMaximum: return floating ? FloatToBits(dtype, -kInf) : lowest;
    case Op::kMinimum: return floating ? FloatToBits(dtype, kInf) : highest;
    case Op::kOr:
    case Op::kXor: return floating ? std::nullopt : std::optional<uint64_t>(0);
    case Op::kAnd:
      if (floating) return std::nullopt;
      return IsSigned(dtype) ? ~uint64_t{0} : ones;
    default: return std::nullopt;
  }
}

}  // namespace fusemark
