// The parts of expand-numerics, one file each. Only the pass itself (expand_numerics.cpp) includes
// this. Each returns the value that takes the instruction's place, or nothing where it keeps it
// because a type is not supported.
#pragma once

#include <optional>

#include "compiler/ir/scan.h"
#include "compiler/passes/emitter.h"

namespace fusemark {

struct ExpandContext {
  Emitter& emit;
  NewRegions& regions;
  const Effects& effects;

  InstrIds Loop(int64_t steps, InstrIds state, const LoopBody& body) const {
    return EmitLoop(emit, regions, effects, steps, std::move(state), body);
  }
};

std::optional<InstrId> ExpandCholesky(const ExpandContext& context, const Instr& instr);
std::optional<InstrId> ExpandTriangularSolve(const ExpandContext& context, const Instr& instr);
std::optional<InstrId> ExpandFft(const ExpandContext& context, const Instr& instr);
std::optional<InstrId> ExpandRngBitGenerator(const ExpandContext& context, const Instr& instr);
std::optional<InstrId> ExpandRng(const ExpandContext& context, const Instr& instr, uint64_t seed);
InstrId ExpandScan(const ExpandContext& context, const Instr& instr, const Computation& region,
                   const ScanForm& form);

// Rows or columns that one loop handles; wider matrices are cut into panels of this many, joined by
// matrix products.
constexpr int64_t PanelWidth(int64_t n) {
  return n <= 48 ? n : n <= 512 ? 32 : 64;
}
// The type linear algebra computes in: f32 for the narrow floats.
inline DType LinearType(DType dtype) {
  return dtype == DType::kF64 || IsComplex(dtype) ? dtype : DType::kF32;
}

}  // namespace fusemark
