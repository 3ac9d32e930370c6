// One elementwise HLO operation on register values (codegen/types.h) of any number of lanes, with
// HLO's semantics of the element type. Internal to codegen.
//
// All functions return nullptr for a combination of operation and type that has no code; the caller
// turns that into an "unsupported" error with the place.
#pragma once

#include "compiler/codegen/lane_ops.h"
#include "compiler/ir/attrs.h"
#include "compiler/ir/op.h"

namespace fusemark::codegen {

llvm::Value* EmitUnary(const LaneOps& ops, Op op, DType dtype, llvm::Value* x);
llvm::Value* EmitBinary(const LaneOps& ops, Op op, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* EmitCompare(const LaneOps& ops, Direction direction, DType dtype, llvm::Value* a,
                         llvm::Value* b);
llvm::Value* EmitConvert(const LaneOps& ops, llvm::Value* x, DType from, DType to);
llvm::Value* EmitBitcastConvert(const LaneOps& ops, llvm::Value* x, DType from, DType to);

// Per type class, called by the above.
llvm::Value* EmitFloatUnary(const LaneOps& ops, Op op, llvm::Value* x);
llvm::Value* EmitFloatBinary(const LaneOps& ops, Op op, llvm::Value* a, llvm::Value* b);
llvm::Value* EmitIntUnary(const LaneOps& ops, Op op, bool is_signed, llvm::Value* x);
llvm::Value* EmitIntBinary(const LaneOps& ops, Op op, bool is_signed, llvm::Value* a,
                           llvm::Value* b);

// Narrow floats as i16 patterns <-> f32/f64 values; rounding to nearest even, once, NaN stays NaN.
llvm::Value* EmitBF16ToF32(const LaneOps& ops, llvm::Value* bits);
llvm::Value* EmitF32ToBF16(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitF16ToF32(const LaneOps& ops, llvm::Value* bits);
llvm::Value* EmitF32ToF16(const LaneOps& ops, llvm::Value* x);
// f64 -> f32 rounded to odd, from which a further rounding to a narrow float is correct.
llvm::Value* EmitF64ToOddF32(const LaneOps& ops, llvm::Value* x);

}  // namespace fusemark::codegen
