// Work estimates of instructions, for the fusion plan, for explain and for throughput figures.
// Counts, not times: a roofline turns them into a bound.
#pragma once

#include <cstdint>

#include "compiler/ir/module.h"

namespace fusemark {

// Arithmetic operations the instruction performs (a multiply-add counts two, a transcendental
// counts ten, data movement none). Called regions count once per element they are applied to.
double FlopsOf(const Module& module, const Computation& computation, const Instr& instr);

// Operations to compute one element of an elementwise or index instruction.
double FlopsPerElement(const Instr& instr);

}  // namespace fusemark
