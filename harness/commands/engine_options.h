// What run, check and tune share about engines: threads, compile options, the reference's results.
#pragma once

#include <atomic>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/tensor.h"
#include "harness/load.h"
#include "harness/output.h"

namespace fusemark {

// Resolves 0 (not given: all CPUs of this process) and warns when there are more threads than CPUs.
int ThreadsOf(int threads, Progress& progress);

CompileOptions OptionsFor(Engine engine, int threads, const std::vector<int64_t>& residents);

// Leaves of the result by the interpreter. kCancelled when the flag is raised.
Result<std::vector<Tensor>> EvaluateReference(const LoadedWorkload& loaded,
                                              const std::atomic<bool>* cancelled);

}  // namespace fusemark
