// Element types that loop nest IR does not know, in terms of those it does: f8 and f4 are bytes in
// memory and f32 in registers; integers of 2 and 4 bits are bytes in both, wrapped to their width
// after every operation. Everything is built from integer operations, so neither the interpreter
// nor codegen has to know a format.
#include <cmath>

#include "compiler/ir/number.h"
#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {
namespace {

bool IsByteFloat(DType dtype) {
  return IsFloat(dtype) && BitWidth(dtype) <= 8;
}

bool IsSubByte(DType dtype) {
  return IsInteger(dtype) && BitWidth(dtype) < 8;
}

constexpr uint64_t kF32Inf = 0x7f800000, kF32Magnitude = 0x7fffffff;

// Arithmetic on u32 values bound to names, written down as it is read.
struct U32 {
  Emitter* emitter;
  Value value;

  Builder& build() const { return emitter->builder(); }
  ExprId use() const { return emitter->Use(value); }
  ExprId Constant(uint64_t bits) const { return build().Constant(DType::kU32, bits); }
  U32 Of(ExprId expr) const { return {emitter, emitter->Bind("bits", DType::kU32, expr)}; }
  U32 Binary(Op op, uint64_t b) const { return Of(build().Binary(op, use(), Constant(b))); }
  U32 Binary(Op op, const U32& b) const { return Of(build().Binary(op, use(), b.use())); }
  U32 operator+(uint64_t b) const { return Binary(Op::kAdd, b); }
  U32 operator-(uint64_t b) const { return Binary(Op::kSubtract, b); }
  U32 operator&(uint64_t b) const { return Binary(Op::kAnd, b); }
  U32 operator|(const U32& b) const { return Binary(Op::kOr, b); }
  U32 operator+(const U32& b) const { return Binary(Op::kAdd, b); }
  U32 operator>>(int b) const { return Binary(Op::kShiftRightLogical, static_cast<uint64_t>(b)); }
  U32 operator<<(int b) const { return Binary(Op::kShiftLeft, static_cast<uint64_t>(b)); }
  ExprId Is(Direction direction, uint64_t b) const {
    return build().Compare(direction, use(), Constant(b));
  }
  // condition ? bits : this.
  U32 Unless(ExprId condition, uint64_t bits) const {
    return Of(build().Select(condition, Constant(bits), use()));
  }
  U32 Unless(ExprId condition, const U32& other) const {
    return Of(build().Select(condition, other.use(), use()));
  }
  ExprId AsFloat() const { return build().BitcastConvert(use(), DType::kF32); }
};

U32 Zero(Emitter& emitter) {
  return {&emitter, emitter.Constant(DType::kU32, 0)};
}

// The f32 pattern of 2^(byte - 127); byte 0 is half the smallest normal number.
U32 DecodeScale(const U32& byte) {
  const U32 power = byte << 23;
  return power.Unless(byte.Is(Direction::kEq, 0), uint64_t{1} << 22)
      .Unless(byte.Is(Direction::kEq, 0xff), kF32Inf | 1U << 22);
}

// The magnitude shifted under f32's exponent is the value times a power of two, for denormals too.
U32 Decode(const FloatFormat& format, const U32& byte) {
  if (format.specials == FloatSpecials::kScale) return DecodeScale(byte);
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint64_t ones = (uint64_t{1} << width) - 1;
  const U32 magnitude = byte & ones;
  const double scale = std::ldexp(1.0, 127 - format.bias);
  Builder& build = byte.build();
  const ExprId scaled =
      build.Binary(Op::kMultiply, (magnitude << (23 - format.mantissa_bits)).AsFloat(),
                   build.FloatConstant(DType::kF32, scale));
  U32 bits = byte.Of(build.BitcastConvert(scaled, DType::kU32));
  const uint64_t quiet = kF32Inf | 1U << 22;
  const uint64_t top = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  if (format.specials == FloatSpecials::kIeee) {
    bits = bits.Unless(magnitude.Is(Direction::kEq, top), kF32Inf)
               .Unless(magnitude.Is(Direction::kGt, top), quiet);
  }
  if (format.specials == FloatSpecials::kFn)
    bits = bits.Unless(magnitude.Is(Direction::kEq, ones), quiet);
  bits = bits | ((byte >> width) << 31);
  if (format.specials != FloatSpecials::kFnuz) return bits;
  return bits.Unless(byte.Is(Direction::kEq, ones + 1), quiet);  // its only NaN has no sign
}

// Powers of two only: the nearer one on a logarithmic scale; no sign, no zero.
U32 EncodeScale(const U32& bits) {
  // Significands over the square root of 2 belong to the next power.
  constexpr uint64_t kRoot = 0x3504f3, kSmallRoot = 5931642;
  const U32 magnitude = bits & kF32Magnitude, significand = magnitude & 0x7fffff;
  const U32 exponent = magnitude >> 23;
  const U32 above = exponent + 1;
  U32 result = exponent.Unless(significand.Is(Direction::kGt, kRoot), above);
  const U32 zero = Zero(*bits.emitter), one = zero + 1;
  const U32 small = zero.Unless(significand.Is(Direction::kGe, kSmallRoot), one);
  result = result.Unless(exponent.Is(Direction::kEq, 0), small);
  result = result.Unless(result.Is(Direction::kGt, 0xff), 0xff);
  result = result.Unless(magnitude.Is(Direction::kEq, 0), 0xff);
  return result.Unless(bits.Is(Direction::kGt, kF32Inf), 0xff);  // negative or NaN
}

// Rounded once, to nearest even.
U32 Encode(const FloatFormat& format, const U32& bits) {
  if (format.specials == FloatSpecials::kScale) return EncodeScale(bits);
  const int width = format.exponent_bits + format.mantissa_bits;
  const int dropped = 23 - format.mantissa_bits;
  const U32 magnitude = bits & kF32Magnitude;
  // Normal results: half a unit of the last place kept, less one where that is even; the carry runs
  // into the exponent.
  const U32 odd = (magnitude >> dropped) & 1;
  const U32 rounded = magnitude + odd + ((uint64_t{1} << (dropped - 1)) - 1);
  const U32 normal =
      (rounded >> dropped) - (static_cast<uint64_t>(127 - format.bias) << format.mantissa_bits);
  // Denormal ones: adding a number whose last place is the unit rounds to it.
  Builder& build = bits.build();
  const uint64_t unit = static_cast<uint64_t>(1 - format.bias - format.mantissa_bits + 23 + 127)
                        << 23;
  const ExprId sum =
      build.Binary(Op::kAdd, magnitude.AsFloat(),
                   build.BitcastConvert(build.Constant(DType::kU32, unit), DType::kF32));
  const U32 denormal = bits.Of(build.BitcastConvert(sum, DType::kU32)) - unit;
  const uint64_t least = static_cast<uint64_t>(128 - format.bias) << 23;
  U32 field = normal.Unless(magnitude.Is(Direction::kLt, least), denormal);
  const bool unsigned_zero = format.specials == FloatSpecials::kFnuz;
  const U32 sign = (bits >> 31) << width;
  const ExprId over = field.Is(Direction::kGt, LargestBits(format));
  const ExprId nan = magnitude.Is(Direction::kGt, kF32Inf);
  if (unsigned_zero) {
    const U32 signed_field = (field | sign).Unless(field.Is(Direction::kEq, 0), 0);
    return signed_field.Unless(over, OverflowBits(format, false))
        .Unless(nan, NanBits(format, false));
  }
  field = field.Unless(over, OverflowBits(format, false)).Unless(nan, NanBits(format, false));
  return field | sign;
}

// f64 -> f32 such that a further rounding to eleven bits or fewer is as if from f64: to odd.
ExprId OddF32(Emitter& emitter, ExprId wide) {
  Builder& build = emitter.builder();
  const Value x = emitter.Bind("x", DType::kF64, wide);
  const Value near = emitter.Bind("near", DType::kF32, build.Convert(emitter.Use(x), DType::kF32));
  const U32 bits{&emitter, emitter.Bind("bits", DType::kU32,
                                        build.BitcastConvert(emitter.Use(near), DType::kU32))};
  const auto magnitude = [&](ExprId value) { return build.Unary(Op::kAbs, value); };
  const ExprId back = build.Convert(emitter.Use(near), DType::kF64);
  const ExprId above = build.Compare(Direction::kGt, magnitude(back), magnitude(emitter.Use(x)));
  const U32 truncated = bits.Unless(above, bits - 1);
  const U32 odd = truncated | (Zero(emitter) + 1);
  const ExprId again = build.Convert(emitter.Use(near), DType::kF64);
  const ExprId exact = build.Compare(Direction::kEq, again, emitter.Use(x));
  const U32 picked = odd.Unless(exact, bits);
  const ExprId is_nan = build.Compare(Direction::kNe, emitter.Use(x), emitter.Use(x));
  return picked.Unless(is_nan, bits).AsFloat();
}

}  // namespace

