// What measured: the machine (CPU, caches, memory, kernel, governor) and this build. Read from
// /proc and /sys; whatever cannot be read says "unknown" instead of being left out. Never changes
// anything.
//
// The class of a machine is built from what decides speed and does not vary between reboots (no
// clock readings); decisions of the tuner are shared within a class.
#pragma once

#include <string>
#include <vector>

#include "results_db/records.h"

namespace fusemark {

// `root` is prefixed to /proc, /sys and /etc: tests pass a made-up tree.
MachineRecord ReadMachine(const std::string& root = "");
MachineRecord CurrentMachine();  // ReadMachine() once per process
BuildRecord CurrentBuild();

// CPUs this process may use (affinity mask).
int AvailableCpus();

// What makes timings less trustworthy here: sanitizers, debug build, power-saving governor.
std::vector<std::string> EnvironmentWarnings(const MachineRecord& machine);

}  // namespace fusemark
