// Scalar operations of loop nest IR as functions on bit patterns, with exact HLO semantics (op.h).
// The interpreter calls them; codegen has its own, so that one can test the other.
//
// A value is held as in Expr::bits: signed integers sign-extended, unsigned zero-extended, floats
// as their bit pattern in the low bits, pred as 0 or 1. f32 transcendentals compute in double and
// round once.
#pragma once

#include <cstdint>

#include "compiler/ir/attrs.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/op.h"

namespace fusemark::loops {

using ScalarFunction = uint64_t (*)(uint64_t a, uint64_t b, uint64_t c);

// Null where the operation does not exist for the type.
ScalarFunction UnaryFunction(Op op, DType dtype);
ScalarFunction ConvertFunction(DType from, DType to);
ScalarFunction BitcastFunction(DType from, DType to);
ScalarFunction BinaryFunction(Op op, DType dtype);
ScalarFunction CompareFunction(Direction direction, DType dtype);
ScalarFunction FmaFunction(DType dtype);
ScalarFunction SelectFunction();

}  // namespace fusemark::loops
