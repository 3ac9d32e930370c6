// Kernel -> native functions, in this process (LLVM ORC). Identical kernels are compiled once;
// several kernels are compiled in parallel. No LLVM header here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/loops/schedule.h"
#include "compiler/program/abi.h"
#include "compiler/support/result.h"

namespace llvm {
class Module;
}

namespace fusemark {

namespace codegen {
class Machine;
}

struct CompiledKernel {
  std::vector<KernelFunction> phases;  // one per loops::PhasesOf entry
  std::vector<int64_t> extents;        // iterations of each phase's parallel loop
  int64_t scratch_bytes = 0;
};

class Jit {
 public:
  static Result<std::unique_ptr<Jit>> Create(const loops::Target& target);
  ~Jit();

  // Compiles all kernels (verified and scheduled) on up to `threads` threads; result i belongs to
  // kernels[i]. Kernels with equal canonical text share one body, also across calls. The code lives
  // as long as the Jit.
  Result<std::vector<CompiledKernel>> Compile(const std::vector<const loops::Kernel*>& kernels,
                                              int threads);

  // Code that is no kernel: `fill` puts the function `symbol` into a module and optimises it. The
  // symbol must be new to this Jit.
  using FillModule = std::function<Result<void>(const codegen::Machine&, llvm::Module&)>;
  Result<void*> CompileFunction(const std::string& symbol, const FillModule& fill);

  // Text of one kernel for `opt --emit llvm|asm`.
  enum class Emit : uint8_t { kLlvm, kAssembly };
  static Result<std::string> EmitText(const loops::Kernel& kernel, const loops::Target& target,
                                      Emit what);

 private:
  struct State;
  explicit Jit(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace fusemark
