#include "compiler/codegen/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace fusemark {
namespace {

TEST(Target, HostIsPlausible) {
  const loops::Target host = HostTarget();
  EXPECT_FALSE(host.cpu.empty());
  EXPECT_THAT(host.features, testing::HasSubstr("+"));
  EXPECT_THAT(host.vector_bytes, testing::AnyOf(16, 32, 64));
  EXPECT_THAT(host.vector_registers, testing::AnyOf(16, 32));
  EXPECT_GE(host.l1_bytes, 8 << 10);
  EXPECT_GT(host.l2_bytes, host.l1_bytes);
  EXPECT_GE(host.threads, 1);
  EXPECT_LE(host.threads, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
}

TEST(Target, RestrictedCpu) {
  const auto baseline = TargetForCpu("x86-64");
  if (!baseline.ok()) GTEST_SKIP() << baseline.error().message;
  EXPECT_EQ(baseline->vector_bytes, 16);
  EXPECT_EQ(baseline->vector_registers, 16);
  // What the host lacks stays off: the code must run here.
  const auto wide = TargetForCpu("x86-64-v4");
  ASSERT_TRUE(wide.ok());
  EXPECT_LE(wide->vector_bytes, HostTarget().vector_bytes);
  EXPECT_EQ(wide->threads, HostTarget().threads);
}

TEST(Target, UnknownCpuIsAnErrorThatSaysWhatToWrite) {
  const auto target = TargetForCpu("pentium-9000");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().code, Code::kInvalidInput);
  EXPECT_THAT(target.error().message, testing::HasSubstr("pentium-9000"));
  EXPECT_THAT(target.error().message, testing::HasSubstr("x86-64-v3"));
}

}  // namespace
}  // namespace fusemark
