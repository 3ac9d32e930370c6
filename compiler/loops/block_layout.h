// Blocked layouts: an operand [.., n] that comes as [n / run, .., run], so that what a register
// tile of columns reads is one piece of memory. Worth it for operands that stay the same from run
// to run: they are rearranged once.
#pragma once

#include <cstdint>

#include "compiler/ir/dtype.h"
#include "compiler/loops/kernel.h"

namespace fusemark::loops {

// The kernel, of class kLoop and unscheduled, that rearranges a dense array of these dims. `run`
// divides the last of them.
Kernel BlockingKernel(DType dtype, const std::vector<int64_t>& dims, int64_t run);

// The run of operand `number` where `scheduled` expects it blocked and `unscheduled` did not; else
// 0.
int64_t BlockedRun(const Kernel& unscheduled, const Kernel& scheduled, size_t number);

}  // namespace fusemark::loops
