// The shortened list of CPU features means to LLVM what the whole one does.
#include "compiler/codegen/machine.h"

#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>

#include <set>

#include "compiler/codegen/target.h"

namespace fusemark::codegen {
namespace {

// By LLVM itself, without what this project knows of a CPU.
std::set<std::string> EnabledBy(const std::string& cpu, const std::string& features) {
#if LLVM_VERSION_MAJOR >= 22
  const llvm::Triple triple(llvm::sys::getProcessTriple());
#else
  const std::string triple = llvm::sys::getProcessTriple();
#endif
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, cpu, features));
  std::set<std::string> names;
  for (const auto& feature : subtarget->getEnabledProcessorFeatures()) names.insert(feature.Key);
  return names;
}

TEST(FeatureDifference, MeansTheSame) {
  const loops::Target host = HostTarget();
  std::set<std::string> lists = {"", host.features};
  if (const auto baseline = TargetForCpu("x86-64"); baseline.ok()) lists.insert(baseline->features);
  for (const std::string& cpu : {host.cpu, std::string("generic"), std::string("x86-64"),
                                 std::string("x86-64-v3"), std::string("x86-64-v4")}) {
    if (!IsKnownCpu(cpu)) continue;
    for (const std::string& features : lists) {
      const std::string difference = FeatureDifference(cpu, features);
      EXPECT_EQ(EnabledBy(cpu, difference), EnabledBy(cpu, features)) << cpu << " " << features;
      EXPECT_EQ(FeatureDifference(cpu, difference), difference) << cpu << " " << features;
      EXPECT_LT(difference.size(), host.features.size()) << cpu << " " << features;
    }
  }
}

TEST(FeatureDifference, KeepsWhatChangesTheCpu) {
  if (!IsKnownCpu("x86-64-v3")) GTEST_SKIP() << "features of another architecture";
  EXPECT_EQ(FeatureDifference("x86-64-v3", "+avx2,+sse4a,-fma,-xop"), "+sse4a,-fma");
  EXPECT_EQ(FeatureDifference("x86-64-v3", "+avx2,-xop"), "");
  // AVX-512 brings AVX2 along, which `-avx2` then takes back together with it.
  EXPECT_EQ(FeatureDifference("x86-64", "+avx512f,-avx2"), "+avx512f,-avx2");
  EXPECT_FALSE(EnabledBy("x86-64", "+avx512f,-avx2").contains("avx512f"));
}

// The later entry wins, so that a list in another order must stay as it is.
TEST(FeatureDifference, KeepsListsInOtherOrders) {
  if (!IsKnownCpu("x86-64-v3")) GTEST_SKIP() << "features of another architecture";
  EXPECT_EQ(FeatureDifference("x86-64-v3", "-avx2,+avx2,-xop"), "-avx2,+avx2,-xop");
}

}  // namespace
}  // namespace fusemark::codegen
