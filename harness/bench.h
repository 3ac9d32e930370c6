// Workload x engine -> one result row: compile, bind, measure, check. A failure is a row, not the
// end. Arguments, database and output are somebody else's: commands/run.cpp, recorder.h, report.h.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autotuner/measure.h"
#include "compiler/compile.h"
#include "compiler/ir/tensor.h"
#include "harness/result_row.h"
#include "workloads/workload.h"

namespace fusemark {

using CompileFn =
    std::function<Result<std::unique_ptr<Executable>>(const Module&, const CompileOptions&)>;

struct BenchRequest {
  const Workload* workload = nullptr;
  CompileOptions compile;  // engine, threads, residents, stored config
  MeasureOptions measure;
  std::span<const Tensor> inputs;
  const std::vector<Tensor>* expected = nullptr;  // the reference's results; null: unchecked
  std::string reference;                          // how the report calls them
  ConfigSource config_source = ConfigSource::kDefault;
  std::string config_note;
  int64_t max_memory = 0;  // bytes that parameters, results and intermediates may take; 0: any
};

struct BenchResult {
  ResultRow row;
  std::vector<Tensor> outputs;  // of the last launch; empty if it failed
};

// A stored config that the compiler refuses (kInvalidInput) is reported as stale and the default is
// used instead.
BenchResult Bench(const BenchRequest& request, const CompileFn& compile);

// One launch, no timing: for `check`. The row has no latency.
BenchResult RunOnce(const BenchRequest& request, const CompileFn& compile);

// Buffers for the leaves of the result. kLaunchFailed when memory is exhausted.
Result<std::vector<Tensor>> MakeOutputs(const Module& module);

}  // namespace fusemark
