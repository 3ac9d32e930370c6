// The primitives that are more than a change of the loop kind. Private to primitives*.cpp: callers
// use Apply (primitives.h), which keeps the kernel unchanged on an error.
#pragma once

#include <string>

#include "compiler/loops/primitives.h"

namespace fusemark::loops {

Result<void> Tile(Kernel& kernel, const Primitive& primitive);
Result<void> Reorder(Kernel& kernel, const Primitive& primitive);
Result<void> Flatten(Kernel& kernel, const Primitive& primitive);
Result<void> Fuse(Kernel& kernel, const Primitive& primitive);
Result<void> Distribute(Kernel& kernel, const Primitive& primitive);
Result<void> Privatise(Kernel& kernel, const Primitive& primitive);
Result<void> BlockOperand(Kernel& kernel, const Primitive& primitive);
Result<void> Prefetch(Kernel& kernel, const Primitive& primitive);
Result<void> PrefetchTile(Kernel& kernel, const Primitive& primitive);
Result<void> Stage(Kernel& kernel, const Primitive& primitive);
Result<void> Interleave(Kernel& kernel, const Primitive& primitive);
Result<void> Offset(Kernel& kernel, const Primitive& primitive);
Result<void> Peel(Kernel& kernel, const Primitive& primitive);

// The variable of a loop that exists; the error says so otherwise.
Result<VarId> LoopNamed(const Kernel& kernel, const std::string& name);
// A new loop variable; the name must be free.
Result<VarId> FreshLoop(Kernel& kernel, const std::string& name);

}  // namespace fusemark::loops
