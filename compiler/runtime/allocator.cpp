#include "compiler/runtime/allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "compiler/support/memory.h"

namespace fusemark {
namespace {

// Eight size classes per power of two: at most 12.5 % is wasted, and buffers of nearly equal size
// share a class.
int64_t RoundedSize(int64_t bytes) {
  constexpr int64_t kLeast = kArrayAlignment;
  if (bytes <= kLeast) return kLeast;
  const int64_t step = std::max<int64_t>(
      kLeast, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 8);
  return AlignUp(bytes, step);
}

}  // namespace

CachingAllocator::~CachingAllocator() {
  for (auto& [size, blocks] : free_) {
    for (std::byte* block : blocks) std::free(block);
  }
}

std::byte* CachingAllocator::Allocate(int64_t bytes) {
  const int64_t size = RoundedSize(bytes);
  std::vector<std::byte*>& blocks = free_[size];
  std::byte* memory = nullptr;
  if (blocks.empty()) {
    memory = AllocateArray(size);
    if (memory == nullptr) return nullptr;
  } else {
    memory = blocks.back();
    blocks.pop_back();
  }
  live_bytes_ += size;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return memory;
}

void CachingAllocator::Free(std::byte* memory, int64_t bytes) {
  const int64_t size = RoundedSize(bytes);
  live_bytes_ -= size;
  free_[size].push_back(memory);
}

}  // namespace fusemark
