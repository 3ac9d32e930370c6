// log and log1p.
//
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), f = m - 1. f32: log(1+f) = f - f^2/2 + f^3 P(f). f64:
// log(1+f) = 2 atanh(s), s = f / (2 + f), arranged as in fdlibm so that f - f^2/2 is added last.
#include <limits>

#include "compiler/codegen/math/math.h"
#include "compiler/codegen/math/pair.h"

namespace fusemark::codegen {

using llvm::Value;

namespace {

struct Decomposed {
  Value* f;
  Value* exponent;  // as float
};

Decomposed Decompose(const LaneOps& ops, Value* x) {
  const bool f64 = ops.IsF64(x);
  llvm::Type* scalar = x->getType()->getScalarType();
  Value* bits = ops.Bits(x);
  // Subtracting the pattern of sqrt(1/2) makes the exponent field of what is left count from there.
  Value* origin = ops.Int(bits, f64 ? 0x3fe6a09e667f3bcdLL : 0x3f3504f3LL);
  Value* shift = ops.Int(bits, f64 ? 52 : 23);
  Value* e = ops.ir.CreateAShr(ops.ir.CreateSub(bits, origin), shift);
  Value* m = ops.FromBits(ops.ir.CreateSub(bits, ops.ir.CreateShl(e, shift)), scalar);
  Value* exponent = nullptr;
  if (f64) {
    // |e| < 2^11: placed in the mantissa of 1.5 * 2^52, which needs no 64-bit int conversion.
    Value* magic = ops.Float(x, 0x1.8p52);
    exponent = ops.ir.CreateFSub(ops.FromBits(ops.ir.CreateAdd(ops.Bits(magic), e), scalar), magic);
  } else {
    exponent = ops.ir.CreateSIToFP(e, x->getType());
  }
  return {ops.ir.CreateFSub(m, ops.Float(x, 1)), exponent};
}

Value* LogOfParts32(const LaneOps& ops, const Decomposed& d, Value* correction) {
  Value* f = d.f;
  Value* f2 = ops.ir.CreateFMul(f, f);
  Value* p = ops.Poly(f, {0.333333119347795234, -0.2499998641765508668, 0.2000214605532204084,
                          -0.1666921622624954304, 0.1422002168140373789, -0.1238555668128591022,
                          0.1186513918953172644, -0.1178067048652358672, 0.06920988474898002261});
  Value* tail = ops.ir.CreateFMul(ops.ir.CreateFMul(f, f2), p);
  tail = ops.Mad(d.exponent, ops.Float(f, -2.12194440054690583e-4), tail);
  if (correction != nullptr) tail = ops.ir.CreateFAdd(tail, correction);
  tail = ops.Mad(f2, ops.Float(f, -0.5), tail);
  return ops.Mad(d.exponent, ops.Float(f, 0.693359375), ops.ir.CreateFAdd(f, tail));
}

Value* LogOfParts64(const LaneOps& ops, const Decomposed& d, Value* correction) {
  auto& ir = ops.ir;
  Value* f = d.f;
  Value* s = ir.CreateFDiv(f, ir.CreateFAdd(f, ops.Float(f, 2)));
  Value* z = ir.CreateFMul(s, s);
  Value* r = ops.Poly(z, {0.6666666666666666646, 0.4000000000000089246, 0.2857142857079476754,
                          0.2222222239360378267, 0.1818179544827097887, 0.1538624968108486925,
                          0.1326851628844339351, 0.1308921914585863743});
  r = ir.CreateFMul(r, z);
  Value* half_square = ir.CreateFMul(ir.CreateFMul(f, f), ops.Float(f, 0.5));
  Value* low = ir.CreateFMul(d.exponent, ops.Float(f, 1.90821492927058770002e-10));
  if (correction != nullptr) low = ir.CreateFAdd(low, correction);
  low = ops.Mad(s, ir.CreateFAdd(half_square, r), low);
  Value* rest = ir.CreateFSub(ir.CreateFSub(half_square, low), f);
  return ops.Mad(d.exponent, ops.Float(f, 6.93147180369123816490e-01), ir.CreateFNeg(rest));
}

// Positive finite x, denormals included.
Decomposed DecomposePositive(const LaneOps& ops, Value* x) {
  const bool f64 = ops.IsF64(x);
  Value* denormal = ops.ir.CreateFCmpOLT(x, ops.Float(x, f64 ? 0x1p-1022 : 0x1p-126));
  Value* scaled = ops.ir.CreateFMul(x, ops.Float(x, f64 ? 0x1p54 : 0x1p25));
  Decomposed d = Decompose(ops, ops.ir.CreateSelect(denormal, scaled, x));
  Value* shifted = ops.ir.CreateFSub(d.exponent, ops.Float(x, f64 ? 54 : 25));
  d.exponent = ops.ir.CreateSelect(denormal, shifted, d.exponent);
  return d;
}

// The value of log at the argument `x - zero`: zero gives -inf, below NaN, inf and NaN themselves.
Value* WithSpecialValues(const LaneOps& ops, Value* x, double zero, Value* finite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  auto& ir = ops.ir;
  Value* below_inf = ir.CreateFCmpOLT(x, ops.Float(x, kInf));
  Value* result = ir.CreateSelect(below_inf, finite, x);
  Value* is_zero = ir.CreateFCmpOEQ(x, ops.Float(x, zero));
  result = ir.CreateSelect(is_zero, ops.Float(x, -kInf), result);
  Value* is_below = ir.CreateFCmpOLT(x, ops.Float(x, zero));
  return ir.CreateSelect(is_below, ops.Float(x, std::numeric_limits<double>::quiet_NaN()), result);
}

Value* LogOfParts(const LaneOps& ops, const Decomposed& d, Value* correction) {
  return ops.IsF64(d.f) ? LogOfParts64(ops, d, correction) : LogOfParts32(ops, d, correction);
}

}  // namespace

Value* EmitLogOfNormal(const LaneOps& ops, Value* x, Value* correction) {
  return LogOfParts(ops, Decompose(ops, x), correction);
}

Value* EmitLog(const LaneOps& ops, Value* x) {
  return WithSpecialValues(ops, x, 0, LogOfParts(ops, DecomposePositive(ops, x), nullptr));
}

Pair EmitLogPair(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  const bool f64 = ops.IsF64(x);
  const Decomposed d = DecomposePositive(ops, x);
  Value* zero = ops.Float(x, 0);
  // 2 atanh(s) = 2s (1 + z (1/3 + z R(z))), s = f / (2 + f), z = s^2, as SLEEF's logk; R (Remez)
  // leaves a relative error of 2^-73 for f64 and 2^-36 for f32. All but R in pairs.
  const Pair s = EmitDivide(ops, {d.f, zero}, EmitFastTwoSum(ops, ops.Float(x, 2), d.f));
  const Pair z = EmitMultiply(ops, s, s);
  Value* r =
      f64 ? ops.Poly(z.high, {0.19999999999999989, 0.14285714285722549, 0.11111111108769819,
                              0.090909094349655485, 0.076922784484153006, 0.066681582178796118,
                              0.058374191468601507, 0.059944247582048463})
          : ops.Poly(z.high, {0.20000075999189526, 0.14273572197257968, 0.11709213154095005});
  const double third = f64 ? 1.0 / 3 : double{1.0F / 3};
  const double third_low = f64 ? 0x1.5555555555555p-56 : 1.0 / 3 - third;
  Pair c = EmitFastTwoSum(ops, ops.Float(x, third), ir.CreateFMul(z.high, r));
  c.low = ir.CreateFAdd(c.low, ops.Float(x, third_low));
  const Pair twice = {ir.CreateFAdd(s.high, s.high), ir.CreateFAdd(s.low, s.low)};
  const Pair tail = EmitMultiply(ops, twice, EmitMultiply(ops, z, c));
  // The high part of ln 2 has few bits, so its product with the exponent is exact.
  const double ln2_high = f64 ? 6.93147180369123816490e-01 : 0.693359375;
  const double ln2_low = f64 ? 1.90821492927058770002e-10 : -2.12194440054690583e-4;
  Value* scale = ir.CreateFMul(d.exponent, ops.Float(x, ln2_high));
  const Pair head = EmitFastTwoSum(ops, scale, twice.high);
  const Pair sum = EmitFastTwoSum(ops, head.high, tail.high);
  Value* low = ops.Mad(d.exponent, ops.Float(x, ln2_low), ir.CreateFAdd(twice.low, tail.low));
  low = ir.CreateFAdd(low, ir.CreateFAdd(head.low, sum.low));
  return EmitFastTwoSum(ops, sum.high, low);
}

Value* EmitLog1p(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* one = ops.Float(x, 1);
  Value* u = ir.CreateFAdd(x, one);
  // What 1 + x lost in rounding, relative to u, is log1p's first-order correction.
  Value* big = ir.CreateFCmpOGT(x, one);
  Value* lost = ir.CreateSelect(big, ir.CreateFSub(one, ir.CreateFSub(u, x)),
                                ir.CreateFSub(x, ir.CreateFSub(u, one)));
  Value* result = EmitLogOfNormal(ops, u, ir.CreateFDiv(lost, u));
  Value* tiny = ir.CreateFCmpOLT(ops.Abs(x), ops.Float(x, ops.IsF64(x) ? 0x1p-54 : 0x1p-25));
  return WithSpecialValues(ops, x, -1, ir.CreateSelect(tiny, x, result));
}

}  // namespace fusemark::codegen
