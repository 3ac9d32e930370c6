#include "autotuner/machine_limits.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/codegen/target.h"

namespace fusemark {
namespace {

TEST(MachineLimits, TheSlowerOfBothDecides) {
  const MachineLimits limits{.flops_per_s = 1e9, .bytes_per_s = 1e8};
  EXPECT_DOUBLE_EQ(limits.LeastNs(1000, 0), 1000);
  EXPECT_DOUBLE_EQ(limits.LeastNs(0, 100), 1000);
  EXPECT_DOUBLE_EQ(limits.LeastNs(1000, 200), 2000);
}

// No machine that runs this is slower or faster than these by far: a kernel that was optimised away
// or a unit that was mistaken shows.
TEST(MachineLimits, AreOfTheRightOrder) {
  loops::Target target = HostTarget();
  target.threads = 1;
  const auto limits = MeasureMachineLimits(target);
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  EXPECT_GT(limits->flops_per_s, 1e8);
  EXPECT_LT(limits->flops_per_s, 1e12);
  EXPECT_GT(limits->bytes_per_s, 1e8);
  EXPECT_LT(limits->bytes_per_s, 1e12);
}

// All of them, on two threads even where there is one CPU.
class AllLimits : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    loops::Target target = HostTarget();
    target.threads = 2;
    auto limits = MeasureLimits(target, {});
    ASSERT_TRUE(limits.ok()) << limits.error().message;
    limits_ = std::move(limits).value();
  }
  static double Of(const char* name, int threads = 1) { return LimitOf(limits_, name, threads); }
  static inline std::vector<Limit> limits_;
};

TEST_F(AllLimits, AreThereAndOfTheRightOrder) {
  std::set<std::string> known;
  for (const LimitKind& kind : LimitKinds()) known.insert(std::string(kind.name));
  std::set<std::pair<std::string, int>> seen;
  for (const Limit& limit : limits_) {
    EXPECT_EQ(known.count(limit.name), 1u) << limit.name;
    EXPECT_TRUE(seen.emplace(limit.name, limit.threads).second) << limit.name << " twice";
    EXPECT_GT(limit.value, limit.unit == "ns" ? 0.1 : 1e8) << limit.name;
    EXPECT_LT(limit.value, limit.unit == "ns" ? 1e8 : 1e14) << limit.name;
  }
  for (const char* name : {"fma_f32", "fma_f64", "read_l1", "read_l2", "read_dram", "add_dram",
                           "copy_dram", "write_dram"}) {
    EXPECT_GT(Of(name, 1), 0) << name;
    EXPECT_GT(Of(name, 2), 0) << name;
  }
  EXPECT_EQ(Of("fork_join", 1), 0);
  EXPECT_GT(Of("fork_join", 2), 0);
  EXPECT_GT(Of("timer", 1), 0);
}

// Factors that a busy machine does not swallow; a kernel that was optimised away or reads another
// level than it says shows.
TEST_F(AllLimits, StandInTheirOrder) {
  EXPECT_GT(Of("read_l1"), Of("read_l2"));
  EXPECT_GT(Of("read_l1"), 1.5 * Of("read_dram"));
  EXPECT_GT(Of("read_l2"), Of("read_dram"));
  EXPECT_GT(Of("fma_f32"), 1.2 * Of("fma_f64"));
  EXPECT_LT(Of("fma_f32"), 4 * Of("fma_f64"));
#if defined(__SANITIZE_ADDRESS__)
  return;  // which checks every access of the dot products, while the others are not our C++
#endif
  for (const char* dot : {"dot_bf16", "dot_s8"}) {
    if (Of(dot) > 0) {
      EXPECT_GT(Of(dot), Of("fma_f32")) << dot;
    }
  }
}

TEST(MachineLimits, OnlyWhatIsAskedFor) {
  loops::Target target = HostTarget();
  target.threads = 1;
  LimitsOptions options;
  options.only = {"timer", "read_l1"};
  const auto limits = MeasureLimits(target, options);
  ASSERT_TRUE(limits.ok());
  ASSERT_EQ(limits->size(), 2u);
  EXPECT_EQ((*limits)[0].name, "read_l1");
  EXPECT_EQ((*limits)[1].name, "timer");
}

TEST(MachineLimits, CanBeInterrupted) {
  const std::atomic<bool> cancelled = true;
  LimitsOptions options;
  options.cancelled = &cancelled;
  const auto limits = MeasureLimits(HostTarget(), options);
  ASSERT_FALSE(limits.ok());
  EXPECT_EQ(limits.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace fusemark
