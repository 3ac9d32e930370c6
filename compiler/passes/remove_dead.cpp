#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {

Result<bool> RemoveDead(Module& module, const PassContext&) {
  bool changed = CollectComputations(module);  // first: no work on computations nobody calls
  changed |= RewriteModule(
      module, [](Builder& builder, Instr&& instr) { return builder.Keep(std::move(instr)); });
  return CollectComputations(module) || changed;
}

}  // namespace fusemark
