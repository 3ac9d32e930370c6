// sin, cos, tan, atan2. f32 reduces its argument in f64 (x - n pi/2 in two parts, exact products
// for n < 2^20), which holds for |x| <= 1e6 and needs no FMA; larger arguments, rare, take libm's
// path under one branch for all lanes. f64 is libm per lane.
#include <llvm/IR/MDBuilder.h>

#include <limits>
#include <numbers>

#include "compiler/codegen/math/math.h"

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

struct Quadrant {
  Value* sin;  // of the reduced argument
  Value* cos;
  Value* n;  // i32: argument = n pi/2 + reduced
};

Quadrant SinCosReduced(const LaneOps& ops, Value* x) {
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
  return {sin, cos, n32};
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
  Value* small = ops.ir.CreateFCmpOLT(ops.Abs(x), ops.Float(x, 0x1p-12));
  return ops.ir.CreateSelect(small, x, otherwise);
}

// sin of (n pi/2 + reduced).
Value* SinOfQuadrant(const LaneOps& ops, const Quadrant& quadrant, Value* n) {
  Value* value = ops.ir.CreateSelect(BitSet(ops, n, 1), quadrant.cos, quadrant.sin);
  return ops.ir.CreateSelect(BitSet(ops, n, 2), ops.ir.CreateFNeg(value), value);
}

}  // namespace

Value* EmitSin(const LaneOps& ops, Value* x) {
  if (ops.IsF64(x)) return ops.LibmPerLane("sin", {x});
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* fast = OrSmallArgument(ops, x, SinOfQuadrant(ops, quadrant, quadrant.n));
  return WithLargeArguments(ops, x, fast, "sin");
}

Value* EmitCos(const LaneOps& ops, Value* x) {
  if (ops.IsF64(x)) return ops.LibmPerLane("cos", {x});
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* next = ops.ir.CreateAdd(quadrant.n, ops.Int(quadrant.n, 1));
  return WithLargeArguments(ops, x, SinOfQuadrant(ops, quadrant, next), "cos");
}

Value* EmitTan(const LaneOps& ops, Value* x) {
  if (ops.IsF64(x)) return ops.LibmPerLane("tan", {x});
  const Quadrant quadrant = SinCosReduced(ops, x);
  Value* odd = BitSet(ops, quadrant.n, 1);
  Value* numerator = ops.ir.CreateSelect(odd, ops.ir.CreateFNeg(quadrant.cos), quadrant.sin);
  Value* denominator = ops.ir.CreateSelect(odd, quadrant.sin, quadrant.cos);
  Value* fast = OrSmallArgument(ops, x, ops.ir.CreateFDiv(numerator, denominator));
  return WithLargeArguments(ops, x, fast, "tan");
}

Value* EmitAtan2(const LaneOps& ops, Value* y, Value* x) {
  if (ops.IsF64(x)) return ops.LibmPerLane("atan2", {y, x});
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
  Value* result = ops.CopySign(EmitNarrow(ops, angle), y);
  return ir.CreateSelect(ir.CreateFCmpUNO(x, y), ir.CreateFAdd(x, y), result);
}

}  // namespace fusemark::codegen
