#include <fmt/format.h>

#include "compiler/ir/infer.h"

namespace fusemark {
namespace {

// Which element types an opcode takes.
enum Domain : uint8_t {
  kPredicates = 1,
  kIntegers = 2,
  kFloats = 4,
  kComplexes = 8,
  kNumbers = kIntegers | kFloats | kComplexes,
  kAll = kPredicates | kNumbers,
};

uint8_t DomainOf(Op op) {
  switch (op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot: return kPredicates | kIntegers;
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical:
    case Op::kPopulationCount:
    case Op::kCountLeadingZeros: return kIntegers;
    case Op::kExponential:
    case Op::kExponentialMinusOne:
    case Op::kLog:
    case Op::kLogPlusOne:
    case Op::kLogistic:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kCbrt:
    case Op::kTanh:
    case Op::kTan:
    case Op::kSine:
    case Op::kCosine: return kFloats | kComplexes;
    case Op::kErf:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundNearestAfz:
    case Op::kRoundNearestEven:
    case Op::kIsFinite:
    case Op::kReducePrecision:
    case Op::kComplex: return kFloats;
    case Op::kReal:
    case Op::kImag: return kFloats | kComplexes;
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign: return kNumbers;
    default: return kAll;
  }
}

std::string_view DomainText(uint8_t domain) {
  switch (domain) {
    case kPredicates | kIntegers: return "a pred or integer array";
    case kIntegers: return "an integer array";
    case kFloats: return "a float array";
    case kFloats | kComplexes: return "a float or complex array";
    case kNumbers: return "an integer, float or complex array";
    default: return "an array";
  }
}

uint8_t DomainOf(DType dtype) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred: return kPredicates;
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: return kIntegers;
    case DTypeClass::Float: return kFloats;
    case DTypeClass::Complex: return kComplexes;
    case DTypeClass::Opaque: return 0;
  }
  return 0;
}

Result<void> CheckDomain(const InferContext& context) {
  const uint8_t domain = DomainOf(context.instr.op);
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const Shape& shape = context.shape(i);
    if (!shape.is_array() || (DomainOf(shape.dtype) & domain) == 0)
      return context.BadOperand(i, DomainText(domain));
  }
  return Ok();
}

// The written result keeps the operand's dims and has an element type of its own.
Inferred CheckConvert(const InferContext& context) {
  if (context.instr.shape.is_array() && DimsMatch(context.instr.shape, context.shape(0)))
    return std::optional<Shape>();
  return context.Fail(fmt::format("the result is written as {}, expected the dimensions of {}",
                                  ToString(context.instr.shape), ToString(context.shape(0))));
}

// Between different widths the narrower side has one more, minor-most dim that holds the pieces.
Inferred CheckBitcastConvert(const InferContext& context) {
  const Shape& from = context.shape(0);
  const Shape& to = context.instr.shape;
  const auto width = [](const Shape& shape) {
    return shape.dtype == DType::kPred ? 8 : BitWidth(shape.dtype);
  };
  const bool narrows = to.is_array() && width(from) > width(to);
  const bool widens = to.is_array() && width(from) < width(to);
  Dims expected = from.dims;
  bool fits = to.is_array() && IsComplex(from.dtype) == IsComplex(to.dtype);
  if (narrows) expected.push_back(width(from) / width(to));
  if (widens) {
    fits = fits && !expected.empty() && expected.back() == width(to) / width(from);
    if (!expected.empty()) expected.pop_back();
  }
  if (fits && DimsMatch(to, PlainArray(to.dtype, expected))) return std::optional<Shape>();
  return context.Fail(fmt::format("the result is written as {}, which does not have the bits of {}",
                                  ToString(to), ToString(from)));
}

Inferred InferSelectOrClamp(const InferContext& context) {
  const bool is_select = context.instr.op == Op::kSelect;
  const Shape result = Plain(context.shape(1));
  if (is_select) {
    const Shape& predicate = context.shape(0);
    if (predicate.dtype != DType::kPred ||
        !(predicate.is_scalar() || DimsMatch(predicate, result))) {
      return context.BadOperand(
          0, fmt::format("pred[] or {}", ToString(PlainArray(DType::kPred, result.dims))));
    }
    FM_RETURN_IF_ERROR(context.ExpectSameType(2, result));
    return std::optional<Shape>(result);
  }
  for (size_t i : {size_t{0}, size_t{2}}) {
    const Shape& bound = context.shape(i);
    const bool scalar = bound.is_scalar() && bound.dtype == result.dtype;
    if (!scalar && !Compatible(bound, result)) {
      return context.BadOperand(
          i, fmt::format("{}[] or {}", DTypeName(result.dtype), ToString(result)));
    }
  }
  return std::optional<Shape>(result);
}

Result<void> CheckPrecision(const InferContext& context) {
  const auto& attrs = context.instr.As<ReducePrecisionAttrs>();
  if (attrs.exponent_bits >= 1 && attrs.exponent_bits <= 11 && attrs.mantissa_bits >= 0 &&
      attrs.mantissa_bits <= 52) {
    return Ok();
  }
  return context.Fail(
      fmt::format("found {} exponent and {} mantissa bits, expected 1 to 11 and 0 to 52",
                  attrs.exponent_bits, attrs.mantissa_bits));
}

}  // namespace

Inferred InferElementwise(const InferContext& context) {
  const Op op = context.instr.op;
  // copy moves anything that is not control flow, tuples too.
  if (op == Op::kCopy) return std::optional<Shape>(Plain(context.shape(0)));
  FM_RETURN_IF_ERROR(CheckDomain(context));
  if (op == Op::kConvert || op == Op::kStochasticConvert) return CheckConvert(context);
  if (op == Op::kBitcastConvert) return CheckBitcastConvert(context);
  if (op == Op::kSelect) {
    if (!context.shape(1).is_array()) return context.BadOperand(1, "an array");
    return InferSelectOrClamp(context);
  }
  if (op == Op::kClamp) return InferSelectOrClamp(context);
  if (op == Op::kReducePrecision) FM_RETURN_IF_ERROR(CheckPrecision(context));
  Shape result = Plain(context.shape(0));
  for (size_t i = 1; i < context.operand_count(); ++i) {
    FM_RETURN_IF_ERROR(context.ExpectSameType(i, result));
  }
  if (op == Op::kCompare || op == Op::kIsFinite) result.dtype = DType::kPred;
  if (op == Op::kComplex) {
    if (result.dtype != DType::kF32 && result.dtype != DType::kF64)
      return context.BadOperand(0, "an f32 or f64 array");
    result.dtype = result.dtype == DType::kF32 ? DType::kC64 : DType::kC128;
  }
  const bool takes_part = op == Op::kAbs || op == Op::kReal || op == Op::kImag;
  if (takes_part && IsComplex(result.dtype)) result.dtype = ComponentOf(result.dtype);
  return std::optional<Shape>(std::move(result));
}

}  // namespace fusemark
