// Products of narrow types: integers of one and two bytes summed up in s32, bf16 and f16 summed up
// in f32. What they have in common is that the right operand is always copied, panel of columns by
// panel of columns, into the form in which the inner loop wants it: integers in groups of
// neighbours in the sum (what one instruction multiplies and adds), floats as f32.
#pragma once

#include <optional>
#include <vector>

#include "compiler/loops/primitives.h"
#include "compiler/loops/schedule.h"

namespace fusemark::loops {

// Everything but the parallel loop. Nothing if the kernel, of class kContraction and unscheduled,
// is no such product or has too few rows to pay for the copies.
std::optional<std::vector<Primitive>> NarrowProduct(const Kernel& kernel, const Schedule& schedule,
                                                    const Target& target);

}  // namespace fusemark::loops
