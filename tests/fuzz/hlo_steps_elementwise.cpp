#include <algorithm>

#include "tests/fuzz/hlo_generator.h"

namespace fusemark {

InstrId HloGenerator::Unary() {
  constexpr Op kFloatOps[] = {Op::kNegate,
                              Op::kAbs,
                              Op::kSign,
                              Op::kExponential,
                              Op::kLog,
                              Op::kExponentialMinusOne,
                              Op::kLogPlusOne,
                              Op::kLogistic,
                              Op::kSqrt,
                              Op::kRsqrt,
                              Op::kCbrt,
                              Op::kTanh,
                              Op::kTan,
                              Op::kSine,
                              Op::kCosine,
                              Op::kErf,
                              Op::kFloor,
                              Op::kCeil,
                              Op::kRoundNearestAfz,
                              Op::kRoundNearestEven,
                              Op::kIsFinite,
                              Op::kCopy};
  constexpr Op kComplexOps[] = {Op::kNegate, Op::kAbs,  Op::kSign,   Op::kExponential,
                                Op::kLog,    Op::kSqrt, Op::kCosine, Op::kCopy};
  constexpr Op kIntegerOps[] = {
      Op::kNegate,           Op::kAbs, Op::kSign, Op::kNot, Op::kCopy, Op::kPopulationCount,
      Op::kCountLeadingZeros};
  const InstrId value = Pick(kAnything);
  const DType dtype = ShapeOf(value).dtype;
  if (dtype == DType::kPred) return Add(Op::kNot, {value});
  if (IsFloat(dtype)) return Add(OneOf(kFloatOps), {value});
  return Add(IsComplex(dtype) ? OneOf(kComplexOps) : OneOf(kIntegerOps), {value});
}

InstrId HloGenerator::Binary() {
  constexpr Op kFloatOps[] = {Op::kAdd,     Op::kSubtract, Op::kMultiply,  Op::kDivide,
                              Op::kMaximum, Op::kMinimum,  Op::kAdd,       Op::kSubtract,
                              Op::kPower,   Op::kAtan2,    Op::kRemainder, Op::kMultiply};
  constexpr Op kIntegerOps[] = {Op::kAdd,     Op::kSubtract, Op::kMultiply, Op::kDivide,
                                Op::kMaximum, Op::kMinimum,  Op::kPower,    Op::kRemainder};
  constexpr Op kComplexOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide};
  const InstrId value = Pick(kNumbers);
  const DType dtype = ShapeOf(value).dtype;
  InstrId other = Like(dtype, Dims(ShapeOf(value).dims));
  InstrId first = value;
  if (Chance(50)) std::swap(first, other);
  const Op op = IsFloat(dtype)     ? OneOf(kFloatOps)
                : IsComplex(dtype) ? OneOf(kComplexOps)
                                   : OneOf(kIntegerOps);
  return Add(op, {first, other});
}

InstrId HloGenerator::Bitwise() {
  constexpr Op kOps[] = {Op::kAnd,       Op::kOr,
                         Op::kXor,       Op::kShiftRightArithmetic,
                         Op::kShiftLeft, Op::kShiftRightLogical};
  const InstrId value = Pick(kIntegers | kPreds);
  const DType dtype = ShapeOf(value).dtype;
  const Op op = kOps[Below(dtype == DType::kPred ? 3 : std::size(kOps))];
  return Add(op, {value, Like(dtype, Dims(ShapeOf(value).dims))});
}

CompareAttrs HloGenerator::CompareOf(DType dtype, Direction direction, bool total) const {
  switch (ClassOf(dtype)) {
    case DTypeClass::Float: {
      return {direction, total ? CompareType::kTotalOrder : CompareType::kFloat};
    }
    case DTypeClass::Signed: return {direction, CompareType::kSigned};
    case DTypeClass::Complex: return {direction, CompareType::kFloat};
    default: return {direction, CompareType::kUnsigned};
  }
}

