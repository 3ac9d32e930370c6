// Row stages: reductions over the same dims of one shape and the elementwise work around them, one
// row at a time while it is in cache. Shared by row kernels (lower_row.cpp) and attention
// (lower_attention.cpp). Private to Lower().
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {

// `dims` of the reduced values, of which `along` are reduced.
struct RowShape {
  std::vector<int64_t> dims;
  Dims along, kept;  // positions, increasing
  std::vector<int64_t> Pick(const Dims& positions) const;
  // The index in `dims` of a column of a row.
  Indices Join(const Indices& row, const Indices& column) const;
};

class RowStages {
 public:
  // Finds the kernel's reductions. No row if there are none.
  explicit RowStages(Emitter& emitter);

  bool empty() const { return stages_.empty(); }
  const RowShape& shape() const { return shape_; }
  // Is this one of the reductions along the row?
  bool Matches(const Instr& in) const;
  // Decides what is kept between the stages. `results`: the values of the row's full shape that are
  // wanted after the last one; `given`: those that the caller will have kept for the row.
  void Choose(std::vector<InstrId> results, std::set<InstrId> given = {});

  // One row: its reductions, then `per_row`, then `per_element` in a loop along the row, which is
  // left out where there are no results.
  void Emit(const Indices& row, const std::function<void()>& per_row,
            const std::function<void(const Indices& full)>& per_element);

 private:
  using Set = std::set<InstrId>;
  void Reach(InstrId id, const Set& known, Set& reached) const;
  std::vector<Set> Needs(const Set& kept) const;
  void AllocateKept(const Indices& row);
  void Filled(size_t stage);

  Emitter& emitter_;
  RowShape shape_;
  std::vector<std::vector<InstrId>> stages_;
  std::vector<InstrId> results_;
  Set given_;
  std::vector<Set> needs_;
  Set kept_;
};

}  // namespace fusemark::loops
