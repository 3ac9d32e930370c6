// Slow, obvious interpreter of HLO: the oracle for every numeric test. Shares no code with codegen.
// Semantics: shared rules in ir/op.h; narrow floats compute in f32 and round to nearest even after
// every instruction; contractions and sums accumulate in f64 and round once.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// `params`: one tensor per entry parameter leaf, depth-first. Returns the leaves of the result.
// kUnsupported names the instruction and line; kCancelled when `cancelled` becomes true.
Result<std::vector<Tensor>> Evaluate(const Module& module, std::span<const Tensor* const> params,
                                     const std::atomic<bool>* cancelled = nullptr);

// Evaluates one instruction on constant operands (constant folding). Operand i of the instruction
// is `operands[i]`.
Result<std::vector<Tensor>> EvaluateInstr(const Module& module, ComputationId computation,
                                          InstrId instr, std::span<const Tensor* const> operands);

// The opcodes and dtypes Evaluate() can run.
bool ReferenceSupports(const Module& module, ComputationId computation, InstrId instr);

}  // namespace fusemark