DType StorageType(DType dtype) {
  if (IsByteFloat(dtype)) return DType::kU8;
  if (IsSubByte(dtype)) return IsSigned(dtype) ? DType::kS8 : DType::kU8;
  return dtype;
}

bool WrapsInByte(DType dtype) {
  return IsSubByte(dtype);
}

ExprId Emitter::FromStorage(DType dtype, ExprId stored) {
  if (!IsByteFloat(dtype)) return builder_.Convert(stored, HeldType(dtype));
  const U32 byte{this, Bind("byte", DType::kU32, builder_.Convert(stored, DType::kU32))};
  return Decode(FloatFormatOf(dtype), byte).AsFloat();
}

ExprId Emitter::ToStorage(DType dtype, ExprId held) {
  if (!IsByteFloat(dtype)) return builder_.Convert(held, StorageType(dtype));
  const U32 bits{this, Bind("bits", DType::kU32, builder_.BitcastConvert(held, DType::kU32))};
  return builder_.Convert(Encode(FloatFormatOf(dtype), bits).use(), DType::kU8);
}

ExprId Emitter::Narrowed(DType dtype, ExprId held) {
  if (IsSubByte(dtype)) {
    const DType byte = StorageType(dtype);
    const auto unused = static_cast<uint64_t>(8 - BitWidth(dtype));
    const ExprId shifted = builder_.Binary(Op::kShiftLeft, held, builder_.Constant(byte, unused));
    const Op back = IsSigned(dtype) ? Op::kShiftRightArithmetic : Op::kShiftRightLogical;
    return builder_.Binary(back, shifted, builder_.Constant(byte, unused));
  }
  return FromStorage(dtype, ToStorage(dtype, held));
}

