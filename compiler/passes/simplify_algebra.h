// The rules of simplify-algebra by theme; only its .cpp files include this. A rule sees one
// instruction whose operands are already simplified and either leaves it, names an existing value
// that equals it, or turns it into a simpler instruction of the same result type (which is then
// looked at again).
//
// INVARIANT: every rule makes progress (fewer or cheaper instructions between inputs and result),
// or the pass would not end.
#pragma once

#include <optional>

#include "compiler/ir/rewrite.h"

namespace fusemark {

struct Step {
  bool fired = false;
  std::optional<InstrId> value;  // set: use this instead of the instruction
};

inline Step Leave() {
  return {};
}
inline Step Use(InstrId value) {
  return {true, value};
}
// Turns `instr` into another operation with the same name and result shape.
Step Become(Instr& instr, Op op, std::vector<InstrId> operands, Attrs attrs = {});

Step SimplifyElementwise(Builder& builder, Instr& instr);  // simplify_elementwise.cpp
Step SimplifyConversion(Builder& builder, Instr& instr);   // simplify_elementwise.cpp
Step SimplifyHoist(Builder& builder, Instr& instr);        // simplify_hoist.cpp
Step SimplifyMovement(Builder& builder, Instr& instr);     // simplify_movement.cpp
Step SimplifySlicing(Builder& builder, Instr& instr);      // simplify_slicing.cpp

// The operand of which `id` is a copy or broadcast, if it is a known scalar: its literal.
const Literal* SplatOf(const Builder& builder, InstrId id);
// Every element of `id` is `value` exactly (-0 is not +0). False for complex types.
bool IsSplat(const Builder& builder, InstrId id, double value);
bool IsIncreasing(const Dims& dims);

// reshape(broadcast(x)) as broadcast(reshape(x)): possible if each group of dims that the reshape
// maps to each other holds either none of x's dims, or all of them in order (ones aside).
struct SwappedBroadcast {
  Dims operand_dims;    // x reshaped to this
  Dims broadcast_dims;  // then broadcast along these dims of the result
};
std::optional<SwappedBroadcast> SwapReshapeBroadcast(const Builder& builder, const Instr& broadcast,
                                                     const Dims& result);

}  // namespace fusemark
