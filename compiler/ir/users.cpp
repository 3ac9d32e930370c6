#include "compiler/ir/users.h"

namespace fusemark {

std::vector<std::vector<InstrId>> Users(const Computation& computation) {
  std::vector<std::vector<InstrId>> users(computation.instrs.size());
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    for (InstrId operand : computation.instrs[i].operands) users[operand.index].push_back({i});
  }
  return users;
}

std::vector<bool> Live(const Computation& computation) {
  std::vector<bool> live(computation.instrs.size(), false);
  if (computation.instrs.empty()) return live;
  live[computation.root.index] = true;
  for (InstrId parameter : computation.parameters) live[parameter.index] = true;
  for (size_t i = computation.instrs.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (InstrId operand : computation.instrs[i].operands) live[operand.index] = true;
  }
  return live;
}

ScalarRegion MatchScalarRegion(const Computation& computation) {
  const Instr& root = computation.Root();
  if (computation.parameters.size() != 2) return {};
  if (root.op == Op::kParameter) {
    return {Op::kParameter, computation.root == computation.parameters[1]};
  }
  if (root.operands.size() != 2 || !IsElementwise(root.op) || root.op == Op::kCompare) return {};
  const bool straight = root.operands[0] == computation.parameters[0] &&
                        root.operands[1] == computation.parameters[1];
  const bool swapped = root.operands[0] == computation.parameters[1] &&
                       root.operands[1] == computation.parameters[0];
  const bool one_type = root.shape.dtype == computation[root.operands[0]].shape.dtype;
  if (!one_type || !(straight || (swapped && IsCommutative(root.op)))) return {};
  return {root.op, false};
}

}  // namespace fusemark
