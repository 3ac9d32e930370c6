#include "compiler/codegen/lane_ops.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "compiler/support/check.h"

namespace fusemark::codegen {

using llvm::Value;

Value* LaneOps::Float(Value* like, double value) const {
  return llvm::ConstantFP::get(like->getType(), value);
}

Value* LaneOps::Int(Value* like, int64_t value) const {
  return llvm::ConstantInt::getSigned(like->getType(), value);
}

llvm::Type* LaneOps::ScalarLike(llvm::Type* scalar, Value* like) const {
  return WithLanes(scalar, LanesOf(like->getType()));
}

llvm::Type* LaneOps::IntTypeOf(llvm::Type* float_type) const {
  return WithLanes(ir.getIntNTy(float_type->getScalarSizeInBits()), LanesOf(float_type));
}

Value* LaneOps::Bits(Value* value) const {
  return ir.CreateBitCast(value, IntTypeOf(value->getType()));
}

Value* LaneOps::FromBits(Value* bits, llvm::Type* scalar_float) const {
  return ir.CreateBitCast(bits, ScalarLike(scalar_float, bits));
}

Value* LaneOps::Splat(Value* scalar, unsigned lanes) const {
  return lanes == 0 ? scalar : ir.CreateVectorSplat(lanes, scalar);
}

Value* LaneOps::Fma(Value* a, Value* b, Value* c) const {
  return ir.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value* LaneOps::Mad(Value* a, Value* b, Value* c) const {
  return cpu.fma ? Fma(a, b, c) : ir.CreateFAdd(ir.CreateFMul(a, b), c);
}

Value* LaneOps::Poly(Value* x, std::initializer_list<double> coefficients) const {
  FM_CHECK(coefficients.size() > 0);
  const double* c = coefficients.end() - 1;
  Value* sum = Float(x, *c);
  while (c != coefficients.begin()) sum = Mad(sum, x, Float(x, *--c));
  return sum;
}

Value* LaneOps::Intrinsic(llvm::Intrinsic::ID id, Value* x) const {
  return ir.CreateIntrinsic(id, {x->getType()}, {x});
}

Value* LaneOps::Abs(Value* x) const {
  return Intrinsic(llvm::Intrinsic::fabs, x);
}

Value* LaneOps::CopySign(Value* magnitude, Value* sign) const {
  return ir.CreateIntrinsic(llvm::Intrinsic::copysign, {magnitude->getType()}, {magnitude, sign});
}

Value* LaneOps::Sqrt(Value* x) const {
  return Intrinsic(llvm::Intrinsic::sqrt, x);
}

Value* LaneOps::RoundEven(Value* x) const {
  return Intrinsic(llvm::Intrinsic::roundeven, x);
}

Value* LaneOps::Any(Value* condition) const {
  return LanesOf(condition->getType()) == 0 ? condition : ir.CreateOrReduce(condition);
}

namespace {

// Loop over the lanes of the arguments, calling `callee` on each.
llvm::Function* MakeLaneLoop(llvm::Module& module, const std::string& name,
                             llvm::FunctionCallee callee, llvm::FunctionType* type,
                             const llvm::Function& caller) {
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  function->setAttributes(
      llvm::AttributeList::get(module.getContext(), caller.getAttributes().getFnAttrs(), {}, {}));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  auto* loop = llvm::BasicBlock::Create(module.getContext(), "lane", function);
  auto* done = llvm::BasicBlock::Create(module.getContext(), "done", function);
  const unsigned lanes = LanesOf(type->getReturnType());
  llvm::BasicBlock* entry = ir.GetInsertBlock();
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* lane = ir.CreatePHI(ir.getInt64Ty(), 2);
  llvm::PHINode* result = ir.CreatePHI(type->getReturnType(), 2);
  std::vector<Value*> scalars;
  for (llvm::Argument& arg : function->args())
    scalars.push_back(ir.CreateExtractElement(&arg, lane));
  Value* updated = ir.CreateInsertElement(result, ir.CreateCall(callee, scalars), lane);
  Value* next = ir.CreateAdd(lane, ir.getInt64(1));
  lane->addIncoming(ir.getInt64(0), entry);
  lane->addIncoming(next, loop);
  result->addIncoming(llvm::PoisonValue::get(type->getReturnType()), entry);
  result->addIncoming(updated, loop);
  ir.CreateCondBr(ir.CreateICmpULT(next, ir.getInt64(lanes)), loop, done);
  ir.SetInsertPoint(done);
  ir.CreateRet(updated);
  return function;
}

}  // namespace

Value* LaneOps::LibmPerLane(std::string_view name, std::initializer_list<Value*> args) const {
  llvm::Type* type = (*args.begin())->getType();
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  const std::string symbol = std::string(name) + (type->getScalarType()->isFloatTy() ? "f" : "");
  std::vector<llvm::Type*> scalar_types(args.size(), type->getScalarType());
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      symbol, llvm::FunctionType::get(type->getScalarType(), scalar_types, false));
  auto* declaration = llvm::cast<llvm::Function>(callee.getCallee());
  declaration->setDoesNotThrow();
  declaration->setDoesNotAccessMemory();
  declaration->addFnAttr(llvm::Attribute::WillReturn);
  const std::vector<Value*> values(args);
  const unsigned lanes = LanesOf(type);
  if (lanes == 0) return ir.CreateCall(callee, values);
  const std::string helper_name = "lanes." + symbol + "." + std::to_string(lanes);
  llvm::Function* helper = module.getFunction(helper_name);
  if (helper == nullptr) {
    std::vector<llvm::Type*> types(args.size(), type);
    helper = MakeLaneLoop(module, helper_name, callee, llvm::FunctionType::get(type, types, false),
                          *ir.GetInsertBlock()->getParent());
  }
  return ir.CreateCall(helper, values);
}

}  // namespace fusemark::codegen
