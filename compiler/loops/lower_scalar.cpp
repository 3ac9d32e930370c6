// Scalar operations of the emitter: elementwise instructions and called computations.
#include <algorithm>
#include <bit>

#include "compiler/ir/users.h"
#include "compiler/loops/lower_expr.h"
#include "compiler/support/check.h"

namespace fusemark::loops {
namespace {

// Exact on values that are already rounded: another rounding changes nothing.
bool KeepsRounding(Op op) {
  switch (op) {
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundNearestAfz:
    case Op::kRoundNearestEven: return true;
    default: return false;
  }
}

DType UnsignedOfWidth(DType dtype) {
  switch (ByteSize(dtype)) {
    case 1: return DType::kU8;
    case 2: return DType::kU16;
    case 4: return DType::kU32;
    default: return DType::kU64;
  }
}

// On pred: add and maximum are or, multiply and minimum are and, difference is xor.
Op LogicalOp(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum: return Op::kOr;
    case Op::kMultiply:
    case Op::kMinimum: return Op::kAnd;
    case Op::kSubtract: return Op::kXor;
    default: return op;
  }
}

}  // namespace

Value Emitter::ConvertValue(const Instr& instr, const Value& value) {
  const DType from = value.dtype, to = instr.shape.dtype;
  if (from == to) return value;
  // An explicit convert rounds in every mode, once, from the value as held.
  if (IsNarrowFloat(to) || WrapsInByte(to)) return Bind(instr.name, to, NarrowedFrom(value, to));
  return Bind(instr.name, to, builder_.Convert(Use(value), to));
}

ExprId Emitter::BitsOf(const Value& value) {
  const DType dtype = value.dtype;
  const ExprId held = Use(value);
  if (dtype == DType::kPred) return builder_.Convert(held, DType::kU8);
  if (WrapsInByte(dtype)) {
    const uint64_t mask = (uint64_t{1} << BitWidth(dtype)) - 1;
    return builder_.Binary(Op::kAnd, builder_.BitcastConvert(held, DType::kU8),
                           builder_.Constant(DType::kU8, mask));
  }
  if (IsNarrowFloat(dtype) && BitWidth(dtype) <= 8) return ToStorage(dtype, held);
  if (dtype == DType::kF16)
    return builder_.BitcastConvert(builder_.Convert(held, dtype), DType::kU16);
  if (dtype == DType::kBF16) {
    const ExprId bits = builder_.BitcastConvert(
        builder_.Convert(builder_.Convert(held, dtype), DType::kF32), DType::kU32);
    return builder_.Convert(
        builder_.Binary(Op::kShiftRightLogical, bits, builder_.Constant(DType::kU32, 16)),
        DType::kU16);
  }
  return builder_.BitcastConvert(held, UnsignedOfWidth(dtype));
}

ExprId Emitter::FromBits(DType dtype, ExprId bits) {
  if (dtype == DType::kPred) return builder_.Convert(bits, dtype);
  if (WrapsInByte(dtype)) return Narrowed(dtype, builder_.BitcastConvert(bits, StorageType(dtype)));
  if (IsNarrowFloat(dtype) && BitWidth(dtype) <= 8) return FromStorage(dtype, bits);
  if (dtype == DType::kF16)
    return builder_.Convert(builder_.BitcastConvert(bits, dtype), DType::kF32);
  if (dtype == DType::kBF16) {
    const ExprId wide = builder_.Convert(bits, DType::kU32);
    return builder_.BitcastConvert(
        builder_.Binary(Op::kShiftLeft, wide, builder_.Constant(DType::kU32, 16)), DType::kF32);
  }
  return builder_.BitcastConvert(bits, dtype);
}

Value Emitter::BitcastValue(const Instr& instr, const Value& value) {
  if (value.dtype == instr.shape.dtype) return value;
  return Bind(instr.name, instr.shape.dtype, FromBits(instr.shape.dtype, BitsOf(value)));
}

