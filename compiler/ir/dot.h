// What a dot makes of the dims of its operands.
#pragma once

#include <cstdint>

#include "compiler/ir/attrs.h"

namespace fusemark {

// Dims of an operand of the given rank that are neither batch nor contracting, increasing.
Dims FreeDims(int64_t rank, const Dims& batch, const Dims& contracting);

}  // namespace fusemark
