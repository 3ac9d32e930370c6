// How the loads of a kernel move with its loops: what schedules and their defaults are chosen by.
// Names of loops are those of the lowerings (schedule_cpu.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/loops/index_analysis.h"
#include "compiler/loops/kernel.h"
#include "compiler/loops/schedule.h"

namespace fusemark::loops {

// Every load in program order, with what is known of the indices there.
using LoadVisitor = std::function<void(const Expr& load, IndexAnalysis& analysis)>;
void VisitLoads(const Kernel& kernel, const LoadVisitor& visit);

// Loads of operands that move with the loop by one element of the last dimension, less those that
// jump. Positive: memory runs along this loop. With `only`, the loads of that buffer.
int UnitStrides(const Kernel& kernel, const std::string& loop,
                std::optional<BufferId> only = std::nullopt);

// Does any load of the buffer move with the loop?
bool MovesWith(const Kernel& kernel, BufferId buffer, const std::string& loop);

int64_t BytesOf(const Kernel& kernel, BufferId buffer);

// The operand of a product that moves with its columns `n` and not with its rows `m`; the largest,
// because an epilogue may read a bias.
std::optional<BufferId> RightOperand(const Kernel& kernel, const std::string& m,
                                     const std::string& n);

// The loops named by `prefix` from the first top-level loop inwards, along the first loop of each
// body.
struct NamedLoop {
  std::string name;
  int64_t extent = 0;
};
std::vector<NamedLoop> LoopChain(const Kernel& kernel, char prefix);

// The largest depth up to `most` that cuts the sum of a product with rows `m` and columns `n` into
// equal blocks, at least two; 0: there is none that is worth it, or the terms of a row are no
// neighbours in memory.
int64_t BlockOfSum(const Kernel& kernel, const std::string& m, const std::string& n, int64_t most);

// A contraction that our own code computes as fast as a library: on f32, rows enough to share a
// panel of columns, a right operand whose columns are neighbours in memory, no guards of padding;
// any on integers.
bool SuitsOwnCode(const Kernel& kernel);

// The schedule of a kernel that no configuration speaks of.
Schedule DefaultSchedule(const Kernel& kernel);

}  // namespace fusemark::loops
