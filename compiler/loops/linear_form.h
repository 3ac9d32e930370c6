// Ranges and linear forms: the arithmetic under index analysis (index_analysis.h). Knows no kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace fusemark::loops {

// lo <= x <= hi. The extreme values of int64 mean "not bounded"; lo > hi means no value at all
// (unreachable code).
struct Range {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo = kMin, hi = kMax;

  bool operator==(const Range&) const = default;
  bool empty() const { return lo > hi; }
  bool bounded() const { return lo != kMin && hi != kMax; }
  bool Within(int64_t low, int64_t high) const { return empty() || (lo >= low && hi <= high); }
};

Range Intersect(Range a, Range b);
Range Union(Range a, Range b);
Range AddRanges(Range a, Range b);
Range ScaleRange(Range a, int64_t factor);
int64_t FloorDiv(int64_t a, int64_t b);  // b > 0
int64_t FloorMod(int64_t a, int64_t b);  // b > 0

// constant + sum of coefficient * atom; atoms are numbers given by the analysis. Sorted by atom, no
// zero coefficients.
struct LinearForm {
  struct Term {
    int32_t atom = 0;
    int64_t coefficient = 0;
    auto operator<=>(const Term&) const = default;
  };
  std::vector<Term> terms;
  int64_t constant = 0;
  // Arithmetic left int64: the form says nothing.
  bool overflow = false;

  bool operator==(const LinearForm&) const = default;
  auto operator<=>(const LinearForm&) const = default;
  bool IsConstant() const { return terms.empty() && !overflow; }
  int64_t CoefficientOf(int32_t atom) const;

  static LinearForm Constant(int64_t value);
  static LinearForm Atom(int32_t atom, int64_t coefficient = 1);
};

// a + factor * b
LinearForm AddScaled(const LinearForm& a, const LinearForm& b, int64_t factor);
LinearForm Scaled(const LinearForm& a, int64_t factor);

}  // namespace fusemark::loops
