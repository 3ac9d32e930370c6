// exp and what is built from it: expm1, logistic, tanh, erf.
//
// x = n ln2 + r with |r| <= ln2/2, exp(r) - 1 = r + r^2 P(r); P is the minimax polynomial (Remez)
// with absolute error 2^-35 for f32 and 2^-65 for f64.
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/math/math.h"
#include "compiler/codegen/math/pair.h"

namespace fusemark::codegen {

using llvm::Value;

Rounded EmitRoundScaled(const LaneOps& ops, Value* x, double scale) {
  const double magic = ops.IsF64(x) ? 0x1.8p52 : 0x1.8p23;
  Value* magic_value = ops.Float(x, magic);
  Value* shifted = ops.Mad(x, ops.Float(x, scale), magic_value);
  Value* integer = ops.ir.CreateSub(ops.Bits(shifted), ops.Bits(magic_value));
  return {ops.ir.CreateFSub(shifted, magic_value), integer};
}

Value* EmitPowerOf2(const LaneOps& ops, Value* n, llvm::Type* scalar_float) {
  const bool f64 = scalar_float->isDoubleTy();
  Value* biased = ops.ir.CreateAdd(n, ops.Int(n, f64 ? 1023 : 127));
  return ops.FromBits(ops.ir.CreateShl(biased, ops.Int(n, f64 ? 52 : 23)), scalar_float);
}

Value* EmitScaleByPowerOf2(const LaneOps& ops, Value* value, Value* n) {
  llvm::Type* scalar = value->getType()->getScalarType();
  Value* half = ops.ir.CreateAShr(n, ops.Int(n, 1));
  Value* rest = ops.ir.CreateSub(n, half);
  Value* once = ops.ir.CreateFMul(value, EmitPowerOf2(ops, half, scalar));
  return ops.ir.CreateFMul(once, EmitPowerOf2(ops, rest, scalar));
}

namespace {

constexpr double kLog2E = 1.44269504088896340736;

// ln 2, its high part with few bits, so n * high is exact with and without FMA.
struct Ln2 {
  double high, low;
};
Ln2 Ln2For(bool f64) {
  return f64 ? Ln2{6.93147180369123816490e-01, 1.90821492927058770002e-10}
             : Ln2{0.693359375, -2.12194440054690583e-4};
}

// P of the header.
Value* ExpPoly(const LaneOps& ops, Value* r) {
  if (!ops.IsF64(r)) {
    return ops.Poly(r, {0.4999999999990884209, 0.1666666671905057649, 0.04166666685506360237,
                        0.008333298461329770233, 0.001388882391750371278, 0.0001989929151433393591,
                        2.487627750910504636e-5});
  }
  return ops.Poly(r, {0.5, 0.1666666666666666667, 0.04166666666666667678, 0.008333333333333336066,
                      0.001388888888887907282, 0.0001984126984370125082, 2.480158733644496446e-5,
                      2.755731926548062978e-6, 2.75572632764946668e-7, 2.505205589324311965e-8,
                      2.091813860127328393e-9, 1.609122911830391629e-10});
}

struct ExpParts {
  Value* n;      // integer
  Value* expm1;  // exp(r) - 1
};

ExpParts ReduceExp(const LaneOps& ops, Value* x) {
  const Rounded n = EmitRoundScaled(ops, x, kLog2E);
  const Ln2 ln2 = Ln2For(ops.IsF64(x));
  Value* r = ops.Mad(n.value, ops.Float(x, -ln2.high), x);
  r = ops.Mad(n.value, ops.Float(x, -ln2.low), r);
  return {n.integer, ops.Mad(ops.ir.CreateFMul(r, r), ExpPoly(ops, r), r)};
}

// NaN passes through both.
Value* ClampAbove(const LaneOps& ops, Value* x, double high) {
  Value* limit = ops.Float(x, high);
  return ops.ir.CreateSelect(ops.ir.CreateFCmpOGT(x, limit), limit, x);
}
Value* ClampBelow(const LaneOps& ops, Value* x, double low) {
  Value* limit = ops.Float(x, low);
  return ops.ir.CreateSelect(ops.ir.CreateFCmpOLT(x, limit), limit, x);
}

}  // namespace

Value* EmitExp(const LaneOps& ops, Value* x) {
  // Beyond these the result is 0 or infinity; within them n stays in reach of the two-step scaling.
  const bool f64 = ops.IsF64(x);
  Value* clamped = ClampBelow(ops, ClampAbove(ops, x, f64 ? 710 : 90), f64 ? -746 : -105);
  const ExpParts parts = ReduceExp(ops, clamped);
  Value* significand = ops.ir.CreateFAdd(parts.expm1, ops.Float(x, 1));
  return EmitScaleByPowerOf2(ops, significand, parts.n);
}

Value* EmitExpOfPair(const LaneOps& ops, const Pair& x) {
  auto& ir = ops.ir;
  const bool f64 = ops.IsF64(x.high);
  Value* one = ops.Float(x.high, 1);
  // Where the limits of EmitExp hold, the low part says nothing or is NaN.
  const double high_limit = f64 ? 710 : 90, low_limit = f64 ? -746 : -105;
  Value* clamped = ClampBelow(ops, ClampAbove(ops, x.high, high_limit), low_limit);
  Value* inside = ir.CreateFCmpOEQ(clamped, x.high);
  Value* x_low = ir.CreateSelect(inside, x.low, ops.Float(one, 0));
  const Rounded n = EmitRoundScaled(ops, clamped, kLog2E);
  const Ln2 ln2 = Ln2For(f64);
  Value* coarse = ops.Mad(n.value, ops.Float(one, -ln2.high), clamped);
  Value* fine = ops.Mad(n.value, ops.Float(one, -ln2.low), x_low);
  const Pair r = EmitFastTwoSum(ops, coarse, fine);
  const Pair head = EmitFastTwoSum(ops, one, r.high);
  Value* tail = ops.Mad(r.low, r.high, r.low);
  tail = ops.Mad(ir.CreateFMul(r.high, r.high), ExpPoly(ops, r.high), tail);
  Value* significand = ir.CreateFAdd(head.high, ir.CreateFAdd(head.low, tail));
  return EmitScaleByPowerOf2(ops, significand, n.integer);
}

Value* EmitExpm1(const LaneOps& ops, Value* x) {
  // Upper limits: n may be one above the largest exponent, which the halved scale below absorbs.
  const bool f64 = ops.IsF64(x);
  Value* clamped = ClampBelow(ops, ClampAbove(ops, x, f64 ? 709.9 : 88.9), f64 ? -40 : -20);
  const ExpParts parts = ReduceExp(ops, clamped);
  Value* half_scale = EmitPowerOf2(ops, ops.ir.CreateSub(parts.n, ops.Int(parts.n, 1)),
                                   x->getType()->getScalarType());
  Value* offset = ops.ir.CreateFSub(half_scale, ops.Float(x, 0.5));
  Value* half = ops.Mad(half_scale, parts.expm1, offset);
  Value* result = ops.ir.CreateFAdd(half, half);
  // Near zero halving would round denormals; and the sign of zero is x's.
  Value* unscaled = ops.ir.CreateICmpEQ(parts.n, ops.Int(parts.n, 0));
  return ops.CopySign(ops.ir.CreateSelect(unscaled, parts.expm1, result), x);
}

Value* EmitLogistic(const LaneOps& ops, Value* x) {
  // exp of the negative magnitude never overflows, so both tails keep their relative accuracy.
  Value* one = ops.Float(x, 1);
  Value* e = EmitExp(ops, ops.ir.CreateFNeg(ops.Abs(x)));
  Value* negative = ops.ir.CreateFCmpOLT(x, ops.Float(x, 0));
  Value* numerator = ops.ir.CreateSelect(negative, e, one);
  return ops.ir.CreateFDiv(numerator, ops.ir.CreateFAdd(one, e));
}

Value* EmitTanh(const LaneOps& ops, Value* x) {
  // tanh(a) = t / (t + 2), t = expm1(2a); from the limit on the quotient rounds to 1.
  Value* a = ClampAbove(ops, ops.Abs(x), ops.IsF64(x) ? 22 : 10);
  Value* t = EmitExpm1(ops, ops.ir.CreateFAdd(a, a));
  Value* quotient = ops.ir.CreateFDiv(t, ops.ir.CreateFAdd(t, ops.Float(x, 2)));
  return ops.CopySign(quotient, x);
}

namespace {

// erf(x)/x - 1 in z = x^2 below 1, and -log(erfc(t))/t - 1 in t from there to 6, the latter fitted
// (Remez) with the weight that the result gives it: errors of 2^-57 and 2^-61.
Value* ErfPoly64(const LaneOps& ops, Value* z) {
  return ops.Poly(z, {0.12837916709551257, -0.3761263890318352, 0.112837916709442,
                      -0.026866170643113414, 0.0052239776061308422, -0.00085483259297662443,
                      0.0001205529358693695, -1.4924712439534814e-5, 1.6447132699786621e-6,
                      -1.6206318752969209e-7, 1.3710988704190523e-8, -7.7794629717615969e-10});
}

Value* LogErfcPoly64(const LaneOps& ops, Value* t) {
  return ops.Poly(
      t, {0.12837920105970222, 0.63661936472702199, 0.10277490035855526, -0.019136531544985068,
          -0.00018925564276140265, 0.001659569670645233, -0.00053809945622145277,
          -3.2532468915580314e-5, 0.00011702496854765123, -6.7747448015747576e-5,
          2.5433063826959966e-5, -7.1416887699309054e-6, 1.5580189548555329e-6,
          -2.6525829346238061e-7, 3.4739762788087425e-8, -3.388002900648534e-9,
          2.3194244935627562e-10, -9.9465930124573382e-12, 2.0098484881571919e-13});
}

// Small: x + x P(x^2). Large: 1 - exp(-(t + t Q(t))). From 6 on that rounds to 1.
Value* Erf64(const LaneOps& ops, Value* x) {
  Value* a = ops.Abs(x);
  Value* small = ops.Mad(ErfPoly64(ops, ops.ir.CreateFMul(x, x)), x, x);
  Value* t = ClampAbove(ops, a, 6);
  Value* exponent = ops.ir.CreateFNeg(ops.Mad(LogErfcPoly64(ops, t), t, t));
  Value* large = ops.ir.CreateFSub(ops.Float(x, 1), EmitExp(ops, exponent));
  Value* is_small = ops.ir.CreateFCmpOLT(a, ops.Float(x, 1));
  return ops.CopySign(ops.ir.CreateSelect(is_small, small, large), x);
}

// -expm1(s) for s = log(erfc(|x|)) = t + t Q(t), t = -|x|, over the whole range: near zero s keeps
// its relative accuracy, and expm1 with it. Q and expm1's polynomial (Remez, Q with the weight that
// the result gives it) have errors of 2^-31. From 4 on it rounds to 1; s >= -17.6, so that one
// step reduces it and scales back.
Value* Erf32(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* one = ops.Float(x, 1);
  Value* t = ClampBelow(ops, ir.CreateFNeg(ops.Abs(x)), -4);
  Value* q = ops.Poly(
      t, {0.12837916662787197, -0.6366198345741444, 0.10277127718006146, 0.01911769496588686,
          -0.00025306084204088325, -0.0017993535493549093, -0.0007406856239100144,
          -0.00016748080497385964, -2.1354550453716417e-05, -1.1932937265222883e-06});
  Value* s = ops.Mad(q, t, t);
  const Rounded n = EmitRoundScaled(ops, s, kLog2E);
  Value* r = ops.Mad(n.value, ops.Float(x, -0.69314718055994531), s);
  Value* p = ops.Poly(r, {0.5000000046413923, 0.16666666817085518, 0.04166635466321482,
                          0.00833327304839206, 0.0013941008325990647, 0.0001991417076932559});
  Value* expm1 = ops.Mad(ir.CreateFMul(r, r), p, r);
  // 1 - 2^n (1 + expm1(r)), whose first difference is exact.
  Value* scale = EmitPowerOf2(ops, n.integer, x->getType()->getScalarType());
  Value* rest = ir.CreateFSub(one, scale);
  return ops.CopySign(ops.Mad(ir.CreateFNeg(scale), expm1, rest), x);
}

}  // namespace

Value* EmitErf(const LaneOps& ops, Value* x) {
  return ops.IsF64(x) ? Erf64(ops, x) : Erf32(ops, x);
}

}  // namespace fusemark::codegen
