// Kernel -> LLVM functions, one per phase, with the ABI of program/abi.h. Internal to codegen and
// jit; what callers outside see is jit/jit.h.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "compiler/codegen/machine.h"
#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::codegen {

// Adds the functions `symbol`_p0, `symbol`_p1 ... to `module` (Machine::Prepare done) and returns
// their names. kUnsupported names what has no code; the module is then unusable.
Result<std::vector<std::string>> EmitKernel(const loops::Kernel& kernel, const Machine& machine,
                                            const std::string& symbol, llvm::Module& module);

}  // namespace fusemark::codegen
