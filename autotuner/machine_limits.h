// What the machine can do at most, measured: arithmetic, bandwidth of each level of memory, and
// what parallelism and the clock cost. The only place that measures it: `roofline` prints all of
// it, `run` stores it with its rows, `explain` holds kernels against it (Williams et al.,
// "Roofline", CACM 2009) and the benchmarks of harness/micro give their shares of it.
//
// A limit is the best of several repeats: others on the machine can only slow it down.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loops/schedule.h"
#include "compiler/support/result.h"

namespace fusemark {

struct Limit {
  std::string name;  // see kLimits
  std::string unit;  // FLOP/s, OP/s, B/s or ns
  int threads = 1;
  double value = 0;
};

struct LimitKind {
  std::string_view name, unit, meaning;
};
// Every limit there is, in the order they are measured and shown. A copy counts the bytes read and
// the bytes written once each; what a store reads to fill its cache line is not counted, which is
// why streaming stores are faster.
std::span<const LimitKind> LimitKinds();

struct LimitsOptions {
  // Repeats each limit for so long, five times at least.
  int64_t each_ns = 10'000'000;
  // Names of kLimits; empty: all.
  std::vector<std::string_view> only;
  bool one_thread = true;  // beside target.threads
  const std::atomic<bool>* cancelled = nullptr;
};

// With one thread and with `target.threads`. All of them take about half a second and 200 MB (more
// where the last cache is larger than 32 MiB). What this CPU does not have is left out.
// kLaunchFailed if there is no memory, kCancelled when the flag is raised.
Result<std::vector<Limit>> MeasureLimits(const loops::Target& target, const LimitsOptions& options);

// 0 if it is not there.
double LimitOf(std::span<const Limit> limits, std::string_view name, int threads);

// The two limits of a roofline.
struct MachineLimits {
  double flops_per_s = 0;  // f32 fused multiply-adds on all vector lanes, counted as two
  double bytes_per_s = 0;  // two arrays read, one written, all beyond the caches

  // The time in ns that the work takes at least.
  double LeastNs(double flops, double bytes) const;
};

// On `target.threads` threads; takes about a tenth of a second.
Result<MachineLimits> MeasureMachineLimits(const loops::Target& target);

}  // namespace fusemark
