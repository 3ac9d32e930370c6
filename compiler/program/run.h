// Runs a host program (program.h).
#pragma once

#include <atomic>
#include <map>
#include <vector>

#include "compiler/program/kernel_set.h"
#include "compiler/program/program.h"
#include "compiler/support/result.h"

namespace fusemark {

// What the steps of a run took: nanoseconds and times run, by step. Control flow is the sum of what
// it runs, so it has no time of its own.
struct StepTime {
  int64_t ns = 0, runs = 0;
};
using StepTimes = std::map<const Program*, std::vector<StepTime>>;

struct RunContext {
  const KernelSet* kernels = nullptr;
  int threads = 1;
  const std::atomic<bool>* cancelled = nullptr;  // may be null; checked between steps
  StepTimes* times = nullptr;                    // may be null; costs two clock reads a step
};

// `arena` holds program.arena_bytes, 64-byte aligned. kCancelled, or kLaunchFailed from a library
// kernel.
Result<void> RunProgram(const Program& program, const RunContext& context,
                        const void* const* params, void* const* outputs, std::byte* arena);

// The resident steps, whose results then lie in the arena.
Result<void> RunResidents(const Program& program, const RunContext& context,
                          const void* const* params, std::byte* arena);

// After RunResidents: library kernels keep their resident operands packed.
Result<void> PackResidents(const Program& program, const RunContext& context,
                           const void* const* params, std::byte* arena);

}  // namespace fusemark
