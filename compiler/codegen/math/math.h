// Inline vector math: LLVM IR for the transcendental operations of HLO, on f32 and f64 values with
// any number of lanes. Errors are tested in tests/unit/codegen/math_test.cpp: at most 4 ulp for f32
// over the whole range, with the special values of C's libm (NaN, infinities, -0, denormals).
//
// f64 has the same operations in vector code, with pairs (pair.h) where f32 computes in f64; libm
// is left for rare lanes: huge angles, and remainders of quotients beyond the significand.
// Nothing here changes rounding or denormal modes or relies on them being other than the default.
#pragma once

#include "compiler/codegen/lane_ops.h"

namespace fusemark::codegen {

llvm::Value* EmitExp(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitExpm1(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitLogistic(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitTanh(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitErf(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitLog(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitLog1p(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitSin(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitCos(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitTan(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitAtan2(const LaneOps& ops, llvm::Value* y, llvm::Value* x);
llvm::Value* EmitPow(const LaneOps& ops, llvm::Value* x, llvm::Value* y);
llvm::Value* EmitCbrt(const LaneOps& ops, llvm::Value* x);
// C's fmod: exact, sign of the dividend.
llvm::Value* EmitFmod(const LaneOps& ops, llvm::Value* x, llvm::Value* y);

// Building blocks shared by the files of this directory.

// value * 2^n in two steps, so that denormal and overflowing results round once and correctly; n is
// an integer value as wide as `value`.
llvm::Value* EmitScaleByPowerOf2(const LaneOps& ops, llvm::Value* value, llvm::Value* n);
// 2^n for n within the normal exponents.
llvm::Value* EmitPowerOf2(const LaneOps& ops, llvm::Value* n, llvm::Type* scalar_float);
// log of a positive, finite, normal value; `correction` (may be null) is added to the small part.
llvm::Value* EmitLogOfNormal(const LaneOps& ops, llvm::Value* x, llvm::Value* correction);
// f32 -> f64 of the same lanes, and back.
llvm::Value* EmitWiden(const LaneOps& ops, llvm::Value* x);
llvm::Value* EmitNarrow(const LaneOps& ops, llvm::Value* x);

// `fast`, with the lanes of `where` (i1) replaced by libm's result; one branch for all lanes, since
// such lanes are rare.
llvm::Value* EmitLibmWhere(const LaneOps& ops, llvm::Value* where, llvm::Value* fast,
                           std::string_view name, std::initializer_list<llvm::Value*> args);

// Nearest integer of x * scale for |x * scale| < 2^21, by adding 1.5 * 2^mantissa: exact in the
// default rounding mode on every target, and the integer falls out of the low bits.
struct Rounded {
  llvm::Value* value;    // as float
  llvm::Value* integer;  // as integer of the same width
};
Rounded EmitRoundScaled(const LaneOps& ops, llvm::Value* x, double scale);

}  // namespace fusemark::codegen
