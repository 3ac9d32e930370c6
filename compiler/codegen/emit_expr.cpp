// Dispatch of elementwise operations by element type, and the float and pred cases.
#include <llvm/IR/Intrinsics.h>

#include <limits>

#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/math/math.h"

namespace fusemark::codegen {

using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

bool IsComputeFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}

Value* EmitSign(const LaneOps& ops, Value* x) {
  auto& ir = ops.ir;
  // NaN and both zeros are their own sign.
  Value* nonzero = ir.CreateFCmpONE(x, ops.Float(x, 0));
  return ir.CreateSelect(nonzero, ops.CopySign(ops.Float(x, 1), x), x);
}

// The greater (or smaller) of both, NaN if either is NaN. The first select is x86's max/min
// instruction, which alone would return its second operand for NaN.
Value* EmitExtremum(const LaneOps& ops, bool maximum, Value* a, Value* b) {
  auto& ir = ops.ir;
  if (llvm::isa<llvm::Constant>(a)) std::swap(a, b);
  Value* picks_b = maximum ? ir.CreateFCmpOGT(b, a) : ir.CreateFCmpOLT(b, a);
  Value* extremum = ir.CreateSelect(picks_b, b, a);  // a if either is NaN
  return ir.CreateSelect(ops.IsNan(b), b, extremum);
}

Value* EmitPredUnary(const LaneOps& ops, Op op, Value* x) {
  if (op == Op::kNot) return ops.ir.CreateNot(x);
  return op == Op::kCopy || op == Op::kAbs ? x : nullptr;
}

Value* EmitPredBinary(const LaneOps& ops, Op op, Value* a, Value* b) {
  switch (op) {
    case Op::kAnd:
    case Op::kMultiply:
    case Op::kMinimum: return ops.ir.CreateAnd(a, b);
    case Op::kOr:
    case Op::kAdd:
    case Op::kMaximum: return ops.ir.CreateOr(a, b);
    case Op::kXor: return ops.ir.CreateXor(a, b);
    default: return nullptr;
  }
}

llvm::CmpInst::Predicate FloatPredicate(Direction direction) {
  switch (direction) {
    case Direction::kEq: return llvm::CmpInst::FCMP_OEQ;
    case Direction::kNe: return llvm::CmpInst::FCMP_UNE;
    case Direction::kLt: return llvm::CmpInst::FCMP_OLT;
    case Direction::kLe: return llvm::CmpInst::FCMP_OLE;
    case Direction::kGt: return llvm::CmpInst::FCMP_OGT;
    case Direction::kGe: return llvm::CmpInst::FCMP_OGE;
  }
  return llvm::CmpInst::BAD_FCMP_PREDICATE;
}

llvm::CmpInst::Predicate IntPredicate(Direction direction, bool is_signed) {
  using P = llvm::CmpInst;
  switch (direction) {
    case Direction::kEq: return P::ICMP_EQ;
    case Direction::kNe: return P::ICMP_NE;
    case Direction::kLt: return is_signed ? P::ICMP_SLT : P::ICMP_ULT;
    case Direction::kLe: return is_signed ? P::ICMP_SLE : P::ICMP_ULE;
    case Direction::kGt: return is_signed ? P::ICMP_SGT : P::ICMP_UGT;
    case Direction::kGe: return is_signed ? P::ICMP_SGE : P::ICMP_UGE;
  }
  return P::BAD_ICMP_PREDICATE;
}

}  // namespace

Value* EmitFloatUnary(const LaneOps& ops, Op op, Value* x) {
  auto& ir = ops.ir;
  switch (op) {
    case Op::kCopy: return x;
    case Op::kNegate: return ir.CreateFNeg(x);
    case Op::kAbs: return ops.Abs(x);
    case Op::kSign: return EmitSign(ops, x);
    case Op::kExponential: return EmitExp(ops, x);
    case Op::kExponentialMinusOne: return EmitExpm1(ops, x);
    case Op::kLog: return EmitLog(ops, x);
    case Op::kLogPlusOne: return EmitLog1p(ops, x);
    case Op::kLogistic: return EmitLogistic(ops, x);
    case Op::kSqrt: return ops.Sqrt(x);
    case Op::kRsqrt: return ir.CreateFDiv(ops.Float(x, 1), ops.Sqrt(x));
    case Op::kCbrt: return EmitCbrt(ops, x);
    case Op::kTanh: return EmitTanh(ops, x);
    case Op::kTan: return EmitTan(ops, x);
    case Op::kSine: return EmitSin(ops, x);
    case Op::kCosine: return EmitCos(ops, x);
    case Op::kErf: return EmitErf(ops, x);
    case Op::kFloor: return ops.Intrinsic(llvm::Intrinsic::floor, x);
    case Op::kCeil: return ops.Intrinsic(llvm::Intrinsic::ceil, x);
    case Op::kRoundNearestAfz: return ops.Intrinsic(llvm::Intrinsic::round, x);
    case Op::kRoundNearestEven: return ops.RoundEven(x);
    case Op::kIsFinite:
      return ir.CreateFCmpOLT(ops.Abs(x), ops.Float(x, std::numeric_limits<double>::infinity()));
    default: return nullptr;
  }
}

Value* EmitFloatBinary(const LaneOps& ops, Op op, Value* a, Value* b) {
  auto& ir = ops.ir;
  switch (op) {
    case Op::kAdd: return ir.CreateFAdd(a, b);
    case Op::kSubtract: return ir.CreateFSub(a, b);
    case Op::kMultiply: return ir.CreateFMul(a, b);
    case Op::kDivide: return ir.CreateFDiv(a, b);
    case Op::kRemainder: return EmitFmod(ops, a, b);
    case Op::kMaximum: return EmitExtremum(ops, true, a, b);
    case Op::kMinimum: return EmitExtremum(ops, false, a, b);
    case Op::kPower: return EmitPow(ops, a, b);
    case Op::kAtan2: return EmitAtan2(ops, a, b);
    default: return nullptr;
  }
}

Value* EmitUnary(const LaneOps& ops, Op op, DType dtype, Value* x) {
  if (op == Op::kCopy) return x;
  if (dtype == DType::kPred) return EmitPredUnary(ops, op, x);
  if (IsInteger(dtype)) return EmitIntUnary(ops, op, IsSigned(dtype), x);
  return IsComputeFloat(dtype) ? EmitFloatUnary(ops, op, x) : nullptr;
}

Value* EmitBinary(const LaneOps& ops, Op op, DType dtype, Value* a, Value* b) {
  if (dtype == DType::kPred) return EmitPredBinary(ops, op, a, b);
  if (IsInteger(dtype)) return EmitIntBinary(ops, op, IsSigned(dtype), a, b);
  return IsComputeFloat(dtype) ? EmitFloatBinary(ops, op, a, b) : nullptr;
}

Value* EmitCompare(const LaneOps& ops, Direction direction, DType dtype, Value* a, Value* b) {
  if (IsComputeFloat(dtype)) return ops.ir.CreateFCmp(FloatPredicate(direction), a, b);
  if (!IsInteger(dtype) && dtype != DType::kPred) return nullptr;
  return ops.ir.CreateICmp(IntPredicate(direction, IsSigned(dtype)), a, b);
}

}  // namespace fusemark::codegen
