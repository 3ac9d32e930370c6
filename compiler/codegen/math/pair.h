// Sums of two floats that carry about twice the precision of one (Dekker 1971): what f64 has to use
// where f32 can compute in f64. Internal to codegen/math. Nothing here scales: callers keep
// products and, without FMA, operands times 2^27 (2^12 for f32) within the range of the type.
#pragma once

#include "compiler/codegen/lane_ops.h"

namespace fusemark::codegen {

struct Pair {
  llvm::Value* high;
  llvm::Value* low;
};

// a + b for |a| >= |b| or a = 0, and a * b: both exact.
Pair EmitFastTwoSum(const LaneOps& ops, llvm::Value* a, llvm::Value* b);
Pair EmitTwoProduct(const LaneOps& ops, llvm::Value* a, llvm::Value* b);
// The low part of the product: a * b - high.
llvm::Value* EmitProductError(const LaneOps& ops, llvm::Value* a, llvm::Value* b,
                              llvm::Value* high);
// Up to the products of two low parts.
Pair EmitMultiply(const LaneOps& ops, const Pair& a, const Pair& b);
Pair EmitDivide(const LaneOps& ops, const Pair& a, const Pair& b);

// Natural logarithm of a positive finite value, denormals included, with a relative error of about
// 2^-65 for f64 and 2^-35 for f32; and exp of such a pair, of any size or NaN.
Pair EmitLogPair(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitExpOfPair(const LaneOps& ops, const Pair& x);

}  // namespace fusemark::codegen
