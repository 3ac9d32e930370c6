// Opcodes and their properties. Passes ask for a property, they never list opcodes where one fits.
//
// Semantics in short (the long form is in README "Semantics"): types never promote; integers wrap;
// integer division by zero gives -1 (all ones), remainder by zero the dividend; shifts by the width
// or more give 0 (arithmetic: the sign); maximum/minimum/clamp return NaN if any operand is NaN;
// float->int conversion truncates, saturates, and maps NaN to 0; narrow floats compute in f32 and
// round after every operation (reference and off).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusemark {

enum class Op : uint8_t {
#define FM_OP(enumerator, name, arity, klass) enumerator,
#include "compiler/ir/ops.def"
#undef FM_OP
};

enum class OpClass : uint8_t {
  Elementwise,
  Index,
  Reduce,
  Contract,
  Update,
  Control,
  Tuple,
  Normalize,
  Random,
  Linear,
  Collective,
  Other,
};

std::string_view OpName(Op op);
std::optional<Op> OpFromName(std::string_view name);
int Arity(Op op);  // -1: variadic
OpClass ClassOf(Op op);

inline bool IsElementwise(Op op) {
  return ClassOf(op) == OpClass::Elementwise;
}
// x op y == y op x for every element type (NaN payloads aside).
bool IsCommutative(Op op);
// Costs tens of cycles per element: recomputing it in two consumers has to be paid for.
bool IsTranscendental(Op op);

}  // namespace fusemark
