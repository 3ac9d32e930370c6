#include "compiler/support/memory.h"

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fusemark {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// From here on the rest of the last huge page is a price worth paying.
constexpr int64_t kLarge = int64_t{1} << 20;

}  // namespace

std::byte* AllocateArray(int64_t bytes) {
  const auto wanted = static_cast<size_t>(bytes);
  if (bytes < kLarge) {
    const size_t size = AlignUp(wanted == 0 ? 1 : wanted);
    return static_cast<std::byte*>(std::aligned_alloc(kArrayAlignment, size));
  }
  const size_t size = AlignUp(wanted, kHugePage);
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kHugePage, size));
#if defined(MADV_HUGEPAGE)
  // A wish: without huge pages the memory is as good as before.
  if (memory != nullptr) (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace fusemark
