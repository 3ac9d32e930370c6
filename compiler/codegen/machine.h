// LLVM's side of a loops::Target: target machine, pass list, object and assembly emission, and the
// one place where LLVM errors become ours. Internal to codegen and jit.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "compiler/codegen/lane_ops.h"
#include "compiler/loops/schedule.h"
#include "compiler/support/result.h"

namespace fusemark::codegen {

class Machine {
 public:
  // kInvalidInput if LLVM does not know the CPU.
  static Result<Machine> Create(const loops::Target& target);

  const CpuFeatures& features() const { return features_; }
  const loops::Target& target() const { return target_; }
  const llvm::TargetMachine& llvm() const { return *machine_; }

  // Triple and data layout; before any function is added.
  void Prepare(llvm::Module& module) const;
  // CPU, features and vector width, so that IR of any width is kept as written.
  void AddAttributes(llvm::Function& function) const;

  // The pass list is short: kernels come unrolled and vectorised, so what remains is promoting
  // register arrays, common subexpressions, invariant code and clean-up.
  void Optimize(llvm::Module& module) const;

  Result<std::unique_ptr<llvm::MemoryBuffer>> EmitObject(llvm::Module& module) const;
  Result<std::string> EmitAssembly(llvm::Module& module) const;

 private:
  Machine() = default;
  loops::Target target_;
  std::string difference_;  // of target_.features to what the CPU has by itself
  CpuFeatures features_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

// Does LLVM know this CPU of the host's architecture?
bool IsKnownCpu(const std::string& cpu);
// "+a,-b" features that `cpu` with `features` has switched on, as a sorted list of names.
std::vector<std::string> EnabledFeatures(const std::string& cpu, const std::string& features);
// The entries of `features` that change something on `cpu`: LLVM reads the list again for every
// subtarget, and a host's list names every feature there is. All of them if one that is switched
// on follows one that is switched off.
std::string FeatureDifference(const std::string& cpu, const std::string& features);

// kCompileFailed with LLVM's text after `what`.
Error FromLlvm(llvm::Error error, const std::string& what);

}  // namespace fusemark::codegen
