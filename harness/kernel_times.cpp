#include "harness/kernel_times.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace fusemark {
namespace {

constexpr int64_t kUncounted = 2, kFewestRuns = 3;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<ProgramTimes> MeasureKernels(Executable& executable, std::span<const void* const> params,
                                    std::span<void* const> outputs, int64_t duration_ns,
                                    const std::atomic<bool>& cancelled) {
  using Clock = std::chrono::steady_clock;
  std::map<std::pair<std::string, std::string>, std::vector<double>> samples;
  std::vector<double> runs, steps;
  ProgramTimes times;
  int64_t total_ns = 0;
  for (int64_t run = 0; run < kUncounted + kFewestRuns || total_ns < duration_ns; ++run) {
    if (cancelled.load()) return Error{Code::kCancelled, "interrupted"};
    const auto start = Clock::now();
    FM_TRY(const std::vector<KernelTime> kernels, executable.RunTimed(params, outputs));
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
    total_ns += took.count();
    if (run < kUncounted) continue;
    runs.push_back(static_cast<double>(took.count()));
    double sum = 0;
    for (const KernelTime& kernel : kernels) {
      samples[{kernel.computation, kernel.name}].push_back(static_cast<double>(kernel.ns));
      times.kernels[{kernel.computation, kernel.name}].launches = kernel.launches;
      sum += static_cast<double>(kernel.ns);
    }
    steps.push_back(sum);
  }
  for (auto& [kernel, values] : samples) times.kernels[kernel].ns = Median(std::move(values));
  times.runs = static_cast<int64_t>(runs.size());
  times.run_ns = Median(std::move(runs));
  times.steps_ns = Median(std::move(steps));
  return times;
}

}  // namespace fusemark
