// Measurement against a fake clock: launches take exactly the time the test says.
#include "autotuner/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>

#include "autotuner/statistics.h"

namespace {
std::atomic<int64_t> g_allocations{0};
}  // namespace

// Counts allocations of this program: the timed loop must have none.
[[gnu::noinline]] void* operator new(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace fusemark {
namespace {

constexpr int64_t kMs = 1'000'000;

struct FakeMachine {
  int64_t now = 0;
  int64_t launches = 0;
  std::function<int64_t(int64_t)> cost = [](int64_t) { return 10 * kMs; };  // of launch number i

  Clock clock() {
    return {[](void* state) { return static_cast<FakeMachine*>(state)->now; }, this};
  }
  Launch launch() {
    return [this]() -> Result<void> {
      now += cost(launches++);
      return Ok();
    };
  }
  Measurement Run(MeasureOptions options) {
    options.clock = clock();
    Result<Measurement> result = Measure(launch(), options);
    EXPECT_TRUE(result.ok());
    return std::move(result).value();
  }
};

TEST(MeasureTest, ByDuration) {
  FakeMachine machine;
  machine.cost = [](int64_t i) { return i == 0 ? 500 * kMs : 10 * kMs; };
  const Measurement m = machine.Run({.duration_ns = 1000 * kMs});
  EXPECT_EQ(m.first_call_ns, 500 * kMs);
  EXPECT_TRUE(m.steady);
  EXPECT_EQ(m.warmup_iterations, 30);  // three blocks of 100 ms
  EXPECT_EQ(m.warmup_total_ns, 300 * kMs);
  EXPECT_EQ(m.samples_ns, std::vector<int64_t>(100, 10 * kMs));
  EXPECT_EQ(m.window_ns, 1000 * kMs);
  EXPECT_FALSE(m.interrupted);
  EXPECT_EQ(machine.launches, 131);
}

TEST(MeasureTest, ByCount) {
  FakeMachine machine;
  const Measurement m = machine.Run({.iterations = 7});
  EXPECT_EQ(m.samples_ns.size(), 7u);
  EXPECT_EQ(m.window_ns, 70 * kMs);
}

TEST(MeasureTest, SlowLaunchesGetFiveIterations) {
  FakeMachine machine;
  machine.cost = [](int64_t) { return 900 * kMs; };
  EXPECT_EQ(machine.Run({.duration_ns = 2000 * kMs}).samples_ns.size(), 5u);
  // ... but not beyond four durations.
  machine.cost = [](int64_t) { return 5000 * kMs; };
  EXPECT_EQ(machine.Run({.duration_ns = 2000 * kMs}).samples_ns.size(), 2u);
}

TEST(MeasureTest, WarmsUpUntilARampEnds) {
  FakeMachine machine;  // 40 ms falling to 10 ms over the first 60 launches
  machine.cost = [](int64_t i) { return i < 60 ? (40 - i / 2) * kMs : 10 * kMs; };
  const Measurement m = machine.Run({.duration_ns = 1000 * kMs});
  EXPECT_TRUE(m.steady);
  EXPECT_GE(m.warmup_iterations, 60);
  EXPECT_EQ(*std::max_element(m.samples_ns.begin(), m.samples_ns.end()), 10 * kMs);
}

TEST(MeasureTest, EndlessDriftIsNotSteady) {
  FakeMachine machine;
  machine.cost = [](int64_t i) { return 10 * kMs + i * kMs / 2; };
  const Measurement m = machine.Run({.iterations = 10});
  EXPECT_FALSE(m.steady);
  EXPECT_NE(m.why_not_steady, "");
  EXPECT_EQ(m.samples_ns.size(), 10u);  // the data is kept
}

TEST(MeasureTest, WarmupLimitHoldsForSlowLaunches) {
  FakeMachine machine;
  machine.cost = [](int64_t) { return 4000 * kMs; };
  MeasureOptions options{.iterations = 1};
  options.warmup.limit_ns = 3000 * kMs;
  const Measurement m = machine.Run(options);
  EXPECT_EQ(m.warmup_iterations, 3);
  EXPECT_FALSE(m.steady);
}

TEST(MeasureTest, FixedWarmups) {
  FakeMachine machine;
  MeasureOptions options{.iterations = 3};
  options.warmup = {.kind = Warmup::Kind::kIterations, .value = 17};
  EXPECT_EQ(machine.Run(options).warmup_iterations, 17);
  options.warmup = {.kind = Warmup::Kind::kDuration, .value = 250 * kMs};
  EXPECT_EQ(machine.Run(options).warmup_iterations, 25);
  options.warmup = {.kind = Warmup::Kind::kIterations, .value = 0};
  EXPECT_EQ(machine.Run(options).warmup_iterations, 0);
}

TEST(MeasureTest, CancellingKeepsWhatWasMeasured) {
  FakeMachine machine;
  std::atomic<bool> cancelled = false;
  machine.cost = [&](int64_t i) {
    if (i == 50) cancelled = true;
    return 10 * kMs;
  };
  const Measurement m = machine.Run({.duration_ns = 1000 * kMs, .cancelled = &cancelled});
  EXPECT_TRUE(m.interrupted);
  EXPECT_EQ(m.samples_ns.size(), 20u);  // launches 31..50
  EXPECT_EQ(m.window_ns, 200 * kMs);
}

TEST(MeasureTest, CancellingDuringWarmup) {
  FakeMachine machine;
  std::atomic<bool> cancelled = false;
  machine.cost = [&](int64_t i) {
    if (i == 5) cancelled = true;
    return 10 * kMs;
  };
  const Measurement m = machine.Run({.cancelled = &cancelled});
  EXPECT_TRUE(m.interrupted);
  EXPECT_FALSE(m.steady);
  EXPECT_TRUE(m.samples_ns.empty());
  EXPECT_EQ(m.warmup_iterations, 5);
}

TEST(MeasureTest, ALaunchThatSaysCancelledIsNoFailure) {
  FakeMachine machine;
  int64_t count = 0;
  const Launch launch = [&]() -> Result<void> {
    machine.now += 10 * kMs;
    if (++count == 40) return Error{Code::kCancelled, "interrupted"};
    return Ok();
  };
  const Result<Measurement> m = Measure(launch, {.clock = machine.clock()});
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m->interrupted);
  EXPECT_EQ(m->samples_ns.size(), 8u);
}

TEST(MeasureTest, AFailingLaunchIsTheError) {
  for (const int64_t failing : {1, 10, 40}) {
    FakeMachine machine;
    int64_t count = 0;
    const Launch launch = [&]() -> Result<void> {
      machine.now += 10 * kMs;
      if (++count == failing) return Error{Code::kLaunchFailed, "out of memory"};
      return Ok();
    };
    const Result<Measurement> m = Measure(launch, {.clock = machine.clock()});
    ASSERT_FALSE(m.ok());
    EXPECT_EQ(m.error().message, "out of memory");
  }
}

TEST(MeasureTest, TheTimedLoopAllocatesNothing) {
  int64_t at_start = 0, at_end = 0;
  MeasureOptions options{.iterations = 10'000};
  options.warmup = {.kind = Warmup::Kind::kIterations, .value = 10};
  options.progress = [&](Phase phase, int64_t iterations, int64_t) {
    if (phase != Phase::kTimed) return;
    (iterations == 0 ? at_start : at_end) = g_allocations;
  };
  ASSERT_TRUE(Measure([] { return Ok(); }, options).ok());
  EXPECT_GT(at_start, 0);
  EXPECT_EQ(at_start, at_end);
}

TEST(MeasureTest, RealClockOfAnEmptyLaunch) {
  MeasureOptions options{.duration_ns = 20 * kMs};
  options.warmup.limit_ns = 10 * kMs;
  const Result<Measurement> m = Measure([] { return Ok(); }, options);
  ASSERT_TRUE(m.ok());
  EXPECT_GT(m->samples_ns.size(), 1000u);
  EXPECT_GE(m->timer_ns, 1);
  EXPECT_LT(MedianNs(m->samples_ns), 20'000);
}

TEST(MeasurePairedTest, InterleavesAndFindsTheFasterArm) {
  FakeMachine machine;
  std::string order;
  int64_t drift = 0;
  const auto arm = [&](char name, int64_t cost) {
    return [&, name, cost]() -> Result<void> {
      if (order.empty() || order.back() != name) order += name;
      machine.now += cost + (drift += kMs / 100);
      return Ok();
    };
  };
  PairedOptions options{.rounds = 20, .round_ns = 50 * kMs, .seed = 3};
  options.clock = machine.clock();
  const Result<PairedMeasurement> m = MeasurePaired(arm('a', 10 * kMs), arm('b', 9 * kMs), options);
  ASSERT_TRUE(m.ok());
  ASSERT_EQ(m->a_ns.size(), 20u);
  const PairedComparison comparison = ComparePairs(m->a_ns, m->b_ns);
  EXPECT_LT(comparison.ratio_high, 1);
  EXPECT_GT(comparison.ratio, 0.9);
  // Neither "always a first" nor one arm after the other.
  EXPECT_GT(order.size(), 20u);
  EXPECT_LT(order.size(), 40u);
}

TEST(MeasurePairedTest, CancellingKeepsWholeRounds) {
  FakeMachine machine;
  std::atomic<bool> cancelled = false;
  machine.cost = [&](int64_t i) {
    if (i == 40) cancelled = true;
    return 10 * kMs;
  };
  PairedOptions options{.cancelled = &cancelled};
  options.clock = machine.clock();
  const Result<PairedMeasurement> m = MeasurePaired(machine.launch(), machine.launch(), options);
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m->interrupted);
  EXPECT_EQ(m->a_ns.size(), 3u);  // 12 launches a round
  EXPECT_EQ(m->a_ns.size(), m->b_ns.size());
}

}  // namespace
}  // namespace fusemark
