#include "compiler/ir/one_device.h"

#include <algorithm>
#include <string_view>

namespace fusemark {
namespace {

constexpr std::string_view kIdentityTargets[] = {"Sharding",
                                                 "SPMDFullToShardShape",
                                                 "SPMDShardToFullShape",
                                                 "annotate_device_placement",
                                                 "LayoutConstraint",
                                                 "MoveToHost",
                                                 "MoveToDevice",
                                                 "PinToDevice",
                                                 "xla.sdy.Sharding",
                                                 "xla.sdy.FuncResultSharding"};

std::string_view ExtraOf(const std::vector<std::pair<std::string, std::string>>& extra,
                         std::string_view key) {
  for (const auto& [name, value] : extra) {
    if (name == key) return value;
  }
  return {};
}

}  // namespace

bool RunsOnOneDevice(const Module& module) {
  const auto is_one = [&](std::string_view key) {
    const std::string_view value = ExtraOf(module.extra, key);
    return value.empty() || value == "1";
  };
  return is_one("replica_count") && is_one("num_partitions");
}

bool IsIdentityCall(const Instr& instr) {
  if (instr.op != Op::kCustomCall || instr.operands.size() != 1) return false;
  const std::string& target = instr.As<CustomCallAttrs>().target;
  return std::find(std::begin(kIdentityTargets), std::end(kIdentityTargets), target) !=
         std::end(kIdentityTargets);
}

bool SendsToItself(const Instr& instr) {
  return ExtraOf(instr.extra, "source_target_pairs").find("{0,0}") != std::string_view::npos;
}

}  // namespace fusemark
