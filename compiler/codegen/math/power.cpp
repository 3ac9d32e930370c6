// pow, cbrt, fmod. For f32 both roots and powers go through f64's log and exp, whose error vanishes
// in the final rounding; f64 is libm per lane.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "compiler/codegen/math/math.h"

namespace fusemark::codegen {

using llvm::Value;

Value* EmitPow(const LaneOps& ops, Value* x, Value* y) {
  auto& ir = ops.ir;
  Value* one = ops.Float(x, 1);
  Value* zero = ops.Float(x, 0);
  // 1^y and x^0 are 1 even for NaN (libm: not for a signalling one).
  Value* trivial = ir.CreateOr(ir.CreateFCmpOEQ(x, one), ir.CreateFCmpOEQ(y, zero));
  if (ops.IsF64(x)) return ir.CreateSelect(trivial, one, ops.LibmPerLane("pow", {x, y}));
  Value* a = ops.Abs(x);
  Value* log = EmitLog(ops, EmitWiden(ops, a));
  Value* magnitude = EmitNarrow(ops, EmitExp(ops, ir.CreateFMul(log, EmitWiden(ops, y))));
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
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value* finite_negative =
      ir.CreateAnd(ir.CreateFCmpOLT(x, zero), ir.CreateFCmpOGT(x, ops.Float(x, -kInf)));
  Value* undefined = ir.CreateAnd(finite_negative, ir.CreateNot(integral));
  result =
      ir.CreateSelect(undefined, ops.Float(x, std::numeric_limits<double>::quiet_NaN()), result);
  return ir.CreateSelect(trivial, one, result);
}

Value* EmitCbrt(const LaneOps& ops, Value* x) {
  if (ops.IsF64(x)) return ops.LibmPerLane("cbrt", {x});
  Value* log = EmitLog(ops, EmitWiden(ops, ops.Abs(x)));
  Value* third = ops.ir.CreateFMul(log, ops.Float(log, 1.0 / 3));
  return ops.CopySign(EmitNarrow(ops, EmitExp(ops, third)), x);
}

Value* EmitFmod(const LaneOps& ops, Value* x, Value* y) {
  if (ops.IsF64(x)) return ops.LibmPerLane("fmod", {x, y});
  // In f64 the truncated quotient is off by at most one, and below 2^29 its product with y and the
  // difference from x are exact; so one correction makes the remainder exact.
  auto& ir = ops.ir;
  Value* a = EmitWiden(ops, ops.Abs(x));
  Value* b = EmitWiden(ops, ops.Abs(y));
  Value* quotient = ir.CreateFDiv(a, b);
  Value* whole = ops.Intrinsic(llvm::Intrinsic::trunc, quotient);
  Value* r = ops.Mad(ir.CreateFNeg(whole), b, a);
  r = ir.CreateSelect(ir.CreateFCmpOLT(r, ops.Float(r, 0)), ir.CreateFAdd(r, b), r);
  r = ir.CreateSelect(ir.CreateFCmpOGE(r, b), ir.CreateFSub(r, b), r);
  Value* fast = ops.CopySign(EmitNarrow(ops, r), x);
  Value* small = ir.CreateFCmpOLT(quotient, ops.Float(quotient, 0x1p29));
  Value* finite = ir.CreateFCmpOLT(b, ops.Float(b, std::numeric_limits<double>::infinity()));
  Value* slow = ir.CreateNot(ir.CreateAnd(small, finite));
  return EmitLibmWhere(ops, slow, fast, "fmod", {x, y});
}

}  // namespace fusemark::codegen
