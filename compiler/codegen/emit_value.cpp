// Expressions of the loop IR as register values.
#include <llvm/IR/Constants.h>

#include "compiler/codegen/elementwise.h"
#include "compiler/codegen/phase_emitter.h"
#include "compiler/support/check.h"

namespace fusemark::codegen {

using llvm::Value;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;

namespace {

// What an s64 that was converted from `dtype` can be.
Range RangeOfDType(DType dtype) {
  const int bits = BitWidth(dtype);
  if (dtype == DType::kPred) return {0, 1};
  if (IsSigned(dtype) && bits < 64)
    return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  if (IsUnsigned(dtype) && bits < 64) return {0, (int64_t{1} << bits) - 1};
  return {};
}

}  // namespace

LaneValue PhaseEmitter::Eval(ExprId id) {
  const Expr& expr = kernel_[id];
  switch (expr.kind) {
    case ExprKind::kConst: return EvalConst(expr);
    case ExprKind::kVar: return vars_[expr.var.index];
    case ExprKind::kLoad: return EvalLoad(id);
    case ExprKind::kUnary: return expr.op == Op::kConvert ? EvalConvert(expr) : EvalUnary(expr);
    case ExprKind::kBinary: return EvalBinary(expr);
    case ExprKind::kCompare: return EvalCompare(expr);
    case ExprKind::kSelect: return EvalSelect(expr);
    case ExprKind::kFma: return EvalFma(expr);
  }
  FM_CHECK(false, "unknown expression kind");
  return {};
}

LaneValue PhaseEmitter::Checked(const Expr& expr, Value* value, bool varying) {
  if (value != nullptr) return {.value = value, .varying = varying};
  const DType argument = expr.args.empty() ? expr.dtype : kernel_[expr.args[0]].dtype;
  const std::string_view op = expr.kind == ExprKind::kCompare ? "compare"
                              : expr.kind == ExprKind::kFma   ? "fma"
                                                              : OpName(expr.op);
  Fail(Code::kUnsupported, "no code for '" + std::string(op) + "' from " +
                               std::string(DTypeName(argument)) + " to " +
                               std::string(DTypeName(expr.dtype)));
  return {.value = llvm::PoisonValue::get(
              WithLanes(RegisterType(ir_.getContext(), expr.dtype), varying ? context_.lanes : 0)),
          .varying = varying};
}

LaneValue PhaseEmitter::EvalConst(const Expr& expr) {
  if (expr.dtype == DType::kS64) return IndexConst(static_cast<int64_t>(expr.bits));
  llvm::Type* type = RegisterType(ir_.getContext(), expr.dtype);
  const unsigned width = type->getScalarSizeInBits();
  const uint64_t used = width == 64 ? expr.bits : expr.bits & ((uint64_t{1} << width) - 1);
  llvm::Constant* bits = llvm::ConstantInt::get(ir_.getIntNTy(width), used);
  return {.value = type->isIntegerTy() ? bits : llvm::ConstantExpr::getBitCast(bits, type)};
}

Value* PhaseEmitter::Scalar(const LaneValue& value) {
  FM_CHECK(value.IsUniform());
  if (value.value == nullptr) return ir_.getInt64(static_cast<uint64_t>(value.offset));
  return AddScalars(
      value.value, value.offset == 0 ? nullptr : ir_.getInt64(static_cast<uint64_t>(value.offset)));
}

Value* PhaseEmitter::Vector(const LaneValue& value) {
  if (value.varying) return value.value;
  FM_CHECK(context_.lanes > 0);
  LaneValue base = value;
  base.stride = 0;
  Value* splat = ops_.Splat(Scalar(base), context_.lanes);
  if (value.stride == 0) return splat;
  std::vector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < context_.lanes; ++lane)
    steps.push_back(ir_.getInt64(static_cast<uint64_t>(value.stride) * lane));
  return ir_.CreateAdd(splat, llvm::ConstantVector::get(steps));
}

Value* PhaseEmitter::Materialize(const LaneValue& value) {
  return value.IsUniform() ? Scalar(value) : Vector(value);
}

