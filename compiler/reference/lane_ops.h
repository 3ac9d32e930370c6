// Elementwise operations on lanes (lanes.h). Results are not rounded to the element type yet: the
// caller stores them with Encode or rounds them with RoundLanes.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/ir/module.h"
#include "compiler/reference/lanes.h"

namespace fusemark::reference {

// n lanes of `instr`, an elementwise instruction with operands of the given types. Types of 16 bits
// and less are computed in f32: their results are rounded to f32 here, and to the type by the
// caller.
void ApplyLanes(const Instr& instr, std::span<const DType> types,
                std::span<const void* const> operands, int64_t n, void* out);

// Which of the elementwise opcodes ApplyLanes knows for operands of this kind.
bool LaneOpSupported(Op op, Kind operand_kind);

// The pieces, one file each: arithmetic of one opcode on operands of one type.
void UnaryLanes(Op op, DType dtype, const void* a, int64_t n, void* out);
void BinaryLanes(Op op, DType dtype, const void* a, const void* b, int64_t n, void* out);
void CompareLanes(const CompareAttrs& attrs, DType dtype, const void* a, const void* b, int64_t n,
                  void* out);
void ConvertLanes(DType from, DType to, const void* a, int64_t n, void* out);
void ReducePrecisionLanes(const ReducePrecisionAttrs& attrs, DType dtype, const void* a, int64_t n,
                          void* out);

// HLO's maximum and minimum: NaN if either operand is NaN, the first one wins.
template <class T>
T MaximumOf(T a, T b) {
  return a != a || a > b ? a : b != b || b > a ? b : a;
}
template <class T>
T MinimumOf(T a, T b) {
  return a != a || a < b ? a : b != b || b < a ? b : a;
}

}  // namespace fusemark::reference
