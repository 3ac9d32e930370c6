// Finds attention: two dots with row work (softmax) between them that one kernel can do. What the
// kernel looks like, and what it cannot take, is the business of loops/lower_attention.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"

namespace fusemark {

struct RowWork {
  std::vector<uint32_t> members;  // reductions along rows and the elementwise work around them
  uint32_t weights = 0;           // the member that the second dot reads
};

// The instructions of the kernel in increasing order, the first dot in front; none if `second` is
// not the end of an attention, or its rows are too few to share what is copied for them. `users` as
// of Users(), `live` as of Live().
std::vector<uint32_t> MatchAttention(const Computation& computation,
                                     const std::vector<std::vector<InstrId>>& users,
                                     const std::vector<bool>& live, uint32_t second,
                                     const RowWork& row);

}  // namespace fusemark
