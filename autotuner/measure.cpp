#include "autotuner/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "autotuner/random.h"
#include "autotuner/statistics.h"

namespace fusemark {
namespace {

constexpr int64_t kBlockNs = 100'000'000;
constexpr int64_t kBlockIterations = 5;
constexpr size_t kBlockCapacity = size_t{1} << 17;
constexpr int kMaxBlocks = 20;
constexpr int64_t kMinWarmupIterations = 3;

bool IsCancelled(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// Where a loop of launches ends: at `iterations`, or once `min_iterations` are done and `until_ns`
// has passed, or at `latest_ns` in any case after one.
struct Limits {
  int64_t iterations = kMaxSamples;
  int64_t min_iterations = 1;
  int64_t until_ns = 0;
  int64_t latest_ns = 0;
};

struct LoopEnd {
  int64_t count = 0;
  int64_t end_ns = 0;
  bool cancelled = false;
};

// The timed loop. `buffer` is allocated and touched by the caller; nothing here allocates unless a
// launch fails.
Result<LoopEnd> RunLoop(const Launch& launch, const Clock& clock,
                        const std::atomic<bool>* cancelled, const Limits& limits, int64_t start_ns,
                        std::vector<int64_t>& buffer) {
  const int64_t capacity = std::min(limits.iterations, static_cast<int64_t>(buffer.size()));
  LoopEnd loop;
  loop.end_ns = start_ns;
  while (loop.count < capacity) {
    Result<void> status = launch();
    const int64_t now = clock.Now();
    if (!status.ok()) {
      if (status.error().code != Code::kCancelled) return std::move(status).error();
      loop.cancelled = true;
      return loop;
    }
    buffer[static_cast<size_t>(loop.count++)] = now - loop.end_ns;
    loop.end_ns = now;
    if (now >= limits.until_ns &&
        (loop.count >= limits.min_iterations || now >= limits.latest_ns)) {
      break;
    }
    if (IsCancelled(cancelled)) {
      loop.cancelled = true;
      break;
    }
  }
  return loop;
}

class WarmupState {
 public:
  void Add(std::span<const int64_t> block) {
    medians_.push_back(static_cast<double>(MedianNs(block)));
  }

  bool Steady() const {
    if (medians_.size() < 3) return false;
    const auto last = std::span(medians_).last(3);
    const auto [low, high] = std::minmax_element(last.begin(), last.end());
    const double allowed = *high < 1e6 ? 0.05 : 0.02;
    if (*high > *low * (1 + allowed)) return false;
    return MannKendallP(std::span(medians_).last(std::min<size_t>(6, medians_.size()))) > 0.1;
  }

 private:
  std::vector<double> medians_;
};

class Meter {
 public:
  Meter(const Launch& launch, const MeasureOptions& options) : launch_(launch), options_(options) {}

  Result<Measurement> Run() {
    result_.timer_ns = TimerOverheadNs(options_.clock);
    FM_RETURN_IF_ERROR(FirstCall());
    if (!result_.interrupted) FM_RETURN_IF_ERROR(WarmUp());
    if (!result_.interrupted) FM_RETURN_IF_ERROR(Timed());
    if (result_.interrupted && result_.steady && result_.samples_ns.empty()) {
      result_.steady = false;
      result_.why_not_steady = "interrupted";
    }
    return std::move(result_);
  }

 private:
  void Report(Phase phase, int64_t iterations, int64_t elapsed_ns) const {
    if (options_.progress) options_.progress(phase, iterations, elapsed_ns);
  }

  Result<void> FirstCall() {
    Report(Phase::kFirstCall, 0, 0);
    const int64_t start = options_.clock.Now();
    Result<void> status = launch_();
    result_.first_call_ns = options_.clock.Now() - start;
    if (!status.ok() && status.error().code != Code::kCancelled) return status;
    result_.interrupted = !status.ok() || IsCancelled(options_.cancelled);
    result_.why_not_steady = "interrupted before the warm-up ended";
    return Ok();
  }

  // One block; returns its samples as a view of block_.
  Result<std::span<const int64_t>> Block(const Limits& limits, int64_t start_ns) {
    FM_TRY(const LoopEnd loop,
           RunLoop(launch_, options_.clock, options_.cancelled, limits, start_ns, block_));
    const auto samples = std::span<const int64_t>(block_).first(static_cast<size_t>(loop.count));
    const auto room = static_cast<size_t>(
        std::max<int64_t>(0, kMaxWarmupKept - static_cast<int64_t>(result_.warmup_ns.size())));
    const auto kept = samples.first(std::min(room, samples.size()));
    result_.warmup_ns.insert(result_.warmup_ns.end(), kept.begin(), kept.end());
    result_.warmup_iterations += loop.count;
    result_.warmup_total_ns += loop.end_ns - start_ns;
    result_.interrupted = loop.cancelled;
    Report(Phase::kWarmup, result_.warmup_iterations, result_.warmup_total_ns);
    return samples;
  }

  Result<void> WarmUp() {
    block_.assign(kBlockCapacity, 0);
    Result<void> status =
        options_.warmup.kind == Warmup::Kind::kAuto ? WarmUpAuto() : WarmUpFixed();
    block_ = {};
    return status;
  }

  Result<void> WarmUpFixed() {
    const Warmup& warmup = options_.warmup;
    const bool counted = warmup.kind == Warmup::Kind::kIterations;
    const int64_t begin = options_.clock.Now();
    WarmupState state;
    while (!result_.interrupted) {
      const int64_t now = options_.clock.Now();
      Limits limits;
      limits.until_ns = now + kBlockNs;
      if (counted) {
        limits.iterations = warmup.value - result_.warmup_iterations;
        if (limits.iterations <= 0) break;
      } else {
        if (now - begin >= warmup.value) break;
        limits.until_ns = std::min(limits.until_ns, begin + warmup.value);
      }
      FM_TRY(const std::span<const int64_t> block, Block(limits, now));
      if (!block.empty()) state.Add(block);
    }
    if (!result_.interrupted) Conclude(state.Steady(), "before the fixed warm-up ended");
    return Ok();
  }

  Result<void> WarmUpAuto() {
    const int64_t limit = options_.warmup.limit_ns;
    WarmupState state;
    const char* why = "after 20 blocks";
    for (int block = 0; block < kMaxBlocks && !state.Steady(); ++block) {
      const int64_t left = limit - result_.warmup_total_ns;
      const int64_t needed = kMinWarmupIterations - result_.warmup_iterations;
      if (left <= 0 && needed <= 0) {
        why = "within the warm-up limit";
        break;
      }
      const int64_t now = options_.clock.Now();
      Limits limits;
      limits.min_iterations = left > 0 ? kBlockIterations : needed;
      limits.until_ns = now + std::min(kBlockNs, left);
      // Slow launches must not stretch the limit by a whole block: give up its minimum instead.
      limits.latest_ns = left > 0 ? now + left : INT64_MAX;
      FM_TRY(const std::span<const int64_t> samples, Block(limits, now));
      if (result_.interrupted) return Ok();
      state.Add(samples);
    }
    Conclude(state.Steady(), why);
    return Ok();
  }

  void Conclude(bool steady, const char* why) {
    result_.steady = steady;
    result_.why_not_steady =
        steady ? "" : std::string("block medians did not settle ") + why + " (2 %, no trend)";
  }

  Result<void> Timed() {
    const bool counted = options_.iterations > 0;
    Limits limits;
    std::vector<int64_t> buffer(static_cast<size_t>(Capacity()), 0);
    Report(Phase::kTimed, 0, 0);
    const int64_t start = options_.clock.Now();
    if (counted) {
      limits.iterations = limits.min_iterations = options_.iterations;
      limits.until_ns = limits.latest_ns = INT64_MAX;
    } else {
      limits.min_iterations = std::max<int64_t>(1, options_.min_iterations);
      limits.until_ns = start + options_.duration_ns;
      limits.latest_ns = start + 4 * options_.duration_ns;
    }
    FM_TRY(const LoopEnd loop,
           RunLoop(launch_, options_.clock, options_.cancelled, limits, start, buffer));
    buffer.resize(static_cast<size_t>(loop.count));
    result_.samples_ns = std::move(buffer);
    result_.window_ns = loop.end_ns - start;
    result_.interrupted = loop.cancelled;
    Report(Phase::kTimed, loop.count, result_.window_ns);
    return Ok();
  }

  // Room for the samples of the whole duration, judged by the fastest launch seen so far.
  int64_t Capacity() const {
    if (options_.iterations > 0) return std::min(options_.iterations, kMaxSamples);
    int64_t fastest = std::max<int64_t>(1, result_.first_call_ns);
    for (const int64_t sample : result_.warmup_ns) {
      fastest = std::min(fastest, std::max<int64_t>(1, sample));
    }
    return std::min(kMaxSamples, 2 * (options_.duration_ns / fastest) + 1024);
  }

  const Launch& launch_;
  const MeasureOptions& options_;
  Measurement result_;
  std::vector<int64_t> block_;
};

// One arm of one round: an untimed launch brings its own data back into the caches, then the median
// of the timed ones. 0 if cancelled.
Result<int64_t> MeasureArm(const Launch& launch, const PairedOptions& options,
                           std::vector<int64_t>& buffer) {
  Result<void> status = launch();
  if (!status.ok()) {
    if (status.error().code == Code::kCancelled) return 0;
    return std::move(status).error();
  }
  const int64_t start = options.clock.Now();
  Limits limits;
  limits.min_iterations = std::max<int64_t>(1, options.min_iterations);
  limits.until_ns = start + options.round_ns;
  limits.latest_ns = INT64_MAX;
  FM_TRY(const LoopEnd loop,
         RunLoop(launch, options.clock, options.cancelled, limits, start, buffer));
  if (loop.cancelled || loop.count == 0) return 0;
  return std::max<int64_t>(
      1, MedianNs(std::span<const int64_t>(buffer).first(static_cast<size_t>(loop.count))));
}

int64_t SteadyNow(void*) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Clock SteadyClock() {
  return {SteadyNow, nullptr};
}

Result<Measurement> Measure(const Launch& launch, const MeasureOptions& options) {
  return Meter(launch, options).Run();
}

Result<PairedMeasurement> MeasurePaired(const Launch& a, const Launch& b,
                                        const PairedOptions& options) {
  PairedMeasurement result;
  std::vector<int64_t> buffer(kBlockCapacity, 0);
  Random random(options.seed);
  const int64_t start = options.clock.Now();
  for (int64_t round = 0; round < options.rounds; ++round) {
    if (options.budget_ns > 0 && options.clock.Now() - start >= options.budget_ns) break;
    const bool a_first = (random.Next() >> 63) == 0;
    FM_TRY(const int64_t first, MeasureArm(a_first ? a : b, options, buffer));
    FM_TRY(const int64_t second,
           first == 0 ? Result<int64_t>(0) : MeasureArm(a_first ? b : a, options, buffer));
    if (first == 0 || second == 0) {
      result.interrupted = true;
      break;
    }
    result.a_ns.push_back(a_first ? first : second);
    result.b_ns.push_back(a_first ? second : first);
  }
  return result;
}

int64_t TimerOverheadNs(const Clock& clock) {
  std::vector<int64_t> deltas(1001);
  int64_t previous = clock.Now();
  for (int64_t& delta : deltas) {
    const int64_t now = clock.Now();
    delta = now - previous;
    previous = now;
  }
  return MedianNs(deltas);
}

}  // namespace fusemark
