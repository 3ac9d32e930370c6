// What every engine hands out: something that runs a module's entry on the caller's buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

// What compiling cost and produced.
struct CompileStats {
  int64_t compile_ns = 0;        // whole Compile() call
  int64_t kernels = 0;           // launches of the entry's program, loop bodies counted once
  int64_t unique_kernels = 0;    // after identical tasks are merged
  int64_t peak_arena_bytes = 0;  // intermediates: the arena (on); live buffers, after a run (off)
  std::string config_text;       // the plan and schedules in force, canonical text (on)
};

// What one kernel, library call or copy took during a run, all its launches together.
struct KernelTime {
  std::string computation, name;  // of the value that it computes
  int64_t ns = 0, launches = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // One pointer per leaf of the entry parameters / result in depth-first order, 64-byte aligned,
  // dense row-major. The outputs belong to the caller and are overwritten. kCancelled if the flag
  // was raised, kLaunchFailed otherwise.
  virtual Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) = 0;
  // After the inputs of the resident parameters are known: fold and pack them. Optional; Run()
  // works without.
  virtual Result<void> Bind(std::span<const void* const> params) = 0;
  virtual CompileStats Stats() const = 0;
  // As Run(), with a clock read before and after each kernel.
  virtual Result<std::vector<KernelTime>> RunTimed(std::span<const void* const>,
                                                   std::span<void* const>) {
    return Unsupported("this engine does not time its kernels");
  }
};

}  // namespace fusemark
