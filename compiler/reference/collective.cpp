#include "compiler/reference/collective.h"

#include <utility>

#include "compiler/ir/one_device.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

Value ArrayOfZeros(const Shape& shape) {
  return {std::make_shared<Tensor>(MakeTensor(shape)), {}};
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
  if (SameType(sent, instr.shape)) return true;
  return StartsPair(instr.op) && instr.shape.elements.size() >= 2 &&
         SameType(sent, instr.shape.elements[1]);
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
  const bool permute =
      instr.op == Op::kCollectivePermute || instr.op == Op::kCollectivePermuteStart;
  if (permute && !SendsToItself(instr)) received = ArrayOfZeros(sent.array->shape);
  if (!StartsPair(instr.op) || !instr.shape.is_tuple) return received;
  Value started{nullptr, {std::move(sent), std::move(received)}};
  for (size_t i = 2; i < instr.shape.elements.size(); ++i)
    started.elements.push_back(ArrayOfZeros(instr.shape.elements[i]));
  return started;
}

}  // namespace fusemark::reference
