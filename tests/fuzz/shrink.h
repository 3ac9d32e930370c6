// Makes a failing case smaller while it keeps failing in the same way: greedy, one edit at a time,
// until no edit helps. Edits: fewer results, an earlier value as the result, a value in place of
// what computes it (parameter, operand, zero), a called computation in place of its caller,
// parameters that become constants.
#pragma once

#include <functional>

#include "tests/fuzz/engine_fuzz.h"

namespace fusemark {

// True: the case still fails as before.
using StillFails = std::function<bool(const FuzzCase&)>;

FuzzCase Shrink(FuzzCase fuzz_case, const StillFails& still_fails, int most_checks = 600);

}  // namespace fusemark
