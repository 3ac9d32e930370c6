// Neutral elements of the operations that reductions are made of.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/dtype.h"
#include "compiler/ir/op.h"

namespace fusemark {

// The bits of e with e op x == x for every x: integers extended to 64 bits by their sign, floats as
// stored. Nothing for other operations and for types that are no integers, pred or floats of 16 to
// 64 bits.
std::optional<uint64_t> IdentityBits(Op op, DType dtype);

}  // namespace fusemark
