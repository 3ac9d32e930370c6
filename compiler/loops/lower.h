// Kernel of HLO instructions -> unscheduled loop nest. This canonical nest's text (names replaced
// by numbers) is the task text; scheduling comes after. One .cpp per kernel class (lower_loop,
// lower_reduce, lower_row, lower_contraction, lower_window, lower_update), one emitter of scalar
// expressions (lower_expr) shared by all.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

// Rounding of narrow floats between elementwise operations of one kernel. Off and the reference
// round after every operation; on keeps f32 and rounds where a value is stored or HLO says convert
// / reduce-precision (types of 16 bits; smaller ones are rounded after every operation anyway).
enum class Rounding : uint8_t { kEveryOperation, kAtStores };

struct LowerRequest {
  const Module* module = nullptr;
  ComputationId computation;
  std::vector<InstrId> roots;    // materialised results, in result order
  std::vector<InstrId> members;  // inlined instructions (increasing)
  KernelClass klass = KernelClass::kLoop;
  Rounding rounding = Rounding::kEveryOperation;
  // Update kernels: the result will share memory with the operand it updates (wherever the result
  // buffer's `in_place_of` allows it), so there is nothing to copy.
  bool in_place = false;
};

struct Lowered {
  Kernel kernel;
  std::vector<InstrId>
      operands;  // instruction behind each kernel operand, in ABI order (tuple operands never
                 // occur: get-tuple-element instructions stand for leaves)
};

// Operands are all non-member, non-constant-scalar instructions read by roots and members; scalar
// constants are folded into the code. Multi-output roots (variadic reduce) give one result per
// leaf. kUnsupported names the instruction, its opcode and its line.
Result<Lowered> Lower(const LowerRequest& request);

// The class a single instruction lowers to; what off uses and the planner starts from.
KernelClass ClassOfInstr(const Module& module, ComputationId computation, InstrId instr);

}  // namespace fusemark::loops
