// Memory for arrays. Large ones lie on huge pages where the system grants them: fewer TLB misses,
// and times that depend less on which pages a run happened to get.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// std::memcpy, but arrays without elements may be null pointers, which it forbids.
inline void CopyArray(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace fusemark
