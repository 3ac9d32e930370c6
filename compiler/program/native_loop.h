// Loops of the host program as native code: condition, body and everything they call become one
// function, small kernels inlined, small state in registers. Where a trip takes a microsecond, what
// the run loop (run.cpp) spends on a step would be most of the time.
#pragma once

#include "compiler/program/kernel_set.h"
#include "compiler/program/program.h"

namespace fusemark {

// Replaces each WhileStep that `entry` reaches by a NativeStep, outermost ones first. Those that
// run library kernels or custom calls stay. After KernelSet::Compile and ProgramBuilder::Finish;
// `entry` and its callees must stay where they are, since the code knows their constants.
Result<void> CompileLoops(Program& entry, int threads, KernelSet& kernels);

}  // namespace fusemark
