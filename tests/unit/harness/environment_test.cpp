// Reads made-up /proc and /sys trees.
#include "harness/environment.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/build_info.h"

namespace fusemark {
namespace {

class EnvironmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/fusemark_env_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
    const std::string cpu =
        "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Test Xeon\n"
        "stepping\t: 7\ncpu MHz\t\t: 2500.000\nflags\t\t: fpu sse4_2 avx2 fma avx512f "
        "hypervisor\n\n";
    Write("proc/cpuinfo", "processor\t: 0\n" + cpu + "processor\t: 1\n" + cpu);
    Write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
    Write("etc/machine-id", "0123456789abcdef\n");
    for (const auto& [index, level, type, size] :
         {std::tuple{"0", "1", "Data", "48K"}, std::tuple{"1", "1", "Instruction", "32K"},
          std::tuple{"2", "2", "Unified", "2048K"}, std::tuple{"3", "3", "Unified", "30M"}}) {
      const std::string base = std::string("sys/devices/system/cpu/cpu0/cache/index") + index + "/";
      Write(base + "level", level);
      Write(base + "type", type);
      Write(base + "size", size);
    }
    Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  std::string root_;
};

TEST_F(EnvironmentTest, ReadsTheMachine) {
  const MachineRecord machine = ReadMachine(root_);
  EXPECT_EQ(machine.cpu_model, "Test Xeon");
  EXPECT_EQ(machine.isa, "avx2,avx512f,fma,sse4_2");
  EXPECT_EQ(machine.cores, 2);
  EXPECT_EQ(machine.l1d_bytes, 48 << 10);
  EXPECT_EQ(machine.l2_bytes, 2 << 20);
  EXPECT_EQ(machine.l3_bytes, 30 << 20);
  EXPECT_EQ(machine.memory_bytes, 16 << 20);
  const auto details = nlohmann::json::parse(machine.details_json);
  EXPECT_EQ(details["governor"], "powersave");
  EXPECT_EQ(details["virtual"], true);
  EXPECT_THAT(EnvironmentWarnings(machine), ::testing::Contains(::testing::HasSubstr("powersave")));
}

TEST_F(EnvironmentTest, ReadingsThatVaryDoNotChangeTheClass) {
  const MachineRecord before = ReadMachine(root_);
  std::ifstream in(root_ + "/proc/cpuinfo");
  std::string text(std::istreambuf_iterator<char>(in), {});
  for (size_t at; (at = text.find("2500.000")) != std::string::npos;)
    text.replace(at, 8, "3111.123");
  Write("proc/cpuinfo", text);
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  Write("proc/loadavg", "9.99\n");
  const MachineRecord after = ReadMachine(root_);
  EXPECT_EQ(before.machine_class, after.machine_class);
  EXPECT_EQ(before.fingerprint, after.fingerprint);
}

TEST_F(EnvironmentTest, AnotherMachineOfTheClass) {
  const MachineRecord here = ReadMachine(root_);
  Write("etc/machine-id", "ffff\n");
  const MachineRecord there = ReadMachine(root_);
  EXPECT_EQ(here.machine_class, there.machine_class);
  EXPECT_NE(here.fingerprint, there.fingerprint);
  Write("sys/devices/system/cpu/cpu0/cache/index3/size", "16M");
  EXPECT_NE(ReadMachine(root_).machine_class, here.machine_class);
}

TEST_F(EnvironmentTest, AnEmptyTreeSaysUnknown) {
  const MachineRecord machine = ReadMachine(root_ + "/nothing");
  EXPECT_EQ(machine.cpu_model, "unknown");
  EXPECT_EQ(machine.isa, "unknown");
  EXPECT_EQ(machine.cores, 1);
  const auto details = nlohmann::json::parse(machine.details_json);
  for (const auto& [key, value] : details.items()) {
    EXPECT_TRUE(!value.is_string() || value != "") << key;
  }
}

TEST(CurrentEnvironmentTest, NothingIsEmpty) {
  const MachineRecord machine = CurrentMachine();
  EXPECT_EQ(machine.fingerprint.size(), 32u);
  EXPECT_EQ(machine.machine_class.size(), 32u);
  EXPECT_NE(machine.cpu_model, "");
  EXPECT_GE(AvailableCpus(), 1);
  const BuildRecord build = CurrentBuild();
  for (const std::string& text : {build.version, build.git_sha, build.build_type, build.compiler,
                                  build.llvm_version, build.library_versions}) {
    EXPECT_NE(text, "");
  }
  EXPECT_GE(build.git_sha.size(), 40u);
}

}  // namespace
}  // namespace fusemark
