// What dot and convolution share.
#pragma once

#include "compiler/ir/dtype.h"
#include "compiler/loops/kernel.h"

namespace fusemark::loops {

class Emitter;

// The type products are summed in: f32 for narrow floats, f64 where any f64 takes part, the
// result's own type for integers (they wrap) and pred (or of ands).
DType ContractionType(DType lhs, DType rhs, DType result);

// accumulator += a * b, fused for floats.
void MultiplyAccumulate(Emitter& emitter, BufferId accumulator, ExprId a, ExprId b);

}  // namespace fusemark::loops
