// sin, cos, tan, atan2. Arguments up to 1e6 are reduced by n pi/2 (Cody and Waite): f32 in f64 in
// two parts, f64 in four, with exact products for n < 2^20, which needs no FMA; larger arguments,
// rare, take libm's path under one branch for all lanes.
#include <llvm/IR/MDBuilder.h>

#include <limits>
#include <numbers>

#include "compiler/codegen/math/math.h"
#include "compiler/codegen/math/pair.h"

namespace fusemark::codegen {

using llvm::Value;

Value* EmitWiden(const LaneOps& ops, Value* x) {
  return ops.ir.CreateFPExt(x, ops.ScalarLike(ops.ir.getDoubleTy(), x));
}

Value* EmitNarrow(const LaneOps& ops, Value* x) {
  return ops.ir.CreateFPTrunc(x, ops.ScalarLike(ops.ir.getFloatTy(), x));
}

Value* EmitLibmWhere(const LaneOps& ops, Value* where, Value* fast, std::string_view name,
                     std::initializer_list<Value*> args) {
  auto& ir = ops.ir;
  llvm::Function* function = ir.GetInsertBlock()->getParent();
  auto* slow_block = llvm::BasicBlock::Create(ir.getContext(), "libm", function);
  auto* join = llvm::BasicBlock::Create(ir.getContext(), "join", function);
  llvm::BasicBlock* fast_block = ir.GetInsertBlock();
  llvm::MDNode* unlikely = llvm::MDBuilder(ir.getContext()).createUnlikelyBranchWeights();
  ir.CreateCondBr(ops.Any(where), slow_block, join, unlikely);
  ir.SetInsertPoint(slow_block);
  Value* slow = ir.CreateSelect(where, ops.LibmPerLane(name, args), fast);
  ir.CreateBr(join);
  ir.SetInsertPoint(join);
  llvm::PHINode* result = ir.CreatePHI(fast->getType(), 2);
  result->addIncoming(fast, fast_block);
  result->addIncoming(slow, slow_block);
  return result;
}

namespace {

constexpr double kLargestReduced = 1e6;

// Of the reduced argument; for f64 pairs that are not normalized, for f32 without low parts.
struct Quadrant {
  Pair sin;
  Pair cos;
  Value* n;  // argument = n pi/2 + reduced
};

Quadrant SinCosReduced32(const LaneOps& ops, Value* x) {
  Value* wide = EmitWiden(ops, x);
  const Rounded n = EmitRoundScaled(ops, wide, 2 / std::numbers::pi);
  Value* reduced = ops.Mad(n.value, ops.Float(wide, -1.57079632673412561417e+00), wide);
  reduced = ops.Mad(n.value, ops.Float(wide, -6.07710050650619224932e-11), reduced);
  Value* r = EmitNarrow(ops, reduced);
  Value* z = ops.ir.CreateFMul(r, r);
  Value* p = ops.Poly(z, {-0.1666666664181148784, 0.008333329400177145964, -0.000198393381360862122,
                          2.718334940716706581e-6});
  Value* q = ops.Poly(z, {0.041666666624181222, -0.001388888384695219674, 2.479954056580233428e-5,
                          -2.721168969598134413e-7});
  Value* sin = ops.Mad(ops.ir.CreateFMul(r, z), p, r);
  Value* cos = ops.Mad(ops.ir.CreateFMul(z, z), q, ops.Mad(z, ops.Float(z, -0.5), ops.Float(z, 1)));
  Value* n32 = ops.ir.CreateTrunc(n.integer, ops.ScalarLike(ops.ir.getInt32Ty(), x));
  return {{sin, nullptr}, {cos, nullptr}, n32};
}

// x - n pi/2 as fdlibm's __ieee754_rem_pio2 does it: parts of 33 bits, whose products with n below
// 2^20 are exact, so that what cancels leaves an error below 2^-130 + n 2^-150.
Pair Reduce64(const LaneOps& ops, Value* x, Value* n) {
  auto& ir = ops.ir;
  Value* rest = ir.CreateFSub(x, ir.CreateFMul(n, ops.Float(x, 1.57079632673412561417e+00)));
  Value* second = ir.CreateFMul(n, ops.Float(x, -6.07710050630396597660e-11));
  Value* third = ir.CreateFMul(n, ops.Float(x, -2.02226624871116645580e-21));
  const Pair once = EmitFastTwoSum(ops, rest, second);
  const Pair twice = EmitFastTwoSum(ops, once.high, third);
  Value* last = ops.Mad(n, ops.Float(x, -8.47842766036889956997e-32), twice.low);
  return EmitFastTwoSum(ops, twice.high, ir.CreateFAdd(once.low, last));
}

// fdlibm's __kernel_sin and __kernel_cos.
Quadrant SinCosReduced64(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  const Rounded n = EmitRoundScaled(ops, x, 2 / std::numbers::pi);
  const Pair r = Reduce64(ops, x, n.value);
  Value* z = ir.CreateFMul(r.high, r.high);
  Value* half = ir.CreateFMul(z, ops.Float(z, 0.5));
  Value* p = ops.Poly(
      z, {-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
          2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10});
  Value* q = ops.Poly(
      z, {4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
          -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11});
  // The derivatives at the high part: cos, to first order, and -sin.
  Value* sin_low = ops.Mad(ir.CreateFNeg(half), r.low, r.low);
  sin_low = ops.Mad(ir.CreateFMul(r.high, z), p, sin_low);
  Value* one = ops.Float(z, 1);
  Value* cos = ir.CreateFSub(one, half);
  Value* cos_low =
      ops.Mad(ir.CreateFNeg(r.high), r.low, ir.CreateFSub(ir.CreateFSub(one, cos), half));
  cos_low = ops.Mad(ir.CreateFMul(z, z), q, cos_low);
  return {{r.high, sin_low}, {cos, cos_low}, n.integer};
}

Quadrant SinCosReduced(const LaneOps& ops, Value* x) {
  return ops.IsF64(x) ? SinCosReduced64(ops, x) : SinCosReduced32(ops, x);
}

Value* Sum(const LaneOps& ops, const Pair& pair) {
  return pair.low == nullptr ? pair.high : ops.ir.CreateFAdd(pair.high, pair.low);
}

Pair Select(const LaneOps& ops, Value* condition, const Pair& a, const Pair& b) {
  Value* high = ops.ir.CreateSelect(condition, a.high, b.high);
  if (a.low == nullptr) return {high, nullptr};
  return {high, ops.ir.CreateSelect(condition, a.low, b.low)};
}

Value* BitSet(const LaneOps& ops, Value* n, int64_t bit) {
  return ops.ir.CreateICmpNE(ops.ir.CreateAnd(n, ops.Int(n, bit)), ops.Int(n, 0));
}

Value* WithLargeArguments(const LaneOps& ops, Value* x, Value* fast, std::string_view libm) {
  Value* a = ops.Abs(x);
  Value* inf = ops.Float(x, std::numeric_limits<double>::infinity());
  Value* large = ops.ir.CreateAnd(ops.ir.CreateFCmpOGT(a, ops.Float(x, kLargestReduced)),
                                  ops.ir.CreateFCmpOLT(a, inf));
  return EmitLibmWhere(ops, large, fast, libm, {x});
}

// sin x = x for small x, which also keeps the sign of zero and denormals.
Value* OrSmallArgument(const LaneOps& ops, Value* x, Value* otherwise) {
  const double limit = ops.IsF64(x) ? 0x1p-27 : 0x1p-12;
  Value* small = ops.ir.CreateFCmpOLT(ops.Abs(x), ops.Float(x, limit));
  return ops.ir.CreateSelect(small, x, otherwise);
}

// sin of (n pi/2 + reduced).
Value* SinOfQuadrant(const LaneOps& ops, const Quadrant& quadrant, Value* n) {
  Value* value = Sum(ops, Select(ops, BitSet(ops, n, 1), quadrant.cos, quadrant.sin));
  return ops.ir.CreateSelect(BitSet(ops, n, 2), ops.ir.CreateFNeg(value), value);
}

}  // namespace

Value* EmitSin(const LaneOps& ops, Value* x) {
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* fast = OrSmallArgument(ops, x, SinOfQuadrant(ops, quadrant, quadrant.n));
  return WithLargeArguments(ops, x, fast, "sin");
}

Value* EmitCos(const LaneOps& ops, Value* x) {
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* next = ops.ir.CreateAdd(quadrant.n, ops.Int(quadrant.n, 1));
  return WithLargeArguments(ops, x, SinOfQuadrant(ops, quadrant, next), "cos");
}

Value* EmitTan(const LaneOps& ops, Value* x) {
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* odd = BitSet(ops, quadrant.n, 1);
  const Pair over = Select(ops, odd, quadrant.cos, quadrant.sin);
  const Pair under = Select(ops, odd, quadrant.sin, quadrant.cos);
  Value* quotient = nullptr;
  if (ops.IsF64(x)) {
    quotient = Sum(ops, EmitDivide(ops, EmitFastTwoSum(ops, over.high, over.low),
                                   EmitFastTwoSum(ops, under.high, under.low)));
  } else {
    quotient = ops.ir.CreateFDiv(over.high, under.high);
  }
  Value* value = ops.ir.CreateSelect(odd, ops.ir.CreateFNeg(quotient), quotient);
  Value* fast = OrSmallArgument(ops, x, value);
  return WithLargeArguments(ops, x, fast, "tan");
}

namespace {

// atan(t) - t for |t| <= tan(pi/8), without the low part of t; Remez, relative error 2^-64.
Value* AtanTail(const LaneOps& ops, Value* t) {
  Value* z = ops.ir.CreateFMul(t, t);
  Value* p = ops.Poly(z, {-0.33333333333333328, 0.19999999999997691, -0.14285714285390803,
                          0.11111111088352138, -0.090909081508263813, 0.076922829012404189,
                          -0.066662288654359615, 0.058770424658625265, -0.052185375902087525,
                          0.045040916954397652, -0.033487096611866773, 0.015208006035776354});
  return ops.ir.CreateFMul(ops.ir.CreateFMul(t, z), p);
}

// low / high for low <= high, from tan(pi/8) on the tangent of what is beyond pi/4.
struct Slope {
  Value* tiny;  // and not zero: the error of the quotient underflows
  Value* diagonal;
  Pair t;
};
Slope SlopeOf(const LaneOps& ops, Value* low, Value* high) {
  auto& ir = ops.ir;
  Value* zero = ops.Float(low, 0);
  Value* one = ops.Float(low, 1);
  Value* inf = ops.Float(low, std::numeric_limits<double>::infinity());
  // Keeps products of the division in range; what that loses of `low` is below the least quotient.
  Value* up = ir.CreateSelect(ir.CreateFCmpOLT(high, ops.Float(low, 0x1p-700)),
                              ops.Float(low, 0x1p300), one);
  Value* scale = ir.CreateSelect(ir.CreateFCmpOGT(high, ops.Float(low, 0x1p700)),
                                 ops.Float(low, 0x1p-300), up);
  Value* a = ir.CreateFMul(low, scale);
  Value* b = ir.CreateFMul(high, scale);
  Value* beyond = ir.CreateFCmpOGT(a, ir.CreateFMul(b, ops.Float(b, 0.41421356237309503)));
  const Pair over = Select(ops, beyond, EmitFastTwoSum(ops, ir.CreateFNeg(b), a), {a, zero});
  const Pair under = Select(ops, beyond, EmitFastTwoSum(ops, b, a), {b, zero});
  // 0/0 counts as 0 and inf/inf as 1, which gives C's table of special values.
  Value* special = ir.CreateOr(ir.CreateFCmpOEQ(high, zero), ir.CreateFCmpOEQ(high, inf));
  const Pair t = Select(ops, special, {zero, zero}, EmitDivide(ops, over, under));
  Value* tiny = ir.CreateOr(ir.CreateFCmpOLT(a, ops.Float(a, 0x1p-900)),
                            ir.CreateFCmpOLT(a, ir.CreateFMul(b, ops.Float(b, 0x1p-900))));
  tiny = ir.CreateAnd(tiny, ir.CreateFCmpOGT(low, zero));
  return {tiny, ir.CreateOr(beyond, ir.CreateFCmpOEQ(low, inf)), t};
}

// As f32's, with the tangent and the multiples of pi/4 as pairs, and a second fold at pi/8.
Value* Atan2OfF64(const LaneOps& ops, Value* y, Value* x) {
  auto& ir = ops.ir;
  Value* ay = ops.Abs(y);
  Value* ax = ops.Abs(x);
  Value* steep = ir.CreateFCmpOGT(ay, ax);
  const Slope slope = SlopeOf(ops, ir.CreateSelect(steep, ax, ay), ir.CreateSelect(steep, ay, ax));
  const Pair& t = slope.t;
  // 1 - t^2 is near enough to the derivative for the low part.
  Value* low_tail = ops.Mad(ir.CreateFNeg(ir.CreateFMul(t.high, t.high)), t.low, t.low);
  Value* tail = ir.CreateFAdd(low_tail, AtanTail(ops, t.high));
  Value* x_bits = ops.Bits(x);
  Value* left = ir.CreateICmpSLT(x_bits, ops.Int(x_bits, 0));
  auto quarters = [&](double n) -> Pair {
    constexpr double kPi = std::numbers::pi, kPiLow = 1.2246467991473532e-16;
    return {ops.Float(x, n * kPi / 4), ops.Float(x, n * kPiLow / 4)};  // 3 kPi is exact
  };
  const Pair octant = Select(ops, left, quarters(3), quarters(1));
  const Pair axis = Select(ops, steep, quarters(2), Select(ops, left, quarters(4), quarters(0)));
  const Pair base = Select(ops, slope.diagonal, octant, axis);
  Value* backwards = ir.CreateXor(steep, left);
  auto towards = [&](Value* v) { return ir.CreateSelect(backwards, ir.CreateFNeg(v), v); };
  const Pair sum = EmitFastTwoSum(ops, base.high, towards(t.high));
  Value* low = ir.CreateFAdd(ir.CreateFAdd(base.low, sum.low), towards(tail));
  return EmitLibmWhere(ops, slope.tiny, ir.CreateFAdd(sum.high, low), "atan2", {ay, x});
}

Value* Atan2OfF32(const LaneOps& ops, Value* y, Value* x) {
  auto& ir = ops.ir;
  Value* ay = EmitWiden(ops, ops.Abs(y));
  Value* ax = EmitWiden(ops, ops.Abs(x));
  Value* steep = ir.CreateFCmpOGT(ay, ax);
  Value* low = ir.CreateSelect(steep, ax, ay);
  Value* high = ir.CreateSelect(steep, ay, ax);
  Value* t = ir.CreateFDiv(low, high);
  // 0/0 counts as 0 and inf/inf as 1, which gives C's table of special values.
  t = ir.CreateSelect(ir.CreateFCmpOEQ(high, ops.Float(high, 0)), ops.Float(t, 0), t);
  Value* inf = ops.Float(low, std::numeric_limits<double>::infinity());
  t = ir.CreateSelect(ir.CreateFCmpOEQ(low, inf), ops.Float(t, 1), t);
  Value* p = ops.Poly(ir.CreateFMul(t, t),
                      {0.9999999999473965339, -0.3333333172094455873, 0.1999991806414983401,
                       -0.1428407486953586515, 0.1109399625200159025, -0.08983770798161263214,
                       0.07256013362537856122, -0.05447177347029625344, 0.03444116555655335733,
                       -0.0162844486641980599, 0.004923766083508729423, -0.0006980490085953967107});
  Value* angle = ir.CreateFMul(t, p);
  Value* complement = ir.CreateFSub(ops.Float(t, std::numbers::pi / 2), angle);
  angle = ir.CreateSelect(steep, complement, angle);
  Value* x_bits = ops.Bits(x);
  Value* left = ir.CreateICmpSLT(x_bits, ops.Int(x_bits, 0));
  Value* supplement = ir.CreateFSub(ops.Float(t, std::numbers::pi), angle);
  angle = ir.CreateSelect(left, supplement, angle);
  return EmitNarrow(ops, angle);
}

}  // namespace

Value* EmitAtan2(const LaneOps& ops, Value* y, Value* x) {
  Value* angle = ops.IsF64(x) ? Atan2OfF64(ops, y, x) : Atan2OfF32(ops, y, x);
  Value* result = ops.CopySign(angle, y);
  Value* unordered = ops.ir.CreateFCmpUNO(x, y);
  return ops.ir.CreateSelect(unordered, ops.ir.CreateFAdd(x, y), result);
}

}  // namespace fusemark::codegen
