#include "compiler/codegen/math/pair.h"

namespace fusemark::codegen {

using llvm::Value;

namespace {

// Veltkamp: two halves of a whose products are exact.
Pair Halves(const LaneOps& ops, Value* a) {
  Value* scaled = ops.ir.CreateFMul(a, ops.Float(a, ops.IsF64(a) ? 0x1p27 + 1 : 0x1p12 + 1));
  Value* high = ops.ir.CreateFSub(scaled, ops.ir.CreateFSub(scaled, a));
  return {high, ops.ir.CreateFSub(a, high)};
}

}  // namespace

Pair EmitFastTwoSum(const LaneOps& ops, Value* a, Value* b) {
  Value* sum = ops.ir.CreateFAdd(a, b);
  return {sum, ops.ir.CreateFSub(b, ops.ir.CreateFSub(sum, a))};
}

Value* EmitProductError(const LaneOps& ops, Value* a, Value* b, Value* high) {
  auto& ir = ops.ir;
  if (ops.cpu.fma) return ops.Fma(a, b, ir.CreateFNeg(high));
  const Pair x = Halves(ops, a), y = Halves(ops, b);
  Value* error = ir.CreateFSub(ir.CreateFMul(x.high, y.high), high);
  error = ir.CreateFAdd(error, ir.CreateFMul(x.high, y.low));
  error = ir.CreateFAdd(error, ir.CreateFMul(x.low, y.high));
  return ir.CreateFAdd(error, ir.CreateFMul(x.low, y.low));
}

Pair EmitTwoProduct(const LaneOps& ops, Value* a, Value* b) {
  Value* high = ops.ir.CreateFMul(a, b);
  return {high, EmitProductError(ops, a, b, high)};
}

Pair EmitMultiply(const LaneOps& ops, const Pair& a, const Pair& b) {
  const Pair product = EmitTwoProduct(ops, a.high, b.high);
  return {product.high, ops.Mad(a.high, b.low, ops.Mad(a.low, b.high, product.low))};
}

Pair EmitDivide(const LaneOps& ops, const Pair& a, const Pair& b) {
  auto& ir = ops.ir;
  Value* inverse = ir.CreateFDiv(ops.Float(b.high, 1), b.high);
  Value* quotient = ir.CreateFMul(a.high, inverse);
  const Pair product = EmitTwoProduct(ops, quotient, b.high);
  Value* rest = ir.CreateFSub(ir.CreateFSub(a.high, product.high), product.low);
  rest = ops.Mad(ir.CreateFNeg(quotient), b.low, ir.CreateFAdd(rest, a.low));
  return {quotient, ir.CreateFMul(rest, inverse)};
}

}  // namespace fusemark::codegen