std::optional<ExprId> Emitter::OnNarrowBits(Op op, DType dtype, std::span<const Value> arguments) {
  const DType byte = StorageType(dtype);
  switch (op) {
    case Op::kPopulationCount:
      return builder_.BitcastConvert(builder_.Unary(op, BitsOf(arguments[0])), byte);
    case Op::kCountLeadingZeros: {
      const auto unused = static_cast<uint64_t>(8 - BitWidth(dtype));
      const ExprId zeros = builder_.Binary(Op::kSubtract, builder_.Unary(op, BitsOf(arguments[0])),
                                           builder_.Constant(DType::kU8, unused));
      return builder_.BitcastConvert(zeros, byte);
    }
    case Op::kShiftRightLogical: {
      const ExprId shifted = builder_.Binary(op, BitsOf(arguments[0]), BitsOf(arguments[1]));
      return builder_.BitcastConvert(shifted, byte);
    }
    case Op::kShiftRightArithmetic: {
      // The sign is the top bit of the type, signed or not.
      const DType as_signed = BitWidth(dtype) == 4 ? DType::kS4 : DType::kS2;
      const ExprId value =
          Narrowed(as_signed, builder_.BitcastConvert(Use(arguments[0]), DType::kS8));
      const ExprId amount = builder_.BitcastConvert(BitsOf(arguments[1]), DType::kS8);
      return builder_.BitcastConvert(builder_.Binary(op, value, amount), byte);
    }
    default: return std::nullopt;
  }
}

// A number of any type as held for `to`, rounded or wrapped once.
ExprId Emitter::NarrowedFrom(const Value& value, DType to) {
  ExprId held = Use(value);
  if (IsSubByte(to)) {
    const DType byte = StorageType(to);
    if (!IsFloat(value.dtype)) return Narrowed(to, builder_.Convert(held, byte));
    // Floats saturate at the ends of the type itself; NaN is 0 in any case.
    const int64_t high = (int64_t{1} << (BitWidth(to) - (IsSigned(to) ? 1 : 0))) - 1;
    const int64_t low = IsSigned(to) ? -high - 1 : 0;
    const Value wide = Bind("n", DType::kS64, builder_.Convert(held, DType::kS64));
    return builder_.Convert(builder_.ClampIndex(Use(wide), low, high), byte);
  }
  if (IsByteFloat(to) && value.dtype == DType::kF64) {
    held = OddF32(*this, held);
  } else if (!IsFloat(value.dtype) && IsByteFloat(to)) {
    held = builder_.Convert(held, DType::kF32);
  }
  return Narrowed(to, held);
}

}  // namespace fusemark::loops