InstrId HloGenerator::Compare() {
  constexpr Direction kDirections[] = {Direction::kEq, Direction::kNe, Direction::kLt,
                                       Direction::kLe, Direction::kGt, Direction::kGe};
  const InstrId value = Pick(kAnything);
  const Shape shape = ShapeOf(value);
  const auto count = IsComplex(shape.dtype) ? size_t{2} : std::size(kDirections);
  const Direction direction = kDirections[Below(count)];
  return Add(Op::kCompare, {value, Like(shape.dtype, shape.dims)},
             CompareOf(shape.dtype, direction, Chance(20)));
}

InstrId HloGenerator::Select() {
  const InstrId value = Pick(kAnything);
  const Shape shape = ShapeOf(value);
  const InstrId predicate = Like(DType::kPred, Chance(80) ? shape.dims : Dims{});
  return Add(Op::kSelect, {predicate, value, Like(shape.dtype, shape.dims)});
}

InstrId HloGenerator::Clamp() {
  const InstrId value = Pick(kReals);
  const Shape shape = ShapeOf(value);
  const InstrId low = Chance(60) ? Scalar(shape.dtype, 0) : Like(shape.dtype, shape.dims);
  const InstrId high = Chance(60) ? Scalar(shape.dtype, 2) : Like(shape.dtype, shape.dims);
  return Add(Op::kClamp, {low, value, high});
}

InstrId HloGenerator::ConvertStep() {
  const InstrId value = Pick(kAnything);
  // From complex to real drops the imaginary part; XLA allows it only through `real`.
  const uint32_t to = IsComplex(ShapeOf(value).dtype) ? kComplexes : kAnything;
  return Convert(value, PickType(to));
}

InstrId HloGenerator::BitcastConvert() {
  const InstrId value = Pick(kReals);
  const DType to = PickType(kReals);
  const int from_width = BitWidth(ShapeOf(value).dtype), to_width = BitWidth(to);
  if (from_width < 8 || to_width < 8) return Invalid();
  Dims dims = ShapeOf(value).dims;
  if (from_width > to_width) dims.push_back(from_width / to_width);
  if (from_width < to_width) {
    dims.push_back(to_width / from_width);
    const InstrId pieces = Like(ShapeOf(value).dtype, dims);
    dims.pop_back();
    return Add(Op::kBitcastConvert, {pieces}, {}, {}, ArrayShape(to, dims));
  }
  return Add(Op::kBitcastConvert, {value}, {}, {}, ArrayShape(to, dims));
}

InstrId HloGenerator::ReducePrecision() {
  const InstrId value = Pick(kFloats);
  if (BitWidth(ShapeOf(value).dtype) < 16) return Invalid();
  return Add(Op::kReducePrecision, {value}, ReducePrecisionAttrs{Between(2, 8), Between(1, 10)});
}

InstrId HloGenerator::ComplexParts() {
  const InstrId value = Pick(kFloats | kComplexes);
  const Shape shape = ShapeOf(value);
  if (IsComplex(shape.dtype)) return Add(Chance(50) ? Op::kReal : Op::kImag, {value});
  if (shape.dtype == DType::kF32 || shape.dtype == DType::kF64)
    return Add(Op::kComplex, {value, Like(shape.dtype, shape.dims)});
  const InstrId wide = Convert(value, DType::kF32);
  return Add(Op::kComplex, {wide, Like(DType::kF32, shape.dims)});
}

InstrId HloGenerator::Map() {
  std::vector<InstrId> operands{Pick(kReals)};
  const Dims dims = ShapeOf(operands[0]).dims;
  if (Chance(60)) operands.push_back(Like(PickType(kReals), dims));
  std::vector<Shape> parameters;
  for (const InstrId id : operands) parameters.push_back(ArrayShape(ShapeOf(id).dtype, {}));
  const ComputationId body =
      Nested("map", parameters, true, [&](const std::vector<InstrId>&) -> InstrId {
        Steps(static_cast<int>(Between(1, 4)));
        return scope_->values.back();
      });
  Dims all;
  for (size_t i = 0; i < dims.size(); ++i) all.push_back(static_cast<int64_t>(i));
  return Add(Op::kMap, operands, DimsAttrs{all}, {body});
}

}  // namespace fusemark
