#include <algorithm>
#include <set>

#include "compiler/fusion/planner.h"
#include "compiler/ir/users.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/program/library_call.h"
#include "compiler/program/off_program.h"

namespace fusemark {
namespace {

constexpr uint32_t kNoValue = UINT32_MAX;

class OffBuilder {
 public:
  OffBuilder(const Module& module, ComputationId id, OffModule& off)
      : module_(module), id_(id), computation_(module[id]), off_(off), live_(Live(computation_)) {}

  Result<OffComputation> Run() {
    FindImplicitBroadcasts();
    values_.resize(computation_.instrs.size());
    for (const InstrId parameter : computation_.parameters) {
      values_[parameter.index] = NewValues(computation_[parameter].shape);
      const auto& leaves = values_[parameter.index];
      result_.parameters.insert(result_.parameters.end(), leaves.begin(), leaves.end());
    }
    for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
      if (live_[i] && !implicit_[i]) FM_RETURN_IF_ERROR(Instruction({i}));
    }
    result_.results = values_[computation_.root.index];
    FindLastReaders();
    return std::move(result_);
  }

 private:
  const Instr& At(InstrId id) const { return computation_[id]; }

  std::vector<uint32_t> NewValues(const Shape& shape) {
    std::vector<uint32_t> values;
    for (int64_t leaf = LeafCount(shape); leaf > 0; --leaf) values.push_back(result_.values++);
    return values;
  }

  void FindImplicitBroadcasts() {
    implicit_.assign(computation_.instrs.size(), false);
    const auto users = Users(computation_);
    for (uint32_t i = 0; i < computation_.instrs.size(); ++i) {
      if (computation_.instrs[i].op != Op::kBroadcast || computation_.root.index == i) continue;
      implicit_[i] = std::all_of(users[i].begin(), users[i].end(),
                                 [&](InstrId user) { return IsElementwise(At(user).op); });
    }
  }

  Result<void> Instruction(InstrId id) {
    const Instr& instr = At(id);
    switch (instr.op) {
      case Op::kParameter: return Ok();
      case Op::kTuple:
      case Op::kAfterAll: return View(id);
      case Op::kReshape:
      case Op::kCopy: values_[id.index] = values_[instr.operands[0].index]; return Ok();
      case Op::kGetTupleElement: return TupleElement(id);
      case Op::kConstant: return Constant(id);
      case Op::kCall:
      case Op::kWhile:
      case Op::kConditional: return Control(id);
      case Op::kCustomCall: return CustomCall(id);
      default: return Kernel(id);
    }
  }

  Result<void> View(InstrId id) {
    for (const InstrId operand : At(id).operands) {
      const auto& leaves = values_[operand.index];
      values_[id.index].insert(values_[id.index].end(), leaves.begin(), leaves.end());
    }
    if (At(id).op == Op::kAfterAll) values_[id.index].assign(1, EmptyValue());
    return Ok();
  }

  // A token: a value without bytes.
  uint32_t EmptyValue() {
    OffAction action;
    action.kind = OffAction::Kind::kConstant;
    action.constant = MakeLiteral(ArrayShape(DType::kU8, {0}), std::vector<std::byte>(1));
    action.results = {result_.values++};
    result_.actions.push_back(action);
    return action.results[0];
  }

  Result<void> TupleElement(InstrId id) {
    const Instr& instr = At(id);
    const Shape& tuple = At(instr.operands[0]).shape;
    const auto index = static_cast<size_t>(instr.As<TupleIndexAttrs>().index);
    int64_t first = 0;
    for (size_t element = 0; element < index; ++element) {
      first += LeafCount(tuple.elements[element]);
    }
    const auto begin = values_[instr.operands[0].index].begin() + first;
    values_[id.index].assign(begin, begin + LeafCount(instr.shape));
    return Ok();
  }

  void ConstantLeaves(const Literal& literal, std::vector<uint32_t>& values) {
    if (literal.shape.is_tuple) {
      for (const Literal& element : literal.elements) ConstantLeaves(element, values);
      return;
    }
    OffAction action;
    action.kind = OffAction::Kind::kConstant;
    action.constant = literal;
    action.results = {result_.values++};
    values.push_back(action.results[0]);
    result_.actions.push_back(std::move(action));
  }

  Result<void> Constant(InstrId id) {
    ConstantLeaves(At(id).As<ConstantAttrs>().literal, values_[id.index]);
    return Ok();
  }

