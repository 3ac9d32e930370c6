#include "compiler/codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "compiler/codegen/machine.h"
#include "compiler/support/strings.h"

namespace fusemark {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K", "2048K", "32M".
int64_t SizeFromText(const std::string& text) {
  if (text.empty()) return 0;
  const char unit = text.back();
  const auto number = ParseInt(unit >= '0' && unit <= '9' ? text : text.substr(0, text.size() - 1));
  if (!number) return 0;
  const int64_t scale = unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : unit == 'G' ? 1 << 30 : 1;
  return *number * scale;
}

void ReadCaches(loops::Target& target) {
  const std::string root = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int index = 0; index < 8; ++index) {
    const std::string dir = root + std::to_string(index) + "/";
    const std::string type = FirstLine(dir + "type");
    if (type.empty() || type == "Instruction") continue;
    const int64_t bytes = SizeFromText(FirstLine(dir + "size"));
    const std::string level = FirstLine(dir + "level");
    if (bytes <= 0) continue;
    if (level == "1") target.l1_bytes = bytes;
    if (level == "2") target.l2_bytes = bytes;
    if (level == "3") target.l3_bytes = bytes;
  }
}

// CPUs of the affinity mask; the machine may have more than a fixed-size set holds.
int CpusOfAffinity() {
  for (int capacity = 1024; capacity <= 1 << 16; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(count, 1);
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The CPU quota of this process's control group, rounded up; 0 if there is none.
int64_t CpusOfQuota(int64_t quota_us, int64_t period_us) {
  if (quota_us <= 0 || period_us <= 0) return 0;
  return (quota_us + period_us - 1) / period_us;
}

int64_t CpusOfCgroup() {
  // Version 2: the smallest quota on the way from our group to the root counts.
  int64_t cpus = 0;
  const auto take = [&](int64_t limit) {
    if (limit > 0 && (cpus == 0 || limit < cpus)) cpus = limit;
  };
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    std::string path = line.substr(3);
    while (true) {
      const std::string text = FirstLine("/sys/fs/cgroup" + path + "/cpu.max");
      const auto parts = Split(text, ' ');
      if (parts.size() == 2 && parts[0] != "max")
        take(CpusOfQuota(ParseInt(parts[0]).value_or(0), ParseInt(parts[1]).value_or(0)));
      const size_t slash = path.rfind('/');
      if (slash == std::string::npos || path.empty()) break;
      path.resize(slash);
    }
  }
  const std::string v1 = "/sys/fs/cgroup/cpu/cpu.cfs_";
  take(CpusOfQuota(ParseInt(FirstLine(v1 + "quota_us")).value_or(0),
                   ParseInt(FirstLine(v1 + "period_us")).value_or(0)));
  return cpus;
}

void SetVectorShape(loops::Target& target) {
  const auto enabled = codegen::EnabledFeatures(target.cpu, target.features);
  const auto has = [&](const char* name) {
    return std::binary_search(enabled.begin(), enabled.end(), name);
  };
  const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  target.vector_bytes = avx512 ? 64 : has("avx2") ? 32 : 16;
  // AArch64 has 32 registers as well; it is told by its baseline feature.
  target.byte_group = (avx512 && has("avx512vnni")) || (has("avx2") && has("avxvnni")) ? 4 : 2;
  target.vector_registers = avx512 || has("neon") ? 32 : 16;
}

std::string HostFeatures() {
  std::vector<std::string> names;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());
  return Join(names, ",");
}

}  // namespace

loops::Target HostTarget() {
  loops::Target target;
  target.cpu = llvm::sys::getHostCPUName().str();
  if (!codegen::IsKnownCpu(target.cpu)) target.cpu = "generic";
  target.features = HostFeatures();
  SetVectorShape(target);
  ReadCaches(target);
  target.threads = CpusOfAffinity();
  const int64_t quota = CpusOfCgroup();
  if (quota > 0) target.threads = static_cast<int>(std::min<int64_t>(target.threads, quota));
  return target;
}

Result<loops::Target> TargetForCpu(const std::string& cpu) {
  if (!codegen::IsKnownCpu(cpu)) {
    return Invalid("unknown target CPU '" + cpu +
                   "'; expected a name LLVM knows, such as x86-64, x86-64-v3, x86-64-v4 or " +
                   llvm::sys::getHostCPUName().str());
  }
  loops::Target target = HostTarget();
  // What the CPU would have and this machine lacks is switched off, so that the code runs here. The
  // host's list holds instruction sets only, no tuning hints.
  const auto host = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> missing;
  for (const std::string& name : codegen::EnabledFeatures(cpu, "")) {
    const auto found = host.find(name);
    if (found != host.end() && !found->second) missing.push_back("-" + name);
  }
  target.cpu = cpu;
  target.features = Join(missing, ",");
  SetVectorShape(target);
  return target;
}

}  // namespace fusemark
