// Integer operations: HLO defines every case that C and the hardware leave open (division by zero,
// overflowing quotients, shifts by the width or more), so each is guarded here.
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <string>

#include "compiler/codegen/elementwise.h"

namespace fusemark::codegen {

using llvm::Value;

namespace {

unsigned WidthOf(Value* x) {
  return x->getType()->getScalarSizeInBits();
}

// A divisor for which the hardware neither traps nor overflows; the quotient by it is already right
// for MIN / -1.
Value* SafeDivisor(const LaneOps& ops, bool is_signed, Value* a, Value* b, Value* zero_divisor) {
  auto& ir = ops.ir;
  Value* unsafe = zero_divisor;
  if (is_signed) {
    Value* minimum =
        llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(WidthOf(a)));
    Value* overflow = ir.CreateAnd(ir.CreateICmpEQ(a, minimum), ir.CreateICmpEQ(b, ops.Int(b, -1)));
    unsafe = ir.CreateOr(unsafe, overflow);
  }
  return ir.CreateSelect(unsafe, ops.Int(b, 1), b);
}

Value* EmitDivide(const LaneOps& ops, bool is_signed, Value* a, Value* b) {
  auto& ir = ops.ir;
  Value* by_zero = ir.CreateICmpEQ(b, ops.Int(b, 0));
  Value* divisor = SafeDivisor(ops, is_signed, a, b, by_zero);
  Value* quotient = is_signed ? ir.CreateSDiv(a, divisor) : ir.CreateUDiv(a, divisor);
  return ir.CreateSelect(by_zero, ops.Int(a, -1), quotient);
}

Value* EmitRemainder(const LaneOps& ops, bool is_signed, Value* a, Value* b) {
  auto& ir = ops.ir;
  Value* by_zero = ir.CreateICmpEQ(b, ops.Int(b, 0));
  Value* divisor = SafeDivisor(ops, is_signed, a, b, by_zero);
  Value* remainder = is_signed ? ir.CreateSRem(a, divisor) : ir.CreateURem(a, divisor);
  return ir.CreateSelect(by_zero, a, remainder);
}

Value* EmitShift(const LaneOps& ops, Op op, Value* a, Value* amount) {
  auto& ir = ops.ir;
  const unsigned width = WidthOf(a);
  Value* in_range = ir.CreateICmpULE(amount, ops.Int(amount, width - 1));
  if (op == Op::kShiftRightArithmetic) {
    Value* most = ops.Int(amount, width - 1);
    return ir.CreateAShr(a, ir.CreateSelect(in_range, amount, most));
  }
  // The shift itself must stay defined: an out-of-range one would be poison even when not picked.
  Value* safe = ir.CreateSelect(in_range, amount, ops.Int(amount, 0));
  Value* shifted = op == Op::kShiftLeft ? ir.CreateShl(a, safe) : ir.CreateLShr(a, safe);
  return ir.CreateSelect(in_range, shifted, ops.Int(a, 0));
}

// Square and multiply over the bits of the exponent, all lanes until the last is done.
llvm::Function* PowerFunction(const LaneOps& ops, llvm::Type* type) {
  llvm::Function& caller = *ops.ir.GetInsertBlock()->getParent();
  llvm::Module& module = *caller.getParent();
  const std::string name =
      "ipow." + std::to_string(type->getScalarSizeInBits()) + "." + std::to_string(LanesOf(type));
  if (llvm::Function* known = module.getFunction(name)) return known;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                                          llvm::Function::InternalLinkage, name, module);
  function->setAttributes(
      llvm::AttributeList::get(module.getContext(), caller.getAttributes().getFnAttrs(), {}, {}));
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::LLVMContext& context = module.getContext();
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "bit", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  llvm::IRBuilder<> ir(entry);
  const LaneOps lane_ops(ir, ops.cpu);
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* result = ir.CreatePHI(type, 2);
  llvm::PHINode* base = ir.CreatePHI(type, 2);
  llvm::PHINode* exponent = ir.CreatePHI(type, 2);
  result->addIncoming(lane_ops.Int(function->getArg(0), 1), entry);
  base->addIncoming(function->getArg(0), entry);
  exponent->addIncoming(function->getArg(1), entry);
  Value* odd =
      ir.CreateICmpNE(ir.CreateAnd(exponent, lane_ops.Int(exponent, 1)), lane_ops.Int(exponent, 0));
  Value* next_result = ir.CreateSelect(odd, ir.CreateMul(result, base), result);
  Value* next_exponent = ir.CreateLShr(exponent, lane_ops.Int(exponent, 1));
  result->addIncoming(next_result, loop);
  base->addIncoming(ir.CreateMul(base, base), loop);
  exponent->addIncoming(next_exponent, loop);
  Value* more = lane_ops.Any(ir.CreateICmpNE(next_exponent, lane_ops.Int(exponent, 0)));
  ir.CreateCondBr(more, loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRet(next_result);
  return function;
}

Value* EmitIntPower(const LaneOps& ops, bool is_signed, Value* a, Value* b) {
  auto& ir = ops.ir;
  Value* power = ir.CreateCall(PowerFunction(ops, a->getType()), {a, b});
  if (!is_signed) return power;
  // A negative exponent gives 0, except that 1 stays 1.
  Value* one = ops.Int(a, 1);
  Value* reciprocal = ir.CreateSelect(ir.CreateICmpEQ(a, one), one, ops.Int(a, 0));
  return ir.CreateSelect(ir.CreateICmpSLT(b, ops.Int(b, 0)), reciprocal, power);
}

Value* MinMax(const LaneOps& ops, llvm::Intrinsic::ID id, Value* a, Value* b) {
  return ops.ir.CreateIntrinsic(id, {a->getType()}, {a, b});
}

}  // namespace

