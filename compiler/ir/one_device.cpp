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

}  // namespace

bool RunsOnOneDevice(const Module& module) {
  const auto is_one = [&](std::string_view key) {
    const std::string_view value = FindExtra(module.extra, key).value_or("");
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
  const std::string_view pairs = FindExtra(instr.extra, "source_target_pairs").value_or("");
  return pairs.find("{0,0}") != std::string_view::npos;
}

}  // namespace fusemark
