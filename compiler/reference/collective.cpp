#include "compiler/reference/collective.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/one_device.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

Value ArrayOfZeros(const Shape& shape) {
  return {std::make_shared<Tensor>(MakeTensor(shape)), {}};
}

bool IsPermute(Op op) {
  return op == Op::kCollectivePermute || op == Op::kCollectivePermuteStart;
}

bool StartsPair(Op op) {
  return op == Op::kAllGatherStart || op == Op::kCollectivePermuteStart;
}

// The type of what is sent: of several operands a tuple.
Shape SentShape(const std::vector<const Shape*>& operands) {
  if (operands.size() == 1) return *operands[0];
  std::vector<Shape> elements;
  for (const Shape* operand : operands) elements.push_back(*operand);
  return TupleShape(std::move(elements));
}

}  // namespace

bool SupportsCollective(const Instr& instr, const std::vector<const Shape*>& operands) {
  switch (instr.op) {
    case Op::kPartitionId:
    case Op::kReplicaId:
    case Op::kAllReduceDone:
    case Op::kAllGatherDone:
    case Op::kCollectivePermuteDone: return true;
    case Op::kRaggedAllToAll: return false;
    default: break;
  }
  if (operands.empty()) return false;
  const Shape sent = SentShape(operands);
  if (IsPermute(instr.op) && !sent.is_array()) return false;
  if (!StartsPair(instr.op)) return SameType(sent, instr.shape);
  const std::vector<Shape>& elements = instr.shape.elements;
  return elements.size() >= 2 && SameType(sent, elements[0]) && SameType(sent, elements[1]) &&
         std::all_of(elements.begin() + 2, elements.end(),
                     [](const Shape& state) { return state.is_scalar(); });
}

Value EvalCollective(const Instr& instr, std::vector<Value> operands) {
  switch (instr.op) {
    case Op::kPartitionId:
    case Op::kReplicaId: return ArrayOfZeros(instr.shape);
    case Op::kAllReduceDone: return std::move(operands[0]);
    case Op::kAllGatherDone:
    case Op::kCollectivePermuteDone: return std::move(operands[0].elements[1]);
    default: break;
  }
  Value sent = operands.size() == 1 ? operands[0] : Value{nullptr, operands};
  Value received = sent;
  if (IsPermute(instr.op) && !SendsToItself(instr)) received = ArrayOfZeros(sent.array->shape);
  if (!StartsPair(instr.op)) return received;
  return StartedValue(instr, std::move(sent), std::move(received));
}

Value StartedValue(const Instr& instr, Value first, Value second) {
  Value started{nullptr, {std::move(first), std::move(second)}};
  for (size_t i = 2; i < instr.shape.elements.size(); ++i)
    started.elements.push_back(ArrayOfZeros(instr.shape.elements[i]));
  return started;
}

}  // namespace fusemark::reference
