// Runs a host program (program.h).
#pragma once

#include <atomic>

#include "compiler/program/kernel_set.h"
#include "compiler/program/program.h"
#include "compiler/support/result.h"

namespace fusemark {

struct RunContext {
  const KernelSet* kernels = nullptr;
  int threads = 1;
  const std::atomic<bool>* cancelled = nullptr;  // may be null; checked between steps
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
