// The control part of the interpreter: values (arrays and tuples), computations, calls and loops.
// Values are shared, not copied: a loop that carries a large tuple moves pointers, and an update
// whose operand nobody else holds happens in place.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/rewrite.h"
#include "compiler/reference/context.h"

namespace fusemark::reference {

struct Value {
  std::shared_ptr<Tensor> array;  // null for a tuple
  std::vector<Value> elements;    // of a tuple
};

class Interpreter {
 public:
  Interpreter(const Module& module, const std::atomic<bool>* cancelled);

  // Throws Cancelled and std::bad_alloc. Everything must have passed ReferenceSupports.
  Value Run(ComputationId computation, std::vector<Value> arguments);
  Value EvalInstr(ComputationId computation, const Instr& instr, std::vector<Value> operands);

 private:
  // How the instructions of one computation are run; made when it is first called.
  struct Plan {
    enum class Reuse : uint8_t { kNone, kInner, kKept };
    std::vector<uint32_t> last_uses;  // per instruction, the index of its last reader
    // Instructions that depend on no parameter give the same value in every call. From the second
    // call on the values that the others read are kept, and what lies before them is skipped: loops
    // may hold large invariant computations.
    std::vector<Reuse> reuse;
    std::vector<bool> effects;  // instructions that run even if nobody reads them
    std::map<uint32_t, Value> kept;
    int64_t calls = 0;
  };

  Plan& PlanOf(ComputationId computation);
  // Takes the value over if this is its last reader.
  std::vector<Value> TakeOperands(const Instr& instr, uint32_t index, const Plan& plan,
                                  std::vector<Value>& values);
  Value Constant(const Instr& instr);
  Value EvalControl(const Instr& instr, std::vector<Value> operands);
  Value EvalWhile(const Instr& instr, Value state);
  Value RandomState(const Instr& instr);
  Tensors EvalArrays(ComputationId computation, const Instr& instr, std::vector<Value>& operands);
  Tensors CallFlat(ComputationId computation, Tensors arguments);

  const Module& module_;
  Context context_;
  std::vector<std::optional<Plan>> plans_;
  std::map<const Instr*, Value> constants_;
  std::optional<Effects> effects_;     // made with the first plan
  uint64_t random_state_[2] = {0, 0};  // of rng-get-and-update-state, low word first
};

// Tuple leaves, depth-first, and back.
void FlattenValue(const Value& value, std::vector<std::shared_ptr<Tensor>>& leaves);
Value BuildValue(const Shape& shape, std::span<const std::shared_ptr<Tensor>>& leaves);

}  // namespace fusemark::reference
