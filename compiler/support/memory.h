// Memory for arrays. Large ones lie on huge pages where the system grants them: fewer TLB misses,
// and times that depend less on which pages a run happened to get.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fusemark {

// At least `bytes` (0 is allowed), aligned to 64; null when memory is exhausted. std::free() it.
std::byte* AllocateArray(int64_t bytes);

}  // namespace fusemark
