// The invariants of a module: order, arity, attribute ranges, and that every result shape follows
// from the operands. The first violation is reported with the instruction's name and place and
// where the offending operand was defined.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace fusemark {

Result<void> VerifyModule(const Module& module);

// The shape an instruction must have, from operands, attributes and called computations; nothing if
// it cannot be inferred (parameter, constant, iota, reshape, convert, custom-call, ...): then the
// written shape counts.
Result<std::optional<Shape>> InferShape(const Module& module, const Computation& computation,
                                        const Instr& instr);

}  // namespace fusemark
