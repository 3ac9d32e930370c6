// The machine we compile for. No LLVM header here: loops and tuner read the numbers, codegen the
// names.
#pragma once

#include "compiler/loops/schedule.h"
#include "compiler/support/result.h"

namespace fusemark {

// CPU name, feature string, SIMD width, registers and caches of this machine (LLVM host detection,
// sysfs caches). `threads` is the number of CPUs this process may run on (affinity mask and cgroup
// quota).
loops::Target HostTarget();

// The same machine restricted to what `cpu` ("x86-64", "x86-64-v3", "x86-64-v4", any LLVM CPU name)
// offers.
Result<loops::Target> TargetForCpu(const std::string& cpu);

}  // namespace fusemark
