// Range-based simplification of a kernel: index arithmetic to its cheapest linear form ((a * c + b)
// / c -> a, remainders alike, clamps that never clamp), conditions decided by ranges, branches that
// never run, lets nobody reads. Values of type float are left alone: bits do not change.
#pragma once

#include "compiler/loops/kernel.h"

namespace fusemark::loops {

// Lowerings call it after building, ApplySchedule after the primitives. The result is compacted
// (print.h) and Simplify of it is itself.
Kernel Simplify(const Kernel& kernel);

}  // namespace fusemark::loops
