// Memory for arrays. Large ones lie on huge pages where the system grants them: fewer TLB misses,
// and times that depend less on which pages a run happened to get.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace fusemark {

// Where arrays begin, also those that share a block: a cache line, and the widest vector.
inline constexpr int kArrayAlignment = 64;

// The least multiple of `to` that holds `bytes`.
template <std::integral T>
constexpr T AlignUp(T bytes, T to = kArrayAlignment) {
  return (bytes + to - 1) / to * to;
}

// At least `bytes` (0 is allowed), aligned as above; null when memory is exhausted. std::free() it.
std::byte* AllocateArray(int64_t bytes);

}  // namespace fusemark
