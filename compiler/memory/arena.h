// One arena for all intermediates of a program: offsets from lifetimes. Steps are numbered in
// execution order; a slot is alive from the step that first writes it to the last step that touches
// it, both inclusive.
#pragma once

#include <cstdint>
#include <vector>

namespace fusemark {

struct ArenaSlot {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = 0;  // result, a multiple of 64
};

// Assigns offsets by best fit in order of first use (a free list that merges neighbours) and
// returns the arena's size. Slots whose lifetimes overlap never share a byte.
int64_t AssignOffsets(std::vector<ArenaSlot>& slots);

}  // namespace fusemark