  void DefineResults(InstrId id, OffAction& action) {
    values_[id.index] = NewValues(At(id).shape);
    action.results = values_[id.index];
    std::vector<Shape> leaves;
    FlattenLeaves(At(id).shape, leaves);
    for (const Shape& leaf : leaves) action.result_bytes.push_back(ByteSizeOf(leaf));
  }

  Result<void> Control(InstrId id) {
    const Instr& instr = At(id);
    OffAction action;
    action.kind = instr.op == Op::kWhile         ? OffAction::Kind::kWhile
                  : instr.op == Op::kConditional ? OffAction::Kind::kConditional
                                                 : OffAction::Kind::kCall;
    for (const ComputationId callee : instr.called) action.callees.push_back(callee.index);
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      const auto& leaves = values_[instr.operands[i].index];
      action.operands.insert(action.operands.end(), leaves.begin(), leaves.end());
      if (instr.op == Op::kConditional && i > 0) {
        action.argument_counts.push_back(static_cast<uint32_t>(leaves.size()));
      }
    }
    if (instr.op == Op::kConditional) {
      action.selector_is_pred = At(instr.operands[0]).shape.dtype == DType::kPred;
    }
    DefineResults(id, action);
    result_.actions.push_back(std::move(action));
    return Ok();
  }

  Result<void> CustomCall(InstrId id) {
    FM_TRY(auto call, MakeHostCall(computation_, id));
    OffAction action;
    action.kind = OffAction::Kind::kHostCall;
    action.host_call = call.get();
    off_.host_calls.push_back(std::move(call));
    for (const InstrId operand : At(id).operands) {
      const auto& leaves = values_[operand.index];
      action.operands.insert(action.operands.end(), leaves.begin(), leaves.end());
    }
    DefineResults(id, action);
    result_.actions.push_back(std::move(action));
    return Ok();
  }

  Result<void> Kernel(InstrId id) {
    const Instr& instr = At(id);
    OffAction action;
    if (auto library = MakeLibraryKernel(module_, id_, id)) {
      action.kind = OffAction::Kind::kLibrary;
      action.library = library.get();
      off_.library.push_back(std::move(library));
      for (const InstrId operand : instr.operands) {
        action.operands.push_back(values_[operand.index][0]);
      }
    } else {
      std::set<InstrId> members;
      for (const InstrId operand : instr.operands) {
        if (implicit_[operand.index]) members.insert(operand);
      }
      FM_TRY(const loops::Lowered lowered, loops::Lower({&module_,
                                                         id_,
                                                         {id},
                                                         {members.begin(), members.end()},
                                                         loops::ClassOfInstr(module_, id_, id),
                                                         loops::Rounding::kEveryOperation}));
      FM_TRY(const int kernel, off_.kernels->Add(lowered.kernel, loops::Schedule{}));
      action.signature = loops::TaskId(lowered.kernel).low;
      off_.kernel_by_signature[action.signature] = kernel;
      for (const InstrId operand : lowered.operands) {
        action.operands.push_back(values_[operand.index][0]);
      }
    }
    DefineResults(id, action);
    result_.actions.push_back(std::move(action));
    return Ok();
  }

  void FindLastReaders() {
    std::vector<uint32_t> last(result_.values, kNoValue);
    for (uint32_t a = 0; a < result_.actions.size(); ++a) {
      for (const uint32_t value : result_.actions[a].results) last[value] = a;
      for (const uint32_t value : result_.actions[a].operands) last[value] = a;
    }
    for (const uint32_t value : result_.results) last[value] = kNoValue;
    for (uint32_t value = 0; value < last.size(); ++value) {
      if (last[value] != kNoValue) result_.actions[last[value]].dead_after.push_back(value);
    }
  }

  const Module& module_;
  ComputationId id_;
  const Computation& computation_;
  OffModule& off_;
  std::vector<bool> live_, implicit_;
  std::vector<std::vector<uint32_t>> values_;  // by instruction: one per leaf
  OffComputation result_;
};

}  // namespace

Result<OffModule> BuildOff(const Module& module, const loops::Target& target, int threads) {
  OffModule off;
  FM_TRY(off.kernels, KernelSet::Create(target));
  off.entry = module.entry.index;
  off.computations.resize(module.computations.size());
  for (const ComputationId id : WholeComputations(module)) {
    FM_TRY(off.computations[id.index], OffBuilder(module, id, off).Run());
  }
  FM_RETURN_IF_ERROR(off.kernels->Compile(threads));
  return off;
}

}  // namespace fusemark
