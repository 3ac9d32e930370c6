// The compiled kernels of one executable: schedules, verifies and compiles loop nests, each
// distinct (task, schedule) once. Shared by off and on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/jit/jit.h"
#include "compiler/loops/kernel.h"
#include "compiler/loops/schedule.h"
#include "compiler/support/hash.h"
#include "compiler/support/result.h"

namespace fusemark {

class KernelSet {
 public:
  static Result<std::unique_ptr<KernelSet>> Create(const loops::Target& target);

  // Schedules and verifies; returns a dense id. Equal tasks with equal schedules share one.
  // kCompileFailed holds the verifier's message and the kernel's text.
  // `lasting`: operands that may be asked for in a blocked layout, see Runs().
  Result<int> Add(const loops::Kernel& unscheduled, const loops::Schedule& schedule,
                  const std::vector<bool>& lasting = {});
  // By operand of a kernel: 0, or the run of the blocked layout that it expects
  // (loops/block_layout.h).
  const std::vector<int64_t>& Runs(int id) const { return runs_[static_cast<size_t>(id)]; }

  // Compiles what was added since the last call on up to `threads` threads.
  Result<void> Compile(int threads);

  const CompiledKernel& operator[](int id) const { return compiled_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(scheduled_.size()); }
  // The loop nest that was compiled.
  const loops::Kernel& scheduled(int id) const { return scheduled_[static_cast<size_t>(id)]; }
  Jit& jit() { return *jit_; }

 private:
  KernelSet(const loops::Target& target, std::unique_ptr<Jit> jit)
      : target_(target), jit_(std::move(jit)) {}

  loops::Target target_;
  std::unique_ptr<Jit> jit_;
  // By task, schedule text and lasting operands.
  std::map<std::tuple<Hash128, std::string, std::vector<bool>>, int> ids_;
  std::vector<std::vector<int64_t>> runs_;
  std::vector<loops::Kernel> scheduled_;
  std::vector<CompiledKernel> compiled_;
};

}  // namespace fusemark
