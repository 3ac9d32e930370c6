// Collectives of one participant: what is sent is what arrives. For modules of one replica and one
// partition only (ir/one_device.h).
#pragma once

#include <vector>

#include "compiler/reference/interpreter.h"

namespace fusemark::reference {

bool SupportsCollective(const Instr& instr, const std::vector<const Shape*>& operands);
Value EvalCollective(const Instr& instr, std::vector<Value> operands);

// The tuple of an instruction that starts another one, which has already run: zeros follow the two
// values.
Value StartedValue(const Instr& instr, Value first, Value second);

}  // namespace fusemark::reference
