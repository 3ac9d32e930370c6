// The only place that turns launches into numbers: first call, warm-up until steady, then a timed
// loop that allocates nothing, logs nothing and takes no lock. Samples are int64 ns of the steady
// clock, one stamp per iteration boundary, all kept, outliers included.
//
// Knows nothing of graphs or engines: a launch is any function. What the numbers mean is
// statistics.h. The clock is a parameter so that tests replay exact times.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

using Launch = std::function<Result<void>()>;

struct Clock {
  int64_t (*now_ns)(void* state) = nullptr;
  void* state = nullptr;
  int64_t Now() const { return now_ns(state); }
};
Clock SteadyClock();

// Auto: blocks of max(5 iterations, 100 ms) until the last three medians lie within 2 % (5 % when
// an iteration takes less than 1 ms) and the last six show no trend; at most 20 blocks or limit_ns.
struct Warmup {
  enum class Kind : uint8_t { kAuto, kIterations, kDuration };
  Kind kind = Kind::kAuto;
  int64_t value = 0;                  // iterations, or ns
  int64_t limit_ns = 30'000'000'000;  // auto only; three iterations are always done
};

enum class Phase : uint8_t { kFirstCall, kWarmup, kTimed };

struct MeasureOptions {
  Warmup warmup;
  int64_t duration_ns = 3'000'000'000;  // used when iterations is 0
  int64_t iterations = 0;
  int64_t min_iterations = 5;  // by duration: go on until so many, but not beyond four durations
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  // Called between blocks and between phases, never inside the timed loop.
  std::function<void(Phase, int64_t iterations, int64_t elapsed_ns)> progress;
  Clock clock = SteadyClock();
};

struct Measurement {
  int64_t first_call_ns = 0;
  std::vector<int64_t> warmup_ns;  // the first kMaxWarmupKept
  int64_t warmup_iterations = 0;
  int64_t warmup_total_ns = 0;
  std::vector<int64_t> samples_ns;  // in order; at most kMaxSamples
  int64_t window_ns = 0;            // wall time of the timed loop
  int64_t timer_ns = 0;             // what one stamp costs; contained in every sample
  bool steady = false;
  std::string why_not_steady;  // set exactly if not steady
  bool interrupted = false;    // cancelled: what was measured before is kept
};

inline constexpr int64_t kMaxSamples = int64_t{1} << 20;
inline constexpr int64_t kMaxWarmupKept = 100'000;

// The error of the first launch that failed; kCancelled is no error but `interrupted`.
Result<Measurement> Measure(const Launch& launch, const MeasureOptions& options);

// Interleaved comparison of two arms: in each round both run, in an order drawn from the seed, and
// each yields the median of its iterations. Drift then hits both arms alike. Feed the result to
// ComparePairs.
struct PairedOptions {
  int64_t rounds = 20;
  int64_t round_ns = 50'000'000;  // per arm and round
  int64_t min_iterations = 3;     // per arm and round
  int64_t budget_ns = 0;          // no new round after this time; 0: none
  uint64_t seed = 1;
  const std::atomic<bool>* cancelled = nullptr;
  Clock clock = SteadyClock();
};

struct PairedMeasurement {
  std::vector<int64_t> a_ns, b_ns;  // one median per finished round
  bool interrupted = false;
};
Result<PairedMeasurement> MeasurePaired(const Launch& a, const Launch& b,
                                        const PairedOptions& options);

// Median cost of one time stamp.
int64_t TimerOverheadNs(const Clock& clock);

}  // namespace fusemark