// Sign-magnitude bits as an integer whose signed order is the total order of floats.
ExprId Emitter::OrderKey(const Value& value) {
  const bool wide = value.dtype == DType::kF64;
  const DType key = wide ? DType::kS64 : DType::kS32;
  const Value bits = Bind("key", key, builder_.BitcastConvert(Use(value), key));
  const ExprId sign =
      builder_.Binary(Op::kShiftRightArithmetic, Use(bits), builder_.Constant(key, wide ? 63 : 31));
  const uint64_t magnitude = wide ? INT64_MAX : INT32_MAX;
  return builder_.Binary(Op::kXor, Use(bits),
                         builder_.Binary(Op::kAnd, sign, builder_.Constant(key, magnitude)));
}

Value Emitter::CompareValues(const Instr& instr, const Value& a, const Value& b) {
  const auto& attrs = instr.As<CompareAttrs>();
  if (attrs.type == CompareType::kTotalOrder && IsFloat(a.dtype)) {
    const ExprId left = OrderKey(a), right = OrderKey(b);
    return Bind(instr.name, DType::kPred, builder_.Compare(attrs.direction, left, right));
  }
  return Bind(instr.name, DType::kPred, builder_.Compare(attrs.direction, Use(a), Use(b)));
}

// On the bit pattern of the type, as HLO defines it: round the mantissa to nearest even, then
// exponents out of range become signed infinity or signed zero.
Value Emitter::ReducePrecision(const Instr& instr, const Value& value) {
  const auto& attrs = instr.As<ReducePrecisionAttrs>();
  // f16 has other denormals than the f32 that holds it; those of bf16 are the same.
  const bool wide = value.dtype == DType::kF64, half = value.dtype == DType::kF16;
  const DType type = wide ? DType::kU64 : DType::kU32;
  const int mantissa = wide ? 52 : half ? 10 : 23, exponent = wide ? 11 : half ? 5 : 8;
  const auto constant = [&](uint64_t bits) { return builder_.Constant(type, bits); };
  const auto binary = [&](Op op, ExprId a, uint64_t b) {
    return builder_.Binary(op, a, constant(b));
  };
  const uint64_t sign_bit = uint64_t{1} << (mantissa + exponent);
  const uint64_t exponent_mask = ((uint64_t{1} << exponent) - 1) << mantissa;
  const ExprId pattern =
      half ? builder_.Convert(BitsOf(value), type) : builder_.BitcastConvert(Use(value), type);
  Value bits = Bind("bits", type, pattern);
  const int dropped = mantissa - static_cast<int>(attrs.mantissa_bits);
  if (dropped > 0) {
    const uint64_t last = uint64_t{1} << dropped;
    const ExprId odd = binary(Op::kAnd, binary(Op::kShiftRightLogical, Use(bits), dropped), 1);
    const ExprId bias = binary(Op::kAdd, odd, (last >> 1) - 1);
    const uint64_t all = wide ? ~uint64_t{0} : uint64_t{0xffffffff};
    bits = Bind("bits", type,
                binary(Op::kAnd, builder_.Binary(Op::kAdd, Use(bits), bias), all & ~(last - 1)));
  }
  if (attrs.exponent_bits < exponent) {
    const uint64_t bias = (uint64_t{1} << (exponent - 1)) - 1;
    const uint64_t small_bias = (uint64_t{1} << (attrs.exponent_bits - 1)) - 1;
    const Value power = Bind("power", type, binary(Op::kAnd, Use(bits), exponent_mask));
    const Value sign = Bind("sign", type, binary(Op::kAnd, Use(bits), sign_bit));
    const ExprId over =
        builder_.Compare(Direction::kGt, Use(power), constant((bias + small_bias) << mantissa));
    const ExprId under =
        builder_.Compare(Direction::kLe, Use(power), constant((bias - small_bias) << mantissa));
    const ExprId infinity = binary(Op::kOr, Use(sign), exponent_mask);
    bits = Bind("bits", type,
                builder_.Select(over, infinity, builder_.Select(under, Use(sign), Use(bits))));
  }
  const ExprId rounded = half
                             ? FromBits(value.dtype, builder_.Convert(Use(bits), DType::kU16))
                             : builder_.BitcastConvert(Use(bits), wide ? DType::kF64 : DType::kF32);
  const ExprId is_nan = builder_.Compare(Direction::kNe, Use(value), Use(value));
  // A NaN stays one unless no mantissa bit is left to say so.
  const ExprId special =
      attrs.mantissa_bits > 0
          ? Use(value)
          : builder_.FloatConstant(HeldType(value.dtype), std::numeric_limits<double>::infinity());
  return Round(instr.name, value.dtype, builder_.Select(is_nan, special, rounded));
}

