// Custom calls in the reference interpreter. What they compute is a library's business (see
// compiler/calls), so here the oracle is the library: tests judge it by what defines its results.
#pragma once

#include <vector>

#include "compiler/reference/interpreter.h"

namespace fusemark::reference {

Value EvalCustomCall(const Computation& computation, InstrId id,
                     const std::vector<Value>& operands);

}  // namespace fusemark::reference
