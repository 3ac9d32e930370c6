// Reductions that keep one of the pairs (value, index) they meet: arg-max and arg-min, as
// comparisons and selects on two accumulators. Here is proved, from what the body does in every
// case of how two pairs compare, that partial results of interleaved parts may be joined by the
// same body.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

struct PairReducer {
  struct Part {
    BufferId buffer;              // the accumulator
    std::vector<ExprId> indices;  // its place in the buffer
    VarId held;                   // what it held before this iteration
    VarId candidate;              // what this iteration offers
    ExprId update;                // what it holds afterwards
  };
  Part value, index;
  // The lets between `held`, `candidate` and the updates, in order.
  std::vector<std::pair<VarId, ExprId>> steps;
};

// The reducer whose accumulators the two stores of the loop's body update. Guaranteed:
//  * of two unequal values the same one stays whichever comes first, NaN before all others;
//  * of two equal ones the index is chosen by the order of the indices or is that of the first;
//  * candidates come with increasing indices.
// So the body joins two partial results if it is given the one with the lower index first, and
// an accumulator's start may take part any number of times. The sign of a zero that stays is that
// of any of the equal values. An error says what is not so.
Result<PairReducer> ProvePairReducer(const Kernel& kernel, const Stmt& loop, const Stmt& value,
                                     const Stmt& index);

}  // namespace fusemark::loops
