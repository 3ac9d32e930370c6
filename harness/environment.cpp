#include "harness/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/support/hash.h"
#include "compiler/support/strings.h"
#include "harness/build_info.h"
#include "results_db/db.h"

namespace fusemark {
namespace {

constexpr char kUnknown[] = "unknown";

// Instruction sets that change which code is generated or which is fastest.
constexpr std::string_view kIsaFlags[] = {
    "amx_bf16", "amx_int8", "amx_tile",    "asimd",       "asimddp",     "asimdhp",
    "avx",      "avx2",     "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx512bw",
    "avx512dq", "avx512f",  "avx512vl",    "avx_vnni",    "bf16",        "f16c",
    "fma",      "i8mm",     "sse4_1",      "sse4_2",      "sve",         "sve2"};

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return std::string(Trim(text.str()));
}

std::string TextOr(const std::string& path, const std::string& otherwise) {
  std::string text = ReadText(path);
  return text.empty() ? otherwise : text;
}

// First "key : value" of /proc/cpuinfo or /proc/meminfo.
std::string Field(const std::string& text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trim(line.substr(0, colon)) == key) {
      return std::string(Trim(line.substr(colon + 1)));
    }
  }
  return "";
}

int64_t CountFields(const std::string& text, std::string_view key) {
  int64_t count = 0;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    count += colon != std::string_view::npos && Trim(line.substr(0, colon)) == key;
  }
  return count;
}

// "48K" -> 49152.
int64_t SizeBytes(const std::string& text) {
  if (text.empty()) return 0;
  int64_t unit = 1;
  std::string digits = text;
  if (text.back() == 'K') unit = 1 << 10;
  if (text.back() == 'M') unit = 1 << 20;
  if (text.back() == 'G') unit = 1 << 30;
  if (unit != 1) digits.pop_back();
  return ParseInt(digits).value_or(0) * unit;
}

void ReadCaches(const std::string& root, MachineRecord& machine) {
  for (int index = 0; index < 8; ++index) {
    const std::string base =
        fmt::format("{}/sys/devices/system/cpu/cpu0/cache/index{}/", root, index);
    const std::string level = ReadText(base + "level");
    const int64_t bytes = SizeBytes(ReadText(base + "size"));
    if (level == "1" && ReadText(base + "type") != "Instruction") machine.l1d_bytes = bytes;
    if (level == "2") machine.l2_bytes = bytes;
    if (level == "3") machine.l3_bytes = bytes;
  }
}

std::string Isa(const std::string& cpuinfo) {
  std::string flags = Field(cpuinfo, "flags");
  if (flags.empty()) flags = Field(cpuinfo, "Features");
  std::vector<std::string> found;
  for (const std::string_view flag : Split(flags, ' ')) {
    if (std::find(std::begin(kIsaFlags), std::end(kIsaFlags), flag) != std::end(kIsaFlags)) {
      found.emplace_back(flag);
    }
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? kUnknown : Join(found, ",");
}

std::string CpuModel(const std::string& cpuinfo) {
  const std::string name = Field(cpuinfo, "model name");
  if (!name.empty()) return name;
  const std::string part = Field(cpuinfo, "CPU part");
  if (!part.empty()) return "implementer " + Field(cpuinfo, "CPU implementer") + " part " + part;
  return kUnknown;
}

std::string Details(const std::string& root, const std::string& cpuinfo) {
  const std::string cpu = root + "/sys/devices/system/cpu/";
  const std::string flags = " " + Field(cpuinfo, "flags") + " ";
  nlohmann::ordered_json details;
  utsname host{};
  if (uname(&host) == 0) details["kernel"] = std::string(host.sysname) + " " + host.release;
  details["distribution"] =
      TextOr(root + "/etc/debian_version", TextOr(root + "/etc/redhat-release", kUnknown));
  details["cpu_vendor"] = Field(cpuinfo, "vendor_id");
  details["cpu_family"] = Field(cpuinfo, "cpu family");
  details["cpu_model_number"] = Field(cpuinfo, "model");
  details["cpu_stepping"] = Field(cpuinfo, "stepping");
  details["microcode"] = Field(cpuinfo, "microcode");
  details["virtual"] = flags.find(" hypervisor ") != std::string::npos;
  details["governor"] = TextOr(cpu + "cpu0/cpufreq/scaling_governor", "none");
  details["driver"] = TextOr(cpu + "cpu0/cpufreq/scaling_driver", "none");
  details["no_turbo"] = TextOr(cpu + "intel_pstate/no_turbo", kUnknown);
  details["smt"] = TextOr(cpu + "smt/active", kUnknown);
  details["isolated"] = TextOr(cpu + "isolated", "none");
  details["huge_pages"] = TextOr(root + "/sys/kernel/mm/transparent_hugepage/enabled", kUnknown);
  details["load"] = TextOr(root + "/proc/loadavg", kUnknown);
  details["available_cpus"] = AvailableCpus();
  for (auto& [key, value] : details.items()) {
    if (value.is_string() && value.get<std::string>().empty()) value = kUnknown;
  }
  return details.dump();
}

}  // namespace

