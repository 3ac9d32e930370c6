#include "compiler/reference/evaluate.h"

#include <new>

#include "compiler/reference/custom_call.h"

namespace fusemark {
namespace {

using reference::Interpreter;
using reference::Value;
using Leaves = std::vector<std::shared_ptr<Tensor>>;

// Borrowed tensors. The caller of this keeps `leaves` alive, so no value is ever seen as having one
// holder and updated in place.
Leaves Borrow(std::span<const Tensor* const> tensors) {
  Leaves leaves;
  for (const Tensor* tensor : tensors)
    leaves.emplace_back(const_cast<Tensor*>(tensor), [](Tensor*) {});
  return leaves;
}

std::string Place(const Computation& computation, const Instr& instr) {
  std::string text = instr.loc.line != 0 ? "line " + std::to_string(instr.loc.line) + ": " : "";
  return text + "%" + instr.name + " in " + computation.name + ": ";
}

Result<void> CheckInstr(const Module& module, ComputationId id, InstrId instr_id) {
  const Computation& computation = module[id];
  const Instr& instr = computation[instr_id];
  if (instr.op == Op::kConstant && instr.As<ConstantAttrs>().elided)
    return Invalid(Place(computation, instr) +
                       "the text elides this constant's values; fill it by the input rule first",
                   instr.loc);
  if (ReferenceSupports(module, id, instr_id)) return Ok();
  std::string operands;
  for (InstrId operand : instr.operands)
    operands += (operands.empty() ? "" : ", ") + ToString(computation[operand].shape);
  return Unsupported(Place(computation, instr) + "the reference interpreter cannot run " +
                         ToString(instr.shape) + " " + std::string(OpName(instr.op)) + "(" +
                         operands + ")",
                     instr.loc);
}

// Every instruction that a run from `root` can reach.
Result<void> CheckReachable(const Module& module, ComputationId root) {
  std::vector<bool> reached(module.computations.size(), false);
  reached[root.index] = true;
  for (uint32_t c = root.index + 1; c-- > 0;) {  // callers come after the called
    if (!reached[c]) continue;
    const Computation& computation = module.computations[c];
    for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
      FM_RETURN_IF_ERROR(CheckInstr(module, {c}, {i}));
      for (ComputationId called : computation.instrs[i].called) reached[called.index] = true;
    }
  }
  return Ok();
}

Result<void> CheckParams(const Module& module, std::span<const Tensor* const> params) {
  std::vector<Shape> leaves;
  for (InstrId parameter : module.Entry().parameters)
    FlattenLeaves(module.Entry()[parameter].shape, leaves);
  if (leaves.size() != params.size())
    return Invalid("the entry takes " + std::to_string(leaves.size()) + " arrays, given " +
                   std::to_string(params.size()));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!SameType(leaves[i], params[i]->shape))
      return Invalid("entry parameter leaf " + std::to_string(i) + " is " + ToString(leaves[i]) +
                     ", given " + ToString(params[i]->shape));
  }
  return Ok();
}

// Runs f and turns what it throws into errors.
template <class F>
Result<std::vector<Tensor>> Guard(F f) {
  try {
    Leaves leaves;
    reference::FlattenValue(f(), leaves);
    std::vector<Tensor> results;
    for (auto& leaf : leaves)
      results.push_back(leaf.use_count() == 1 ? std::move(*leaf) : CopyTensor(*leaf));
    return results;
  } catch (const reference::Cancelled&) {
    return Error{Code::kCancelled, "the reference interpreter was interrupted"};
  } catch (const reference::CallFailed& failed) {
    return failed.error;
  } catch (const std::bad_alloc&) {
    return Error{Code::kLaunchFailed, "the reference interpreter ran out of memory"};
  }
}

}  // namespace

Result<std::vector<Tensor>> Evaluate(const Module& module, std::span<const Tensor* const> params,
                                     const std::atomic<bool>* cancelled) {
  FM_RETURN_IF_ERROR(CheckReachable(module, module.entry));
  FM_RETURN_IF_ERROR(CheckParams(module, params));
  const Leaves leaves = Borrow(params);
  Interpreter interpreter(module, cancelled);
  return Guard([&] {
    std::span<const std::shared_ptr<Tensor>> rest = leaves;
    std::vector<Value> arguments;
    for (InstrId parameter : module.Entry().parameters)
      arguments.push_back(reference::BuildValue(module.Entry()[parameter].shape, rest));
    return interpreter.Run(module.entry, std::move(arguments));
  });
}

Result<std::vector<Tensor>> EvaluateInstr(const Module& module, ComputationId computation,
                                          InstrId instr, std::span<const Tensor* const> operands) {
  FM_RETURN_IF_ERROR(CheckInstr(module, computation, instr));
  const Instr& target = module[computation][instr];
  for (ComputationId called : target.called) FM_RETURN_IF_ERROR(CheckReachable(module, called));
  const Leaves leaves = Borrow(operands);
  Interpreter interpreter(module, nullptr);
  return Guard([&] {
    std::span<const std::shared_ptr<Tensor>> rest = leaves;
    std::vector<Value> values;
    for (InstrId operand : target.operands)
      values.push_back(reference::BuildValue(module[computation][operand].shape, rest));
    return interpreter.EvalInstr(computation, target, std::move(values));
  });
}

}  // namespace fusemark