Value Emitter::Elementwise(const Computation&, const Instr& instr,
                           std::span<const Value> arguments) {
  const DType dtype = instr.shape.dtype;
  switch (instr.op) {
    case Op::kCopy:
    case Op::kReal:
    case Op::kBitcast:
    case Op::kOptimizationBarrier: return arguments[0];
    case Op::kImag: return Constant(dtype, 0);  // of a real operand
    case Op::kConvert: return ConvertValue(instr, arguments[0]);
    case Op::kBitcastConvert: return BitcastValue(instr, arguments[0]);
    case Op::kReducePrecision: return ReducePrecision(instr, arguments[0]);
    case Op::kCompare: return CompareValues(instr, arguments[0], arguments[1]);
    case Op::kSelect: return Select(instr.name, Use(arguments[0]), arguments[1], arguments[2]);
    case Op::kClamp: {
      const ExprId raised = builder_.Binary(Op::kMaximum, Use(arguments[1]), Use(arguments[0]));
      return Bind(instr.name, dtype, builder_.Binary(Op::kMinimum, raised, Use(arguments[2])));
    }
    case Op::kIsFinite:
      return Bind(instr.name, dtype, builder_.Unary(Op::kIsFinite, Use(arguments[0])));
    default: break;
  }
  const Op op = dtype == DType::kPred ? LogicalOp(instr.op) : instr.op;
  if (WrapsInByte(dtype)) {
    if (const auto bits = OnNarrowBits(op, dtype, arguments))
      return Round(instr.name, dtype, *bits);
  }
  const ExprId held = arguments.size() == 1
                          ? builder_.Unary(op, Use(arguments[0]))
                          : builder_.Binary(op, Use(arguments[0]), Use(arguments[1]));
  if (KeepsRounding(op) && !WrapsInByte(dtype)) return Bind(instr.name, dtype, held);
  return Round(instr.name, dtype, held);
}

std::vector<Value> Emitter::Region(ComputationId id, std::span<const Value> arguments, bool exact) {
  const Computation& region = module()[id];
  const bool outer = std::exchange(exact_, exact || exact_);
  std::vector<std::vector<Value>> values(region.instrs.size());
  const std::vector<bool> live = Live(region);
  for (size_t i = 0; i < region.instrs.size(); ++i) {
    const Instr& in = region.instrs[i];
    if (!live[i]) continue;
    std::vector<Value> operands;
    for (const InstrId operand : in.operands) {
      const auto& leaves = values[operand.index];
      operands.insert(operands.end(), leaves.begin(), leaves.end());
    }
    switch (in.op) {
      case Op::kParameter:
        values[i] = {arguments[static_cast<size_t>(in.As<ParameterAttrs>().number)]};
        break;
      case Op::kConstant: values[i] = {*ConstantValue(in)}; break;
      case Op::kTuple: values[i] = operands; break;
      case Op::kGetTupleElement:
        values[i] = {operands[static_cast<size_t>(in.As<TupleIndexAttrs>().index)]};
        break;
      case Op::kMap:
      case Op::kCall:
      case Op::kFusion: values[i] = Region(in.called[0], operands); break;
      case Op::kBroadcast:  // of a scalar to a scalar, as the check has seen
      case Op::kReshape:
      case Op::kTranspose: values[i] = {operands[0]}; break;
      default: values[i] = {Elementwise(region, in, operands)}; break;
    }
  }
  exact_ = outer;
  return values[region.root.index];
}

}  // namespace fusemark::loops
