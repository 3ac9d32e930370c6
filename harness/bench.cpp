#include "harness/bench.h"

#include <fmt/format.h>

#include <chrono>
#include <new>

#include "harness/limits.h"
#include "results_db/db.h"

namespace fusemark {
namespace {

int64_t ElapsedNs(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start)
      .count();
}

ResultRow StartRow(const BenchRequest& request) {
  ResultRow row;
  row.workload = request.workload->name;
  row.engine = EngineName(request.compile.engine);
  row.threads = request.compile.threads;
  row.residents = request.compile.residents;
  row.config_source = request.config_source;
  row.config_note = request.config_note;
  row.started_utc = UtcNow();
  row.throughput_unit =
      request.workload->items_per_run > 0 ? request.workload->item_unit + "/s" : "runs/s";
  const size_t elided = request.workload->elided_constants.size();
  if (elided > 0) {
    row.notices.push_back(fmt::format("{} elided constant{} filled by the input rule", elided,
                                      elided == 1 ? " was" : "s were"));
  }
  return row;
}

void Fail(ResultRow& row, Error error) {
  row.status = error.code == Code::kCancelled ? RunStatus::kInterrupted : RunStatus::kFailed;
  if (row.status == RunStatus::kFailed) row.error = std::move(error);
}

// Compiles; falls back to the default plan when the stored config no longer fits.
Result<std::unique_ptr<Executable>> CompileRow(const BenchRequest& request,
                                               const CompileFn& compile, ResultRow& row) {
  Result<std::unique_ptr<Executable>> executable =
      compile(request.workload->module, request.compile);
  if (executable.ok() || request.compile.config_text.empty() ||
      executable.error().code != Code::kInvalidInput) {
    return executable;
  }
  row.config_source = ConfigSource::kStale;
  row.config_note = "stored config not used: " + executable.error().message;
  CompileOptions plain = request.compile;
  plain.config_text.clear();
  return compile(request.workload->module, plain);
}

// An executable with its argument pointers. Pointers stay valid because tensors own their memory on
// the heap.
struct Prepared {
  std::unique_ptr<Executable> executable;
  std::vector<const void*> params;
  std::vector<Tensor> outputs;
  std::vector<void*> results;
};

Result<Prepared> Prepare(const BenchRequest& request, const CompileFn& compile, ResultRow& row) {
  Prepared prepared;
  FM_TRY(prepared.executable, CompileRow(request, compile, row));
  FM_RETURN_IF_ERROR(CheckMemory(
      request.workload->module, prepared.executable->Stats().peak_arena_bytes, request.max_memory));
  for (const Tensor& input : request.inputs) prepared.params.push_back(input.data.get());
  FM_TRY(prepared.outputs, MakeOutputs(request.workload->module));
  for (const Tensor& output : prepared.outputs) prepared.results.push_back(output.data.get());
  if (!request.compile.residents.empty()) {
    const auto start = std::chrono::steady_clock::now();
    FM_RETURN_IF_ERROR(prepared.executable->Bind(prepared.params));
    row.bind_ns = ElapsedNs(start);
  }
  return prepared;
}

void TakeStats(const Executable& executable, ResultRow& row) {
  const CompileStats stats = executable.Stats();
  row.compile_ns = stats.compile_ns;
  row.kernels = stats.kernels;
  row.peak_arena_bytes = stats.peak_arena_bytes;
  row.config_text = stats.config_text;
}

void TakeMeasurement(const BenchRequest& request, Measurement measurement, ResultRow& row) {
  row.latency = Summarise(measurement.samples_ns);
  if (!measurement.samples_ns.empty() && measurement.window_ns > 0) {
    const double items = request.workload->items_per_run > 0 ? request.workload->items_per_run : 1;
    row.throughput = items * static_cast<double>(measurement.samples_ns.size()) * 1e9 /
                     static_cast<double>(measurement.window_ns);
  }
  if (measurement.interrupted) row.status = RunStatus::kInterrupted;
  if (!measurement.steady && !measurement.interrupted) {
    row.notices.push_back("not steady: " + measurement.why_not_steady);
  }
  if (row.latency.p50.value && measurement.timer_ns * 100 > *row.latency.p50.value) {
    row.notices.push_back(
        fmt::format("the clock itself costs {} ns, over 1 % of a run", measurement.timer_ns));
  }
  row.measurement = std::move(measurement);
}

void Check(const BenchRequest& request, const std::vector<Tensor>& outputs, ResultRow& row) {
  if (request.expected == nullptr) return;
  row.numerics.reference = request.reference;
  const Result<Comparison> comparison =
      CompareTensors(outputs, *request.expected, request.workload->tolerance);
  if (!comparison.ok()) return Fail(row, comparison.error());
  row.numerics.status = comparison->pass ? Numerics::kPass : Numerics::kFail;
  row.numerics.max_rel_err = comparison->max_rel_err;
  for (const LeafComparison& leaf : comparison->leaves) {
    if (!leaf.pass()) row.numerics.failures.push_back(leaf);
  }
}

Result<void> MeasureRow(const BenchRequest& request, Prepared& prepared, ResultRow& row) {
  const Launch launch = [&] { return prepared.executable->Run(prepared.params, prepared.results); };
  FM_TRY(Measurement measurement, Measure(launch, request.measure));
  TakeMeasurement(request, std::move(measurement), row);
  return Ok();
}

template <class Body>
BenchResult RunRow(const BenchRequest& request, const CompileFn& compile, const Body& body) {
  BenchResult result;
  result.row = StartRow(request);
  try {
    Result<Prepared> prepared = Prepare(request, compile, result.row);
    if (!prepared.ok()) {
      Fail(result.row, std::move(prepared).error());
      return result;
    }
    const Result<void> status = body(*prepared, result.row);
    TakeStats(*prepared->executable, result.row);
    if (!status.ok()) {
      Fail(result.row, status.error());
      return result;
    }
    // An interrupted launch leaves its outputs half written: nothing to judge.
    if (result.row.status != RunStatus::kOk) return result;
    Check(request, prepared->outputs, result.row);
    result.outputs = std::move(prepared->outputs);
  } catch (const std::bad_alloc&) {
    Fail(result.row, {Code::kLaunchFailed, "out of memory"});
  }
  return result;
}

}  // namespace

BenchResult Bench(const BenchRequest& request, const CompileFn& compile) {
  return RunRow(request, compile, [&](Prepared& prepared, ResultRow& row) {
    return MeasureRow(request, prepared, row);
  });
}

BenchResult RunOnce(const BenchRequest& request, const CompileFn& compile) {
  return RunRow(request, compile, [](Prepared& prepared, ResultRow&) {
    return prepared.executable->Run(prepared.params, prepared.results);
  });
}

Result<std::vector<Tensor>> MakeOutputs(const Module& module) {
  std::vector<Shape> leaves;
  FlattenLeaves(module.Entry().Root().shape, leaves);
  std::vector<Tensor> outputs;
  for (Shape& leaf : leaves) {
    try {
      outputs.push_back(MakeTensor(leaf));
    } catch (const std::bad_alloc&) {
      return Error{Code::kLaunchFailed, fmt::format("out of memory: result leaf {} takes {} bytes",
                                                    outputs.size(), ByteSizeOf(leaf))};
    }
  }
  return outputs;
}

}  // namespace fusemark
