// Analyses over one computation, recomputed when needed (linear), never stored in the IR.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace fusemark {

// users[i]: instructions that read instruction i, in order, once per use (x*x lists its user
// twice).
std::vector<std::vector<InstrId>> Users(const Computation& computation);

// live[i]: the root depends on instruction i (parameters count as live).
std::vector<bool> Live(const Computation& computation);

// The opcode f for which the computation is exactly `f(parameter 0, parameter 1)` on scalars of one
// type, in either order when f is commutative; Op::kParameter if it is nothing so simple. With
// `second_only` set to true on return the computation just returns parameter 1 (scatter that
// overwrites).
struct ScalarRegion {
  Op op = Op::kParameter;
  bool returns_second = false;
};
ScalarRegion MatchScalarRegion(const Computation& computation);

}  // namespace fusemark