bool PhaseEmitter::MaterializeBoth(const LaneValue& a, const LaneValue& b, Value*& x, Value*& y) {
  const bool varying = !a.IsUniform() || !b.IsUniform();
  x = varying ? Vector(a) : Scalar(a);
  y = varying ? Vector(b) : Scalar(b);
  return varying;
}

LaneValue PhaseEmitter::EvalUnary(const Expr& expr) {
  const LaneValue argument = Eval(expr.args[0]);
  if (expr.op == Op::kCopy) return argument;
  const DType from = kernel_[expr.args[0]].dtype;
  Value* x = Materialize(argument);
  Value* result = expr.op == Op::kBitcastConvert ? EmitBitcastConvert(ops_, x, from, expr.dtype)
                                                 : EmitUnary(ops_, expr.op, from, x);
  return Checked(expr, result, !argument.IsUniform());
}

LaneValue PhaseEmitter::EvalConvert(const Expr& expr) {
  const LaneValue argument = Eval(expr.args[0]);
  DType from = kernel_[expr.args[0]].dtype;
  if (from == expr.dtype) return argument;
  const bool varying = !argument.IsUniform();
  Value* x = nullptr;
  if (from == DType::kS64 && varying && argument.range.Fits32() && expr.dtype != DType::kU64) {
    // AVX2 has no 64-bit integer to float conversion.
    x = Vector32(argument);
    from = DType::kS32;
  } else {
    x = Materialize(argument);
  }
  LaneValue result = Checked(expr, EmitConvert(ops_, x, from, expr.dtype), varying);
  if (expr.dtype == DType::kS64) result.range = RangeOfDType(from);
  return result;
}

LaneValue PhaseEmitter::EvalBinary(const Expr& expr) {
  const LaneValue a = Eval(expr.args[0]);
  const LaneValue b = Eval(expr.args[1]);
  if (expr.dtype == DType::kS64) return IndexBinary(expr, a, b);
  Value *x = nullptr, *y = nullptr;
  const bool varying = MaterializeBoth(a, b, x, y);
  return Checked(expr, EmitBinary(ops_, expr.op, expr.dtype, x, y), varying);
}

LaneValue PhaseEmitter::EvalCompare(const Expr& expr) {
  const LaneValue a = Eval(expr.args[0]);
  const LaneValue b = Eval(expr.args[1]);
  DType dtype = kernel_[expr.args[0]].dtype;
  Value *x = nullptr, *y = nullptr;
  bool varying = !a.IsUniform() || !b.IsUniform();
  if (dtype == DType::kS64 && varying && a.range.Fits32() && b.range.Fits32()) {
    x = Vector32(a);
    y = Vector32(b);
    dtype = DType::kS32;
  } else {
    varying = MaterializeBoth(a, b, x, y);
  }
  return Checked(expr, EmitCompare(ops_, expr.direction, dtype, x, y), varying);
}

LaneValue PhaseEmitter::EvalSelect(const Expr& expr) {
  const LaneValue condition = Eval(expr.args[0]);
  const LaneValue a = Eval(expr.args[1]);
  const LaneValue b = Eval(expr.args[2]);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition.value))
    return known->isOne() ? a : b;
  const bool varying = condition.varying || !a.IsUniform() || !b.IsUniform();
  Value* x = varying ? Vector(a) : Scalar(a);
  Value* y = varying ? Vector(b) : Scalar(b);
  LaneValue result{.value = ir_.CreateSelect(condition.value, x, y), .varying = varying};
  result.range = {std::min(a.range.low, b.range.low), std::max(a.range.high, b.range.high)};
  return result;
}

LaneValue PhaseEmitter::EvalFma(const Expr& expr) {
  const LaneValue a = Eval(expr.args[0]);
  const LaneValue b = Eval(expr.args[1]);
  const LaneValue c = Eval(expr.args[2]);
  if (expr.dtype != DType::kF32 && expr.dtype != DType::kF64) return Checked(expr, nullptr, false);
  const bool varying = a.varying || b.varying || c.varying;
  const auto get = [&](const LaneValue& value) { return varying ? Vector(value) : Scalar(value); };
  return {.value = ops_.Fma(get(a), get(b), get(c)), .varying = varying};
}

}  // namespace fusemark::codegen
