// Complex arithmetic on pairs of real instructions: what expand-complex puts in the place of an
// elementwise instruction on c64 or c128.
//
// Not here: anything that is not elementwise (expand_complex.cpp). Except for sums, differences and
// products, c64 is computed in f64 and rounded once per component, so that squares neither overflow
// nor cancel; c128 uses the scaled forms throughout.
#pragma once

#include <optional>

#include "compiler/ir/rewrite.h"

namespace fusemark {

// The planes of a complex value; equal shapes, f32 or f64.
struct ComplexPair {
  InstrId re, im;
};

// `op` on complex operands with a complex result; nothing if complex numbers do not have it.
std::optional<ComplexPair> ComplexUnary(Builder& builder, Op op, ComplexPair x);
std::optional<ComplexPair> ComplexBinary(Builder& builder, Op op, ComplexPair x, ComplexPair y);
// |x|, real.
InstrId ComplexAbs(Builder& builder, ComplexPair x);

}  // namespace fusemark
