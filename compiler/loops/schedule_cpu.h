// From the knob values of a schedule to loop primitives for one kernel on the CPU: the only place
// that decides how a kernel class is tiled, vectorised, unrolled and distributed over threads. The
// loop names are those of the lowerings: i0.. output dimensions, k0.. reductions, r0.. rows, j0..
// along a row, w0.. what an update writes at once.
#pragma once

#include <vector>

#include "compiler/loops/primitives.h"
#include "compiler/loops/schedule.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

// For an unscheduled kernel. Never fails on a kernel that a lowering made; a loop that cannot be
// treated as the schedule says stays serial.
// `lasting`: operands, by position, that keep their values from run to run; the kernel may come to
// expect them in a blocked layout (block_layout.h), which is then for the caller to provide.
Result<std::vector<Primitive>> ScheduleToPrimitives(const Kernel& kernel, const Schedule& schedule,
                                                    const Target& target,
                                                    const std::vector<bool>& lasting = {});

// Primitives applied, result simplified and verified. Steps after which bounds can no longer be
// proved are left out, with all that follow: a kernel that verifies gives one that does.
Result<Kernel> ApplySchedule(const Kernel& kernel, const Schedule& schedule, const Target& target,
                             const std::vector<bool>& lasting = {});

}  // namespace fusemark::loops
