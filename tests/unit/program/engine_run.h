// Runs modules on an engine, for tests: buffers, poisoned results, comparison with the reference.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/tensor.h"
#include "compiler/on.h"

namespace fusemark {

// Options for this machine.
CompileOptions OptionsOf(Engine engine, int threads = 1);

// Results start as garbage, so that what a run does not write is seen.
Result<std::vector<Tensor>> RunOnce(Executable& executable, const Module& module,
                                    const std::vector<Tensor>& inputs);
Result<std::vector<Tensor>> CompileAndRun(const Module& module, const CompileOptions& options,
                                          const std::vector<Tensor>& inputs);

// "" if they are the same within `tolerance` (0: by type), else where they differ and how.
std::string Difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                       double tolerance = 0);

// That of the narrowest type in the module: a value may pass through it unrounded in one engine
// (excess precision) and rounded in another.
double ToleranceOf(const Module& module);

// The inputs of a module by the documented rule.
std::vector<Tensor> InputsOf(const Module& module, uint64_t seed = 0);

// Runs off and on with one and two threads and reports the first that differs from the reference
// ("" if none does): engine, threads, place and values.
std::string EnginesDisagree(const Module& module, const std::vector<Tensor>& inputs);

// A random plan and a random schedule per task: some of the flips the tuner tries, half the time
// also any choice for any instruction of the entry. Canonical text.
Result<std::string> RandomConfig(const OnProblem& problem, std::mt19937_64& random);

}  // namespace fusemark
