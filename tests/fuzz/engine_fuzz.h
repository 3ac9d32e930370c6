// One random module against all engines: generate, run, judge; in a process of its own where a
// crash or a hang must not end the search.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"

namespace fusemark {

struct FuzzCase {
  Module module;
  std::vector<Tensor> inputs;
  uint64_t config_seed = 0;  // of the random plan and schedules
};

FuzzCase CopyCase(const FuzzCase& from);
// Every third case has special values in its inputs.
FuzzCase CaseOfSeed(uint64_t seed);

// How a case fails: `kind` ("on: mismatch", "off: error", "crash") stays the same while it shrinks,
// `detail` says more. Empty: it passes. A refusal by CheckSupported is "unsupported".
struct Verdict {
  std::string kind, detail;
  bool failed() const { return !kind.empty() && kind != "unsupported"; }
};

// Runs reference, off, on, and on with a random plan and random schedules.
Verdict CheckCase(const FuzzCase& fuzz_case);

// CheckCase in a child process that has `seconds` of processor time: also "crash", "timeout" and,
// by the clock, "hang".
Verdict CheckCaseIsolated(const FuzzCase& fuzz_case, int seconds = 30);

// Cases of the seeds from `first` up to `last` (exclusive), several per child process; `report` is
// called in order. Stops early when `keep_going` says no.
void CheckSeeds(uint64_t first, uint64_t last,
                const std::function<void(uint64_t seed, const Verdict&)>& report,
                const std::function<bool()>& keep_going);

// HLO text with the reason and the inputs in comments above.
std::string CaseText(const FuzzCase& fuzz_case, const Verdict& verdict, uint64_t seed);

}  // namespace fusemark
