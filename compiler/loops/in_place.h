// Which operands a kernel may write its result over.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/loops/kernel.h"

namespace fusemark::loops {

// Positions in `operands` of those that the only result of an unscheduled kernel may share memory
// with: of the result's type and shape, each element read in the iteration that writes the same
// element, before it is written, and nowhere else. What schedules do keeps that order.
std::vector<int32_t> OverwritableOperands(const Kernel& kernel);

}  // namespace fusemark::loops