MachineRecord ReadMachine(const std::string& root) {
  const std::string cpuinfo = ReadText(root + "/proc/cpuinfo");
  MachineRecord machine;
  machine.cpu_model = CpuModel(cpuinfo);
  utsname host{};
  machine.arch = uname(&host) == 0 ? host.machine : kUnknown;
  machine.isa = Isa(cpuinfo);
  machine.cores = std::max<int64_t>(1, CountFields(cpuinfo, "processor"));
  ReadCaches(root, machine);
  const std::string memory = Field(ReadText(root + "/proc/meminfo"), "MemTotal");
  machine.memory_bytes = ParseInt(memory.substr(0, memory.find(' '))).value_or(0) * 1024;
  machine.details_json = Details(root, cpuinfo);
  machine.machine_class = ToHex(
      HashText(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", machine.arch, Field(cpuinfo, "vendor_id"),
                           Field(cpuinfo, "cpu family"), Field(cpuinfo, "model"), machine.cpu_model,
                           machine.isa, machine.cores, machine.l2_bytes, machine.l3_bytes)));
  const std::string identity =
      TextOr(root + "/etc/machine-id", TextOr(root + "/proc/sys/kernel/hostname", kUnknown));
  machine.fingerprint = ToHex(HashText(machine.machine_class + "|" + identity));
  return machine;
}

MachineRecord CurrentMachine() {
  static const MachineRecord machine = ReadMachine();
  return machine;
}

BuildRecord CurrentBuild() {
  BuildRecord build;
  build.version = kBuildInfo.version;
  build.git_sha = kBuildInfo.git_sha;
  build.dirty = kBuildInfo.dirty;
  build.build_type = kBuildInfo.build_type;
  build.compiler = kBuildInfo.compiler;
  build.flags = kBuildInfo.flags;
  build.llvm_version = kBuildInfo.llvm_version;
  build.library_versions =
      fmt::format("oneDNN {}, SQLite {}", kBuildInfo.dnnl_version, SqliteVersion());
  return build;
}

int AvailableCpus() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::vector<std::string> EnvironmentWarnings(const MachineRecord& machine) {
  std::vector<std::string> warnings;
  const std::string type = kBuildInfo.build_type;
  if (type != "Release" && type != "RelWithDebInfo") {
    warnings.push_back("this is a " + type + " build: times are not representative");
  }
  if (kBuildInfo.sanitizers[0] != '\0') {
    warnings.push_back(std::string("built with sanitizers (") + kBuildInfo.sanitizers +
                       "): times are not representative");
  }
  const auto details = nlohmann::json::parse(machine.details_json, nullptr, false);
  const std::string governor = details.is_object() ? details.value("governor", "") : "";
  if (governor == "powersave" || governor == "ondemand" || governor == "schedutil") {
    warnings.push_back("CPU frequency governor is '" + governor +
                       "': for steady clocks run 'cpupower frequency-set -g performance'");
  }
  return warnings;
}

}  // namespace fusemark
