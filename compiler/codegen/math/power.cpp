// pow, cbrt, fmod: one scheme for f32 and f64, which differ in constants only.
//
// pow: exp(y log x) with the logarithm and the product as pairs, as SLEEF and fdlibm do.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "compiler/codegen/math/math.h"
#include "compiler/codegen/math/pair.h"

namespace fusemark::codegen {

using llvm::Value;

Value* EmitPow(const LaneOps& ops, Value* x, Value* y) {
  auto& ir = ops.ir;
  Value* one = ops.Float(x, 1);
  Value* zero = ops.Float(x, 0);
  // 1^y and x^0 are 1 even for NaN (libm: not for a signalling one).
  Value* trivial = ir.CreateOr(ir.CreateFCmpOEQ(x, one), ir.CreateFCmpOEQ(y, zero));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value* a = ops.Abs(x);
  Pair log = EmitLogPair(ops, a);
  Value* above = ir.CreateSelect(ir.CreateFCmpOLT(a, ops.Float(a, kInf)), log.high, a);
  log.high = ir.CreateSelect(ir.CreateFCmpOEQ(a, zero), ops.Float(a, -kInf), above);
  Pair exponent = EmitTwoProduct(ops, y, log.high);
  exponent.low = ops.Mad(y, log.low, exponent.low);
  Value* magnitude = EmitExpOfPair(ops, exponent);
  // 0 * inf above: (-1)^+-inf is 1.
  Value* unit = ir.CreateAnd(ir.CreateFCmpOEQ(a, one), ir.CreateFCmpORD(y, y));
  magnitude = ir.CreateSelect(unit, one, magnitude);

  Value* truncated = ops.Intrinsic(llvm::Intrinsic::trunc, y);
  Value* integral = ir.CreateFCmpOEQ(truncated, y);
  Value* half = ir.CreateFMul(y, ops.Float(y, 0.5));
  Value* half_integral = ir.CreateFCmpOEQ(ops.Intrinsic(llvm::Intrinsic::trunc, half), half);
  Value* odd = ir.CreateAnd(integral, ir.CreateNot(half_integral));
  Value* bits = ops.Bits(x);
  Value* negative = ir.CreateICmpSLT(bits, ops.Int(bits, 0));
  Value* result = ir.CreateSelect(ir.CreateAnd(negative, odd), ir.CreateFNeg(magnitude), magnitude);
  // A finite negative base has no real power with a fractional exponent.
  Value* finite_negative =
      ir.CreateAnd(ir.CreateFCmpOLT(x, zero), ir.CreateFCmpOGT(x, ops.Float(x, -kInf)));
  Value* undefined = ir.CreateAnd(finite_negative, ir.CreateNot(integral));
  result =
      ir.CreateSelect(undefined, ops.Float(x, std::numeric_limits<double>::quiet_NaN()), result);
  return ir.CreateSelect(trivial, one, result);
}

namespace {

// A third of the bit pattern, whose high half is enough for f64 and divides by a 32-bit product.
Value* ThirdOfBits(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  Value* bits = ops.Bits(x);
  if (!ops.IsF64(x)) return ir.CreateUDiv(bits, ops.Int(bits, 3));
  Value* high = ir.CreateLShr(bits, ops.Int(bits, 32));
  Value* third = ir.CreateLShr(ir.CreateMul(high, ops.Int(bits, 0xaaaaaaab)), ops.Int(bits, 33));
  return ir.CreateShl(third, ops.Int(bits, 32));
}

}  // namespace

// x^(-1/3) from a third of the exponent (Moroz et al. 2021: within 4 %) by two steps of order
// three, which leave 2^-34; then one Newton step for the root with the exact residual x - t^3.
Value* EmitCbrt(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  const bool f64 = ops.IsF64(x);
  Value* one = ops.Float(x, 1);
  Value* a = ops.Abs(x);
  // Keeps the cube and its low part within the normal numbers.
  Value* small = ir.CreateFCmpOLT(a, ops.Float(a, f64 ? 0x1p-700 : 0x1p-60));
  Value* large = ir.CreateFCmpOGT(a, ops.Float(a, f64 ? 0x1p900 : 0x1p90));
  const double root = f64 ? 0x1p200 : 0x1p30;
  auto scale = [&](double up) {
    Value* down = ir.CreateSelect(large, ops.Float(a, 1 / up), one);
    return ir.CreateSelect(small, ops.Float(a, up), down);
  };
  Value* m = ir.CreateFMul(a, scale(root * root * root));
  Value* third = ThirdOfBits(ops, m);
  Value* magic = ops.Int(third, f64 ? 0x553ef0ff289dd796LL : 0x54a21d2aLL);
  Value* y = ops.FromBits(ir.CreateSub(magic, third), x->getType()->getScalarType());
  for (int step = 0; step < 2; ++step) {
    Value* cube = ir.CreateFMul(ir.CreateFMul(y, y), y);
    Value* h = ops.Mad(ir.CreateFNeg(m), cube, one);
    Value* factor = ops.Mad(h, ops.Float(h, 2.0 / 9), ops.Float(h, 1.0 / 3));
    y = ops.Mad(ir.CreateFMul(y, h), factor, y);
  }
  Value* square = ir.CreateFMul(y, y);
  Value* t = ir.CreateFMul(m, square);
  const Pair t3 = EmitMultiply(ops, EmitTwoProduct(ops, t, t), {t, ops.Float(t, 0)});
  Value* rest = ir.CreateFSub(ir.CreateFSub(m, t3.high), t3.low);
  Value* corrected = ops.Mad(rest, ir.CreateFMul(square, ops.Float(t, 1.0 / 3)), t);
  Value* result = ir.CreateFMul(corrected, scale(1 / root));
  // Zeros, infinities and NaN are their own roots.
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value* regular =
      ir.CreateAnd(ir.CreateFCmpOGT(a, ops.Float(a, 0)), ir.CreateFCmpOLT(a, ops.Float(a, kInf)));
  return ops.CopySign(ir.CreateSelect(regular, result, a), x);
}

// In both types the quotient is off by less than its last place, so its integral part is at most
// one too large; the remainder, a multiple of y's last place below y, is then exact.
Value* EmitFmod(const LaneOps& ops, Value* x, Value* y) {
  auto& ir = ops.ir;
  const bool f64 = ops.IsF64(x);
  Value* a = ops.Abs(x);
  Value* b = ops.Abs(y);
  Value* quotient = ir.CreateFDiv(a, b);
  Value* whole = ops.Intrinsic(llvm::Intrinsic::trunc, quotient);
  Value* r = nullptr;
  if (ops.cpu.fma) {
    r = ops.Fma(ir.CreateFNeg(whole), b, a);
  } else {
    const Pair product = EmitTwoProduct(ops, whole, b);
    r = ir.CreateFSub(ir.CreateFSub(a, product.high), product.low);
  }
  r = ir.CreateSelect(ir.CreateFCmpOLT(r, ops.Float(r, 0)), ir.CreateFAdd(r, b), r);
  Value* fast = ops.CopySign(r, x);
  Value* small = ir.CreateFCmpOLT(quotient, ops.Float(quotient, f64 ? 0x1p53 : 0x1p24));
  // Infinite ones, and those that would overflow in the halves of a product without FMA.
  Value* limit = ops.Float(a, f64 ? 0x1p990 : 0x1p110);
  Value* finite = ir.CreateAnd(ir.CreateFCmpOLT(a, limit), ir.CreateFCmpOLT(b, limit));
  return EmitLibmWhere(ops, ir.CreateNot(ir.CreateAnd(small, finite)), fast, "fmod", {x, y});
}

}  // namespace fusemark::codegen
