// Where the time of a program goes, kernel by kernel: runs it repeatedly with clock reads between
// kernels. For looking, not for comparing engines: the reads and the cold caches between launches
// belong to what is measured.
#pragma once

#include <atomic>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "compiler/ir/tensor.h"
#include "compiler/program/executable.h"
#include "compiler/support/result.h"

namespace fusemark {

struct KernelCost {
  double ns = 0;         // all launches of one run
  int64_t launches = 0;  // in one run
};

struct ProgramTimes {
  int64_t runs = 0;
  double run_ns = 0;    // of a whole run
  double steps_ns = 0;  // of its kernels, library calls and copies
  std::map<std::pair<std::string, std::string>, KernelCost> kernels;  // by computation and value
};

// Medians over the runs that fit into about `duration_ns`, after two that are not counted; three at
// least. kCancelled when the flag is raised, kUnsupported for engines that do not time kernels.
Result<ProgramTimes> MeasureKernels(Executable& executable, std::span<const void* const> params,
                                    std::span<void* const> outputs, int64_t duration_ns,
                                    const std::atomic<bool>& cancelled);

}  // namespace fusemark
