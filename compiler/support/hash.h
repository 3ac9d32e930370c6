// 128-bit FNV-1a over canonical text. It names tasks, configs and modules in the database, so it
// must never change: same text, same id, on every machine and in every version.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusemark {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Hash128&) const = default;
};

Hash128 HashText(std::string_view text);

// 32 lower-case hex digits.
std::string ToHex(const Hash128& hash);

// FNV-1a 64, the seed rule of the deterministic inputs (workloads/inputs.h).
uint64_t Fnv1a64(std::string_view text);

}  // namespace fusemark
