// The loop nests around the emitter, one function per way of lowering, and what they share. Private
// to Lower().
#pragma once

#include <span>
#include <vector>

#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {

// The result buffers of the roots: results[i][leaf].
using RootBuffers = std::vector<std::vector<BufferId>>;

struct Lowering {
  const LowerRequest& request;
  Emitter& emitter;
  RootBuffers results;

  const Instr& root(size_t i) const { return emitter.instr(request.roots[i]); }
  // Dims of a root (of its first leaf: all leaves of a root are alike).
  const std::vector<int64_t>& DimsOf(size_t i) const;
  // Emits and stores every leaf of root `i` at an index.
  void StoreRoot(size_t i, const Indices& indices);
};

// lower_loop.cpp: loop, reduce, contraction, window. Roots of equal dims share a nest; a pad or
// concatenate becomes one nest per piece.
void LowerLoops(Lowering& lowering);
void LowerRoots(Lowering& lowering, std::span<const size_t> roots);
// lower_row.cpp. Falls back to loops when no reduce gives the row its shape.
Result<void> LowerRows(Lowering& lowering);
// lower_attention.cpp. kUnsupported says what the kernel lacks to be one.
Result<void> LowerAttention(Lowering& lowering);
// lower_scan.cpp: running reduce-windows in linear time; false if the request has none.
bool LowerScan(Lowering& lowering);
// lower_update.cpp: scatter, dynamic-update-slice, select-and-scatter; others by their own files.
void LowerUpdates(Lowering& lowering);

// lower_sort.cpp: sort, topk.
void LowerOrders(Lowering& lowering, size_t root);

// lower_check.cpp: everything the emitter takes for granted. kUnsupported names the first
// instruction that it cannot lower.
Result<void> CheckRequest(const LowerRequest& request);

}  // namespace fusemark::loops
