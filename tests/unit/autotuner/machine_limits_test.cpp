#include "autotuner/machine_limits.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fusemark
