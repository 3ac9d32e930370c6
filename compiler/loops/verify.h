// Verifier of loop nest IR: structure, types, and the proof that every access is in bounds and that
// parallel iterations do not write the same element. No kernel leaves without it: neither code
// generation nor the interpreter's results mean anything for a kernel that fails here.
//
// The proof is by ranges (index_analysis.h). A data-dependent index passes only through a clamp or
// under a condition that bounds it.
#pragma once

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

// The first violation: which statement or access, which dimension, the proved range and the extent.
Result<void> Verify(const Kernel& kernel);

}  // namespace fusemark::loops
