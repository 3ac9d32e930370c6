// Value-level helpers on top of IRBuilder: every function works on a scalar or on a vector of any
// number of lanes, so that math and conversions are written once. Internal to codegen.
//
// No fast-math flag is ever set: what a float operation means is what HLO says. FMA appears only
// where it is asked for by name (Fma) or where either rounding is within the tested error (Mad).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <initializer_list>
#include <string_view>

#include "compiler/codegen/types.h"

namespace fusemark::codegen {

// What code generation itself has to know about the CPU; everything else is LLVM's business.
struct CpuFeatures {
  bool fma = false;
  bool f16c = false;    // f16 <-> f32 in hardware
  bool gather = false;  // gathers that beat one load per lane (AVX-512)
  // Lanes of 32 bits that one instruction on bytes and words fills; 0: there are none we know.
  unsigned byte_lanes = 0;
  bool byte_dots = false;  // dot products of bytes at that width (VNNI)
};

class LaneOps {
 public:
  LaneOps(llvm::IRBuilder<>& ir, const CpuFeatures& cpu) : ir(ir), cpu(cpu) {}

  // Constants of the type of `like` (splat if it is a vector).
  llvm::Value* Float(llvm::Value* like, double value) const;
  llvm::Value* Int(llvm::Value* like, int64_t value) const;
  // Integer type of the same width and lanes as a float type; float type of an integer type.
  llvm::Type* IntTypeOf(llvm::Type* float_type) const;
  llvm::Type* ScalarLike(llvm::Type* scalar, llvm::Value* like) const;
  bool IsF64(llvm::Value* value) const { return value->getType()->getScalarType()->isDoubleTy(); }

  llvm::Value* Bits(llvm::Value* value) const;                               // float -> int pattern
  llvm::Value* FromBits(llvm::Value* bits, llvm::Type* scalar_float) const;  // and back
  llvm::Value* Splat(llvm::Value* scalar, unsigned lanes) const;

  llvm::Value* Fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  // a * b + c, fused where that is fast.
  llvm::Value* Mad(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  // Horner: coefficients from the constant term upwards.
  llvm::Value* Poly(llvm::Value* x, std::initializer_list<double> coefficients) const;

  llvm::Value* Abs(llvm::Value* x) const;
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign) const;
  llvm::Value* Sqrt(llvm::Value* x) const;
  llvm::Value* RoundEven(llvm::Value* x) const;
  llvm::Value* Intrinsic(llvm::Intrinsic::ID id, llvm::Value* x) const;
  llvm::Value* IsNan(llvm::Value* x) const { return ir.CreateFCmpUNO(x, x); }

  // True if any lane of an i1 value is set.
  llvm::Value* Any(llvm::Value* condition) const;

  // Calls the libm function (`name` for f64, `name`f for f32) on every lane. The loop over lanes is
  // an out-of-line function of the module, one per name and type, to keep cold code small.
  llvm::Value* LibmPerLane(std::string_view name, std::initializer_list<llvm::Value*> args) const;

  llvm::IRBuilder<>& ir;
  const CpuFeatures& cpu;
};

}  // namespace fusemark::codegen
