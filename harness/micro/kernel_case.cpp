#include "harness/micro/kernel_case.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "autotuner/machine_limits.h"
#include "compiler/codegen/target.h"
#include "compiler/compile.h"
#include "compiler/ir/number.h"
#include "compiler/ir/tensor.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "harness/numerics.h"

namespace fusemark {
namespace {

bool g_failed = false;

struct Runnable {
  std::unique_ptr<Executable> executable;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> params;
  std::vector<void*> results;
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t footprint = 0;  // bytes of parameters and results

  Result<void> Run() { return executable->Run(params, results); }
};

void Fill(const Tensor& tensor, const Range& range, std::mt19937_64& random) {
  const DType dtype = tensor.shape.dtype;
  const int64_t count = ElementCount(tensor.shape), size = ByteSize(dtype);
  std::uniform_real_distribution<double> uniform(range.low, range.high);
  for (int64_t i = 0; i < count; ++i) {
    const double value = uniform(random);
    const uint64_t bits = IsFloat(dtype) ? FloatToBits(dtype, value)
                                         : static_cast<uint64_t>(static_cast<int64_t>(value));
    std::memcpy(tensor.data.get() + i * size, &bits, static_cast<size_t>(size));
  }
}

Result<void> Check(const Module& module, const Runnable& runnable) {
  std::vector<const Tensor*> params;
  for (const Tensor& input : runnable.inputs) params.push_back(&input);
  FM_TRY(const std::vector<Tensor> expected, Evaluate(module, params));
  FM_TRY(const Comparison comparison, CompareTensors(runnable.outputs, expected, 0));
  if (comparison.pass) return Ok();
  for (const LeafComparison& leaf : comparison.leaves) {
    if (leaf.pass()) continue;
    return Error{Code::kWrongResult, std::to_string(leaf.mismatches) + " elements of result " +
                                         std::to_string(leaf.leaf) + " are wrong; the first: " +
                                         leaf.got + " instead of " + leaf.want};
  }
  return Ok();
}

Result<Runnable> Prepare(const KernelCase& kernel_case, int threads) {
  FM_TRY(const Module module, ParseModule(kernel_case.text, kernel_case.name));
  CompileOptions options;
  options.threads = threads;
  options.target = HostTarget();
  options.target.threads = threads;
  Runnable runnable;
  FM_TRY(runnable.executable, Compile(module, options));
  std::mt19937_64 random(1);
  for (const Shape& leaf : ParameterLeaves(module)) {
    const size_t number = runnable.inputs.size();
    runnable.inputs.push_back(MakeTensor(leaf));
    const Tensor& input = runnable.inputs.back();
    Fill(input, number < kernel_case.inputs.size() ? kernel_case.inputs[number] : Range{}, random);
    runnable.params.push_back(input.data.get());
    runnable.bytes_read += input.size_bytes();
  }
  for (const Shape& leaf : OutputLeaves(module)) {
    runnable.outputs.push_back(MakeTensor(leaf));
    runnable.results.push_back(runnable.outputs.back().data.get());
    runnable.bytes_written += runnable.outputs.back().size_bytes();
  }
  runnable.footprint = runnable.bytes_read + runnable.bytes_written;
  if (kernel_case.bytes_read > 0) runnable.bytes_read = kernel_case.bytes_read;
  if (kernel_case.bytes_written > 0) runnable.bytes_written = kernel_case.bytes_written;
  FM_RETURN_IF_ERROR(runnable.Run());
  FM_RETURN_IF_ERROR(Check(module, runnable));
  return runnable;
}

// Google Benchmark enters a benchmark several times; the check may take seconds, so the last case
// is kept.
Result<Runnable>& Prepared(const KernelCase& kernel_case, int threads) {
  static std::string name;
  static std::unique_ptr<Result<Runnable>> kept;
  const std::string wanted = kernel_case.name + "/" + std::to_string(threads);
  if (name != wanted) {
    kept.reset();  // before the next one allocates
    kept = std::make_unique<Result<Runnable>>(Prepare(kernel_case, threads));
    name = wanted;
  }
  return *kept;
}

// Measured once per thread count.
const std::vector<Limit>& LimitsOf(int threads) {
  static std::map<int, std::vector<Limit>> measured;
  const auto [place, fresh] = measured.try_emplace(threads);
  if (fresh) {
    loops::Target target = HostTarget();
    target.threads = threads;
    LimitsOptions options;
    options.one_thread = false;
    options.only = {"read_l1",   "read_l2",          "read_l3",    "read_dram",
                    "copy_dram", "copy_stream_dram", "write_dram", "write_stream_dram"};
    auto limits = MeasureLimits(target, options);
    if (limits.ok()) place->second = std::move(limits).value();
  }
  return place->second;
}

// What the level that holds all of the case's memory can give. In memory it matters what is done:
// the better kind of stores counts.
double BytesPerSecond(const Runnable& runnable, int threads) {
  const std::vector<Limit>& limits = LimitsOf(threads);
  const loops::Target target = HostTarget();
  const auto of = [&](const char* name) { return LimitOf(limits, name, threads); };
  const int64_t bytes = runnable.footprint, share = bytes / threads;
  if (share <= target.l1_bytes) return of("read_l1");
  if (share <= target.l2_bytes) return of("read_l2");
  if (bytes <= target.l3_bytes && of("read_l3") > 0) return of("read_l3");
  const double read = of("read_dram"), copy = std::max(of("copy_dram"), of("copy_stream_dram"));
  if (runnable.bytes_written < runnable.bytes_read / 8) return read;
  if (runnable.bytes_read < runnable.bytes_written / 8) {
    return std::max(of("write_dram"), of("write_stream_dram"));
  }
  return copy;
}

void Measure(benchmark::State& state, const KernelCase& kernel_case, bool of_bandwidth) {
  const auto threads = static_cast<int>(state.range(0));
  Result<Runnable>& prepared = Prepared(kernel_case, threads);
  if (!prepared.ok()) {
    g_failed = true;
    return state.SkipWithError(prepared.error().message.c_str());
  }
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    const bool ok = prepared->Run().ok();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (!ok) return state.SkipWithError("the run failed");
    state.SetIterationTime(seconds);
    least = std::min(least, seconds);
  }
  state.counters["least_us"] = least * 1e6;
  state.counters["ns_per_element"] = least * 1e9 / static_cast<double>(kernel_case.elements);
  if (!of_bandwidth) return;
  const auto bytes = static_cast<double>(prepared->bytes_read + prepared->bytes_written);
  state.counters["GB/s"] = bytes / least * 1e-9;
  state.counters["of_bandwidth"] = bytes / least / BytesPerSecond(*prepared, threads);
}

}  // namespace

void RegisterCase(const KernelCase& kernel_case, bool of_bandwidth) {
  benchmark::RegisterBenchmark(kernel_case.name.c_str(), Measure, kernel_case, of_bandwidth)
      ->Arg(1)
      ->Arg(2)
      ->ArgName("threads")
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

int RunCases(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return g_failed ? 1 : 0;
}

}  // namespace fusemark
