#include "compiler/loops/linear_form.h"

#include <algorithm>

namespace fusemark::loops {
namespace {

int64_t Saturated(__int128 value) {
  if (value <= Range::kMin) return Range::kMin;
  if (value >= Range::kMax) return Range::kMax;
  return static_cast<int64_t>(value);
}

}  // namespace

Range Intersect(Range a, Range b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

Range Union(Range a, Range b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

Range AddRanges(Range a, Range b) {
  if (a.empty() || b.empty()) return {0, -1};
  Range sum;
  if (a.lo != Range::kMin && b.lo != Range::kMin)
    sum.lo = Saturated(static_cast<__int128>(a.lo) + b.lo);
  if (a.hi != Range::kMax && b.hi != Range::kMax)
    sum.hi = Saturated(static_cast<__int128>(a.hi) + b.hi);
  return sum;
}

Range ScaleRange(Range a, int64_t factor) {
  if (a.empty() || factor == 0) return a.empty() ? a : Range{0, 0};
  if (factor < 0) {
    std::swap(a.lo, a.hi);
    if (a.lo == Range::kMax || a.hi == Range::kMin) {
      Range scaled;
      if (a.lo != Range::kMax) scaled.lo = Saturated(static_cast<__int128>(a.lo) * factor);
      if (a.hi != Range::kMin) scaled.hi = Saturated(static_cast<__int128>(a.hi) * factor);
      return scaled;
    }
  }
  Range scaled;
  if (a.lo != Range::kMin) scaled.lo = Saturated(static_cast<__int128>(a.lo) * factor);
  if (a.hi != Range::kMax) scaled.hi = Saturated(static_cast<__int128>(a.hi) * factor);
  return scaled;
}

int64_t FloorDiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

int64_t FloorMod(int64_t a, int64_t b) {
  const int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

int64_t LinearForm::CoefficientOf(int32_t atom) const {
  for (const Term& term : terms) {
    if (term.atom == atom) return term.coefficient;
  }
  return 0;
}

LinearForm LinearForm::Constant(int64_t value) {
  LinearForm form;
  form.constant = value;
  return form;
}

LinearForm LinearForm::Atom(int32_t atom, int64_t coefficient) {
  LinearForm form;
  if (coefficient != 0) form.terms.push_back({atom, coefficient});
  return form;
}

LinearForm AddScaled(const LinearForm& a, const LinearForm& b, int64_t factor) {
  LinearForm sum;
  sum.overflow = a.overflow || b.overflow;
  int64_t scaled = 0;
  const auto add = [&](int64_t x, int64_t y) {
    int64_t result = 0;
    sum.overflow |= __builtin_mul_overflow(y, factor, &scaled);
    sum.overflow |= __builtin_add_overflow(x, scaled, &result);
    return result;
  };
  sum.constant = add(a.constant, b.constant);
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const bool left =
        j == b.terms.size() || (i < a.terms.size() && a.terms[i].atom <= b.terms[j].atom);
    const bool right =
        i == a.terms.size() || (j < b.terms.size() && b.terms[j].atom <= a.terms[i].atom);
    const int32_t atom = left ? a.terms[i].atom : b.terms[j].atom;
    const int64_t coefficient =
        add(left ? a.terms[i].coefficient : 0, right ? b.terms[j].coefficient : 0);
    if (coefficient != 0) sum.terms.push_back({atom, coefficient});
    i += left ? 1 : 0;
    j += right ? 1 : 0;
  }
  return sum;
}

LinearForm Scaled(const LinearForm& a, int64_t factor) {
  return AddScaled({}, a, factor);
}

}  // namespace fusemark::loops
