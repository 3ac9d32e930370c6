#include "compiler/memory/arena.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <queue>

#include "compiler/support/memory.h"

namespace fusemark {
namespace {

// Free ranges of the arena by offset.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    auto best = ranges_.end();
    for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
      if (it->second >= bytes && (best == ranges_.end() || it->second < best->second)) best = it;
    }
    if (best != ranges_.end()) {
      const auto [offset, size] = *best;
      ranges_.erase(best);
      if (size > bytes) ranges_[offset + bytes] = size - bytes;
      return offset;
    }
    return Grow(bytes);
  }

  void Give(int64_t offset, int64_t bytes) {
    auto it = ranges_.emplace(offset, bytes).first;
    if (const auto next = std::next(it); next != ranges_.end() && offset + bytes == next->first) {
      it->second += next->second;
      ranges_.erase(next);
    }
    if (it == ranges_.begin()) return;
    const auto previous = std::prev(it);
    if (previous->first + previous->second == it->first) {
      previous->second += it->second;
      ranges_.erase(it);
    }
  }

  int64_t size() const { return size_; }

 private:
  // Extends the arena; a free range that touches its end is used first.
  int64_t Grow(int64_t bytes) {
    int64_t offset = size_;
    if (!ranges_.empty()) {
      const auto last = std::prev(ranges_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        ranges_.erase(last);
      }
    }
    size_ = offset + bytes;
    return offset;
  }

  std::map<int64_t, int64_t> ranges_;
  int64_t size_ = 0;
};

}  // namespace

int64_t AssignOffsets(std::vector<ArenaSlot>& slots) {
  std::vector<size_t> order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Of slots that start together the largest is placed first: it has the fewest places to go.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (slots[a].first != slots[b].first) return slots[a].first < slots[b].first;
    if (slots[a].bytes != slots[b].bytes) return slots[a].bytes > slots[b].bytes;
    return a < b;
  });
  const auto rounded = [](int64_t bytes) {
    return std::max<int64_t>(kArrayAlignment, AlignUp(bytes));
  };
  const auto ends_later = [&](size_t a, size_t b) { return slots[a].last > slots[b].last; };
  std::priority_queue<size_t, std::vector<size_t>, decltype(ends_later)> alive(ends_later);
  FreeList free;
  for (size_t index : order) {
    while (!alive.empty() && slots[alive.top()].last < slots[index].first) {
      free.Give(slots[alive.top()].offset, rounded(slots[alive.top()].bytes));
      alive.pop();
    }
    slots[index].offset = free.Take(rounded(slots[index].bytes));
    alive.push(index);
  }
  return free.size();
}

}  // namespace fusemark
