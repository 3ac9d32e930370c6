// The words that the schema's CHECK constraints spell, one table per enum of records.h. Internal to
// results_db; order follows the enums.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "compiler/support/check.h"
#include "results_db/records.h"

namespace fusemark {

inline constexpr std::string_view kConfigSourceNames[] = {"default", "tuned", "stale"};
inline constexpr std::string_view kRunStatusNames[] = {"ok", "failed", "interrupted"};
inline constexpr std::string_view kNumericsNames[] = {"unchecked", "pass", "fail"};
inline constexpr std::string_view kScopeNames[] = {"task", "plan"};
inline constexpr std::string_view kTrialStatusNames[] = {
    "ok",          "compile_fail", "compile_timeout", "run_fail",
    "run_timeout", "wrong",        "illegal",         "duplicate"};
inline constexpr std::string_view kDecisionStateNames[] = {"candidate", "confirmed", "stale",
                                                           "revoked"};

template <class Enum>
std::string_view NameIn(std::span<const std::string_view> names, Enum value) {
  FM_CHECK(static_cast<size_t>(value) < names.size());
  return names[static_cast<size_t>(value)];
}

// The CHECK constraints admit no other word, so an unknown one means a damaged file: first value.
template <class Enum>
Enum ValueIn(std::span<const std::string_view> names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return static_cast<Enum>(0);
}

}  // namespace fusemark
