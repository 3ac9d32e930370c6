// The part of the verifier that needs no ranges: names, scopes, types, loop structure. Private to
// verify.cpp.
#pragma once

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

Result<void> VerifyStructure(const Kernel& kernel);

}  // namespace fusemark::loops
