#include "harness/commands/engine_options.h"

#include <fmt/format.h>

#include <new>

#include "compiler/codegen/target.h"
#include "compiler/reference/evaluate.h"
#include "harness/environment.h"
#include "harness/interrupt.h"

namespace fusemark {

int ThreadsOf(int threads, Progress& progress) {
  const int cpus = AvailableCpus();
  if (threads == 0) return cpus;
  if (threads > cpus) {
    progress.Line(fmt::format("warning: {} threads on {} CPU{}: they will wait for each other",
                              threads, cpus, cpus == 1 ? "" : "s"));
  }
  return threads;
}

CompileOptions OptionsFor(Engine engine, int threads, const std::vector<int64_t>& residents) {
  static const loops::Target host = HostTarget();
  CompileOptions options;
  options.engine = engine;
  options.target = host;
  options.target.threads = threads;
  options.threads = threads;
  options.residents = residents;
  options.cancelled = &Interrupted();
  return options;
}

Result<std::vector<Tensor>> EvaluateReference(const LoadedWorkload& loaded,
                                              const std::atomic<bool>* cancelled) {
  std::vector<const Tensor*> params;
  for (const Tensor& input : loaded.inputs) params.push_back(&input);
  try {
    return Interpret(loaded.workload.module, params, cancelled);
  } catch (const std::bad_alloc&) {
    return Error{Code::kLaunchFailed, "out of memory in the reference interpreter"};
  }
}

}  // namespace fusemark
