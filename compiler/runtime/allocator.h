// Buffers of off mode: a caching allocator, as eager frameworks have one. Freed blocks are kept by
// rounded size and given out again, so that a steady run makes no system calls. Single-threaded:
// the dispatch loop owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fusemark {

class CachingAllocator {
 public:
  CachingAllocator() = default;
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;
  ~CachingAllocator();

  // 64-byte aligned, contents undefined; nullptr when the system has no more memory.
  std::byte* Allocate(int64_t bytes);
  void Free(std::byte* memory, int64_t bytes);

  int64_t live_bytes() const { return live_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::unordered_map<int64_t, std::vector<std::byte*>> free_;  // by rounded size
  int64_t live_bytes_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace fusemark