Value* EmitIntUnary(const LaneOps& ops, Op op, bool is_signed, Value* x) {
  auto& ir = ops.ir;
  switch (op) {
    case Op::kCopy: return x;
    case Op::kNegate: return ir.CreateNeg(x);
    case Op::kNot: return ir.CreateNot(x);
    case Op::kAbs:
      if (!is_signed) return x;
      return ir.CreateIntrinsic(llvm::Intrinsic::abs, {x->getType()}, {x, ir.getFalse()});
    case Op::kSign: {
      Value* nonzero = ir.CreateZExt(ir.CreateICmpNE(x, ops.Int(x, 0)), x->getType());
      if (!is_signed) return nonzero;
      return ir.CreateOr(ir.CreateAShr(x, ops.Int(x, WidthOf(x) - 1)), nonzero);
    }
    case Op::kPopulationCount: return ops.Intrinsic(llvm::Intrinsic::ctpop, x);
    case Op::kCountLeadingZeros:
      return ir.CreateIntrinsic(llvm::Intrinsic::ctlz, {x->getType()}, {x, ir.getFalse()});
    default: return nullptr;
  }
}

Value* EmitIntBinary(const LaneOps& ops, Op op, bool is_signed, Value* a, Value* b) {
  auto& ir = ops.ir;
  switch (op) {
    case Op::kAdd: return ir.CreateAdd(a, b);
    case Op::kSubtract: return ir.CreateSub(a, b);
    case Op::kMultiply: return ir.CreateMul(a, b);
    case Op::kDivide: return EmitDivide(ops, is_signed, a, b);
    case Op::kRemainder: return EmitRemainder(ops, is_signed, a, b);
    case Op::kMaximum:
      return MinMax(ops, is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case Op::kMinimum:
      return MinMax(ops, is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case Op::kPower: return EmitIntPower(ops, is_signed, a, b);
    case Op::kAnd: return ir.CreateAnd(a, b);
    case Op::kOr: return ir.CreateOr(a, b);
    case Op::kXor: return ir.CreateXor(a, b);
    case Op::kShiftLeft:
    case Op::kShiftRightLogical:
    case Op::kShiftRightArithmetic: return EmitShift(ops, op, a, b);
    default: return nullptr;
  }
}

}  // namespace fusemark::codegen
