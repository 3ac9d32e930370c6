// What instructions for several devices mean on one: collectives of a single participant,
// annotations for partitioners and memory spaces. Shared by the reference and the graph passes, so
// that both refuse the same programs.
#pragma once

#include "compiler/ir/module.h"

namespace fusemark {

// One replica, one partition.
bool RunsOnOneDevice(const Module& module);

// A custom call whose result is its operand: sharding, placement, layout annotations.
bool IsIdentityCall(const Instr& instr);

// collective-permute: the only device is among the receivers of what it sends.
bool SendsToItself(const Instr& instr);

}  // namespace fusemark
