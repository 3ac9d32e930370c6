// Custom calls in the reference interpreter. What they compute is a library's business (see
// compiler/calls), so here the oracle is the library: tests judge it by what defines its results.
// A call that fails is no mistake of the interpreter: CallFailed is thrown and becomes an error.
#pragma once

#include <vector>

#include "compiler/reference/interpreter.h"
#include "compiler/support/result.h"

namespace fusemark::reference {

struct CallFailed {
  Error error;
};

Value EvalCustomCall(const Computation& computation, InstrId id,
                     const std::vector<Value>& operands);

}  // namespace fusemark::reference
