// Affine index expressions, the form in which lowering computes addresses. What is not affine (a
// quotient, a remainder, a clamped start index) is bound to a variable first, so every index stays
// affine over variables of known range. Not here: how such an index becomes IR (lower_expr.h).
//
// Invariant: terms are sorted by variable and no coefficient is 0, so equal indices compare equal;
// the memo of emitted values relies on it.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/loops/linear_form.h"

namespace fusemark::loops {

struct Affine {
  std::vector<std::pair<VarId, int64_t>> terms;
  int64_t constant = 0;
  auto operator<=>(const Affine&) const = default;
  bool is_constant() const { return terms.empty(); }
};
using Indices = std::vector<Affine>;

Affine ConstantIndex(int64_t value);
Affine VarIndex(VarId var);
Affine operator+(const Affine& a, const Affine& b);
Affine operator+(const Affine& a, int64_t value);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, int64_t factor);

// The part of `a` whose coefficients `divisor` divides, already divided, and what is left:
// a = quotient * divisor + rest, with rest.constant in [0, divisor). LinearForm (index_analysis.h)
// is its counterpart on the finished kernel.
struct SplitAffine {
  Affine quotient, rest;
};
SplitAffine Split(const Affine& a, int64_t divisor);

int64_t CeilDiv(int64_t a, int64_t b);

}  // namespace fusemark::loops
