// Element types as LLVM types. Internal to codegen and jit (LLVM headers).
//
// In memory an element takes ByteSize(dtype) whole bytes; in registers pred is i1, s4/u4/s2/u2 are
// i4/i2, and bf16/f16 are their i16 bit patterns, since the only arithmetic on them is conversion.
#pragma once

#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Type.h>

#include "compiler/ir/dtype.h"

namespace fusemark::codegen {

// Pred, all integers, bf16, f16, f32, f64.
bool HasRegisterType(DType dtype);
llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype);
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype);

// `scalar` for one lane (0 lanes = scalar), else <lanes x scalar>.
llvm::Type* WithLanes(llvm::Type* scalar, unsigned lanes);
// Lanes of a vector type, 0 for a scalar type.
unsigned LanesOf(llvm::Type* type);

}  // namespace fusemark::codegen
