// Matrix products in the compute types: f64 sums for every float type, wrapping integer sums.
#pragma once

#include <cstdint>

#include "compiler/reference/context.h"
#include "compiler/reference/lanes.h"

namespace fusemark::reference {

// All elements of a tensor as lanes of `kind`, whatever its type: contractions may mix types.
LaneBuffer DecodeAs(const Tensor& tensor, Kind kind);

// c[m][n] = sum over k, in order, of a[m][k] * b[k][n]; all row-major and dense.
void MatrixProduct(Kind kind, int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                   void* c, const Context& context);

}  // namespace fusemark::reference
