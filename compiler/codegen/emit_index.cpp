// s64 arithmetic on symbolic index values. It is wrapping arithmetic like any other; ranges only
// ever choose a cheaper form of the same result.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/phase_emitter.h"
#include "compiler/support/check.h"

namespace fusemark::codegen {

using llvm::Value;
using loops::Expr;

namespace {

int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Range AddRanges(const Range& a, const Range& b) {
  Range sum;
  const bool overflow = __builtin_add_overflow(a.low, b.low, &sum.low) ||
                        __builtin_add_overflow(a.high, b.high, &sum.high);
  return overflow ? Range{} : sum;
}

Range SubtractRanges(const Range& a, const Range& b) {
  Range difference;
  const bool overflow = __builtin_sub_overflow(a.low, b.high, &difference.low) ||
                        __builtin_sub_overflow(a.high, b.low, &difference.high);
  return overflow ? Range{} : difference;
}

Range MultiplyRanges(const Range& a, const Range& b) {
  int64_t corners[4];
  const bool overflow = __builtin_mul_overflow(a.low, b.low, &corners[0]) ||
                        __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
                        __builtin_mul_overflow(a.high, b.low, &corners[2]) ||
                        __builtin_mul_overflow(a.high, b.high, &corners[3]);
  if (overflow) return {};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

LaneValue PhaseEmitter::IndexConst(int64_t value) {
  return {.offset = value, .range = {value, value}};
}

Value* PhaseEmitter::AddScalars(Value* a, Value* b) {
  if (a == nullptr) return b;
  return b == nullptr ? a : ir_.CreateAdd(a, b);
}

LaneValue PhaseEmitter::IndexAdd(const LaneValue& a, const LaneValue& b) {
  const Range range = AddRanges(a.range, b.range);
  if (a.varying || b.varying) return IndexInLanes(Op::kAdd, a, b, range);
  return {.value = AddScalars(a.value, b.value),
          .offset = WrapAdd(a.offset, b.offset),
          .stride = WrapAdd(a.stride, b.stride),
          .range = range};
}

LaneValue PhaseEmitter::IndexScale(const LaneValue& a, int64_t factor) {
  const Range range = MultiplyRanges(a.range, {factor, factor});
  if (a.varying) return IndexInLanes(Op::kMultiply, a, IndexConst(factor), range);
  LaneValue scaled{
      .offset = WrapMul(a.offset, factor), .stride = WrapMul(a.stride, factor), .range = range};
  if (a.value != nullptr) {
    scaled.value =
        factor == 1 ? a.value : ir_.CreateMul(a.value, ir_.getInt64(static_cast<uint64_t>(factor)));
  }
  return scaled;
}

Value* PhaseEmitter::Vector32(const LaneValue& value) {
  FM_CHECK(value.range.Fits32());
  llvm::Type* lane = ir_.getInt32Ty();
  if (value.varying) return ir_.CreateTrunc(value.value, WithLanes(lane, context_.lanes));
  LaneValue base = value;
  base.stride = 0;
  Value* splat = ops_.Splat(ir_.CreateTrunc(Scalar(base), lane), context_.lanes);
  if (value.stride == 0) return splat;
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < context_.lanes; ++i)
    steps.push_back(ir_.getInt32(static_cast<uint32_t>(value.stride * i)));
  return ir_.CreateAdd(splat, llvm::ConstantVector::get(steps));
}

// A vector operation, on 32-bit lanes where operands and result fit.
LaneValue PhaseEmitter::IndexInLanes(Op op, const LaneValue& a, const LaneValue& b,
                                     const Range& range) {
  Value* result = nullptr;
  if (a.range.Fits32() && b.range.Fits32() && range.Fits32()) {
    result = EmitIntBinary(ops_, op, true, Vector32(a), Vector32(b));
    result = ir_.CreateSExt(result, WithLanes(ir_.getInt64Ty(), context_.lanes));
  } else {
    result = EmitIntBinary(ops_, op, true, Vector(a), Vector(b));
  }
  return {.value = result, .varying = true, .range = range};
}

LaneValue PhaseEmitter::IndexDivide(Op op, const LaneValue& a, int64_t divisor) {
  const bool quotient = op == Op::kDivide;
  const Range range = quotient ? Range{a.range.low / divisor, a.range.high / divisor}
                               : Range{0, std::min(a.range.high, divisor - 1)};
  if (a.range.high < divisor) return quotient ? IndexConst(0) : a;
  if (a.IsUniform()) {
    Value* by = ir_.getInt64(static_cast<uint64_t>(divisor));
    Value* x = Scalar(a);
    return {.value = quotient ? ir_.CreateUDiv(x, by) : ir_.CreateURem(x, by), .range = range};
  }
  const bool narrow = a.range.Fits32() && divisor <= std::numeric_limits<int32_t>::max();
  Value* x = narrow ? Vector32(a) : Vector(a);
  Value* by = ops_.Int(x, divisor);
  Value* result = quotient ? ir_.CreateUDiv(x, by) : ir_.CreateURem(x, by);
  if (narrow) result = ir_.CreateZExt(result, WithLanes(ir_.getInt64Ty(), context_.lanes));
  return {.value = result, .varying = true, .range = range};
}

LaneValue PhaseEmitter::IndexExtremum(Op op, const LaneValue& a, const LaneValue& b) {
  const bool maximum = op == Op::kMaximum;
  if (a.range.high <= b.range.low) return maximum ? b : a;
  if (b.range.high <= a.range.low) return maximum ? a : b;
  const Range range =
      maximum ? Range{std::max(a.range.low, b.range.low), std::max(a.range.high, b.range.high)}
              : Range{std::min(a.range.low, b.range.low), std::min(a.range.high, b.range.high)};
  if (!a.IsUniform() || !b.IsUniform()) return IndexInLanes(op, a, b, range);
  return {.value = EmitIntBinary(ops_, op, true, Scalar(a), Scalar(b)), .range = range};
}

LaneValue PhaseEmitter::IndexBinary(const Expr& expr, const LaneValue& a, const LaneValue& b) {
  switch (expr.op) {
    case Op::kAdd: return IndexAdd(a, b);
    case Op::kSubtract: {
      LaneValue difference = IndexAdd(a, IndexScale(b, -1));
      difference.range = SubtractRanges(a.range, b.range);
      return difference;
    }
    case Op::kMultiply:
      if (b.IsConstant()) return IndexScale(a, b.offset);
      if (a.IsConstant()) return IndexScale(b, a.offset);
      if (a.IsUniform() && b.IsUniform())
        return {.value = ir_.CreateMul(Scalar(a), Scalar(b)),
                .range = MultiplyRanges(a.range, b.range)};
      return IndexInLanes(Op::kMultiply, a, b, MultiplyRanges(a.range, b.range));
    case Op::kDivide:
    case Op::kRemainder:
      if (b.IsConstant() && b.offset > 0 && a.range.low >= 0)
        return IndexDivide(expr.op, a, b.offset);
      break;
    case Op::kMaximum:
    case Op::kMinimum: return IndexExtremum(expr.op, a, b);
    default: break;
  }
  Value *x = nullptr, *y = nullptr;
  const bool varying = MaterializeBoth(a, b, x, y);
  return Checked(expr, EmitBinary(ops_, expr.op, DType::kS64, x, y), varying);
}

}  // namespace fusemark::codegen
