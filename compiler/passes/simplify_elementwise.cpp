#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "compiler/ir/number.h"
#include "compiler/passes/simplify_algebra.h"

namespace fusemark {
namespace {

bool IsWholeByteInteger(DType dtype) {
  return IsInteger(dtype) && BitWidth(dtype) == 8 * ByteSize(dtype);
}

// The four float types whose arithmetic is plain IEEE; f8 and f4 lack infinities or signed zeros.
bool IsIeee(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

bool IsAllOnes(const Builder& builder, InstrId id) {
  const DType dtype = builder[id].shape.dtype;
  if (dtype == DType::kPred) return IsSplat(builder, id, 1);
  return IsWholeByteInteger(dtype) && IsSplat(builder, id, -1);
}

bool IsZeroBits(const Builder& builder, InstrId id) {
  const DType dtype = builder[id].shape.dtype;
  return (dtype == DType::kPred || IsInteger(dtype)) && IsSplat(builder, id, 0);
}

// The smallest (largest for minimum) value of the type: neutral for maximum (minimum).
bool IsNeutralForExtremum(const Builder& builder, InstrId id, bool maximum) {
  const DType dtype = builder[id].shape.dtype;
  if (IsIeee(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return IsSplat(builder, id, maximum ? -infinity : infinity);
  }
  if (!IsWholeByteInteger(dtype)) return false;
  if (IsUnsigned(dtype)) return maximum ? IsSplat(builder, id, 0) : IsAllOnes(builder, id);
  const Literal* literal = SplatOf(builder, id);
  if (literal == nullptr) return false;
  const uint64_t low = uint64_t{1} << (BitWidth(dtype) - 1);
  const Literal limit = ScalarLiteral(dtype, maximum ? low : low - 1);
  return std::memcmp(literal->data->data(), limit.data->data(), limit.data->size()) == 0;
}

// Is `id` the right operand y for which x op y == x, bit for bit?
bool IsRightNeutral(const Builder& builder, Op op, InstrId id) {
  const DType dtype = builder[id].shape.dtype;
  const bool integer = IsInteger(dtype);
  switch (op) {
    case Op::kAdd:
      return integer ? IsZeroBits(builder, id) : IsIeee(dtype) && IsSplat(builder, id, -0.0);
    case Op::kSubtract: return (integer || IsIeee(dtype)) && IsSplat(builder, id, 0);
    case Op::kMultiply:
    case Op::kDivide: return (integer || IsIeee(dtype)) && IsSplat(builder, id, 1);
    case Op::kPower: return IsIeee(dtype) && IsSplat(builder, id, 1);
    case Op::kMaximum: return IsNeutralForExtremum(builder, id, true);
    case Op::kMinimum: return IsNeutralForExtremum(builder, id, false);
    case Op::kAnd: return IsAllOnes(builder, id);
    case Op::kOr:
    case Op::kXor:
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical: return IsZeroBits(builder, id);
    default: return false;
  }
}

// Is `id` the operand that decides the result alone: x op y == y?
bool IsAbsorbing(const Builder& builder, Op op, InstrId id) {
  switch (op) {
    case Op::kMultiply: return IsInteger(builder[id].shape.dtype) && IsZeroBits(builder, id);
    case Op::kAnd: return IsZeroBits(builder, id);
    case Op::kOr: return IsAllOnes(builder, id);
    default: return false;
  }
}

// x / 2^k == x * 2^-k: both are the correctly rounded value of the same real number.
Step DivideByPowerOfTwo(Builder& builder, Instr& instr) {
  const DType dtype = instr.shape.dtype;
  const Literal* divisor = SplatOf(builder, instr.operands[1]);
  if (!IsIeee(dtype) || divisor == nullptr) return Leave();
  uint64_t bits = 0;
  std::memcpy(&bits, divisor->data->data(), divisor->data->size());
  const double value = FloatFromBits(dtype, bits);
  int exponent = 0;
  if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5) return Leave();
  const double reciprocal = 1 / value;
  const uint64_t reciprocal_bits = FloatToBits(dtype, reciprocal);
  if (FloatFromBits(dtype, reciprocal_bits) != reciprocal || std::isinf(reciprocal)) return Leave();
  const InstrId scalar = builder.Constant(ScalarLiteral(dtype, reciprocal_bits));
  const InstrId factor = builder.Broadcast(scalar, instr.shape.dims, {});
  return Become(instr, Op::kMultiply, {instr.operands[0], factor});
}

Step SimplifyPower(Builder& builder, Instr& instr) {
  const InstrId x = instr.operands[0];
  if (!IsIeee(instr.shape.dtype)) return Leave();
  if (IsSplat(builder, instr.operands[1], 2)) return Become(instr, Op::kMultiply, {x, x});
  if (!IsSplat(builder, instr.operands[1], -1)) return Leave();
  const InstrId one = builder.Constant(ScalarLiteralOf(instr.shape.dtype, 1));
  return Become(instr, Op::kDivide, {builder.Broadcast(one, instr.shape.dims, {}), x});
}

Step SimplifyEqualOperands(Builder& builder, Instr& instr) {
  const InstrId x = instr.operands[0];
  const DType dtype = instr.shape.dtype;
  switch (instr.op) {
    case Op::kMaximum:
    case Op::kMinimum: return IsComplex(dtype) ? Leave() : Use(x);
    case Op::kAnd:
    case Op::kOr: return Use(x);
    case Op::kSubtract:
    case Op::kXor: {
      if (!IsWholeByteInteger(dtype) && dtype != DType::kPred) return Leave();
      const InstrId zero = builder.Constant(ScalarLiteral(dtype, 0));
      return Use(builder.Broadcast(zero, instr.shape.dims, {}));
    }
    default: return Leave();
  }
}

Step SimplifyBinary(Builder& builder, Instr& instr) {
  const InstrId lhs = instr.operands[0];
  const InstrId rhs = instr.operands[1];
  if (IsRightNeutral(builder, instr.op, rhs)) return Use(lhs);
  if (IsAbsorbing(builder, instr.op, rhs)) return Use(rhs);
  if (IsCommutative(instr.op)) {
    if (IsRightNeutral(builder, instr.op, lhs)) return Use(rhs);
    if (IsAbsorbing(builder, instr.op, lhs)) return Use(lhs);
  }
  if (lhs == rhs) return SimplifyEqualOperands(builder, instr);
  const Instr& right = builder[rhs];
  switch (instr.op) {
    case Op::kAdd:  // a + (-b) and a - b round the same real number
      if (right.op != Op::kNegate || !IsIeee(instr.shape.dtype)) return Leave();
      return Become(instr, Op::kSubtract, {lhs, right.operands[0]});
    case Op::kSubtract:
      if (right.op != Op::kNegate || !IsIeee(instr.shape.dtype)) return Leave();
      return Become(instr, Op::kAdd, {lhs, right.operands[0]});
    case Op::kDivide: return DivideByPowerOfTwo(builder, instr);
    case Op::kPower: return SimplifyPower(builder, instr);
    default: return Leave();
  }
}

Step SimplifyUnary(const Builder& builder, Instr& instr) {
  const Instr& inner = builder[instr.operands[0]];
  const DType dtype = instr.shape.dtype;
  switch (instr.op) {
    case Op::kNegate:
    case Op::kNot:
      if (inner.op == instr.op) return Use(inner.operands[0]);
      return Leave();
    case Op::kAbs:
      if (IsComplex(inner.shape.dtype)) return Leave();
      if (inner.op == Op::kAbs && SameType(inner.shape, instr.shape)) return Use(instr.operands[0]);
      if (inner.op != Op::kNegate || !IsFloat(dtype)) return Leave();
      return Become(instr, Op::kAbs, inner.operands);
    case Op::kReal:
      if (inner.op == Op::kComplex) return Use(inner.operands[0]);
      return IsComplex(inner.shape.dtype) ? Leave() : Use(instr.operands[0]);
    case Op::kImag: return inner.op == Op::kComplex ? Use(inner.operands[1]) : Leave();
    default: return Leave();
  }
}

Step SimplifySelect(Builder& builder, Instr& instr) {
  const auto [predicate, on_true, on_false] =
      std::tuple(instr.operands[0], instr.operands[1], instr.operands[2]);
  if (on_true == on_false || IsSplat(builder, predicate, 1)) return Use(on_true);
  if (IsSplat(builder, predicate, 0)) return Use(on_false);
  if (builder[predicate].op == Op::kNot) {
    return Become(instr, Op::kSelect, {builder[predicate].operands[0], on_false, on_true});
  }
  return Leave();
}

Step SimplifyComplex(const Builder& builder, const Instr& instr) {
  const Instr& real = builder[instr.operands[0]];
  const Instr& imag = builder[instr.operands[1]];
  const bool parts = real.op == Op::kReal && imag.op == Op::kImag &&
                     real.operands[0] == imag.operands[0] &&
                     SameType(builder[real.operands[0]].shape, instr.shape);
  return parts ? Use(real.operands[0]) : Leave();
}

// Bits of magnitude and of exponent range a type offers; converting between types where both grow
// loses nothing.
struct Precision {
  bool is_float = false;
  bool is_signed = false;
  int digits = 0;    // integers: magnitude bits; floats: significand bits
  int exponent = 0;  // floats: bits of exponent
};

std::optional<Precision> PrecisionOf(DType dtype) {
  switch (dtype) {
    case DType::kPred: return Precision{false, false, 1, 0};
    case DType::kBF16: return Precision{true, true, 8, 8};
    case DType::kF16: return Precision{true, true, 11, 5};
    case DType::kF32: return Precision{true, true, 24, 8};
    case DType::kF64: return Precision{true, true, 53, 11};
    default: break;
  }
  if (!IsInteger(dtype)) return std::nullopt;
  return Precision{false, IsSigned(dtype), BitWidth(dtype) - (IsSigned(dtype) ? 1 : 0), 0};
}

bool IsLossless(DType from, DType to) {
  const auto a = PrecisionOf(from);
  const auto b = PrecisionOf(to);
  if (!a || !b || to == DType::kPred || (a->is_float && !b->is_float)) return false;
  if (a->digits > b->digits || (a->is_signed && !b->is_signed)) return false;
  if (a->is_float) return a->exponent <= b->exponent;
  // 2^15 is beyond the largest f16; digits <= 11 keeps integers well below.
  return true;
}

}  // namespace

Step SimplifyConversion(Builder& builder, Instr& instr) {
  if (instr.operands.size() != 1) return Leave();
  const InstrId operand = instr.operands[0];
  const Instr& inner = builder[operand];
  if (instr.op == Op::kBitcastConvert) {
    if (SameType(inner.shape, instr.shape)) return Use(operand);
    if (inner.op != Op::kBitcastConvert) return Leave();
    const InstrId source = inner.operands[0];
    const bool back = SameType(builder[source].shape, instr.shape);
    return back ? Use(source) : Leave();
  }
  if (instr.op != Op::kConvert) return Leave();
  if (SameType(inner.shape, instr.shape)) return Use(operand);
  if (inner.op != Op::kConvert) return Leave();
  const InstrId source = inner.operands[0];
  if (!IsLossless(builder[source].shape.dtype, inner.shape.dtype)) return Leave();
  if (!PrecisionOf(instr.shape.dtype)) return Leave();
  // Floats saturate on the way to an integer type, integers wrap.
  const bool through_float = IsFloat(inner.shape.dtype) && IsInteger(instr.shape.dtype) &&
                             !IsFloat(builder[source].shape.dtype);
  if (through_float && !IsLossless(builder[source].shape.dtype, instr.shape.dtype)) return Leave();
  return Become(instr, Op::kConvert, {source});
}

Step SimplifyElementwise(Builder& builder, Instr& instr) {
  if (instr.op == Op::kSelect) return SimplifySelect(builder, instr);
  if (instr.op == Op::kComplex) return SimplifyComplex(builder, instr);
  if (instr.op == Op::kCompare) return Leave();
  if (instr.operands.size() == 2) return SimplifyBinary(builder, instr);
  return instr.operands.size() == 1 ? SimplifyUnary(builder, instr) : Leave();
}

}  // namespace fusemark
