#include "compiler/loops/lower_index.h"

namespace fusemark::loops {

Affine ConstantIndex(int64_t value) {
  return {{}, value};
}

Affine VarIndex(VarId var) {
  return {{{var, 1}}, 0};
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum{{}, a.constant + b.constant};
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      sum.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      sum.terms.push_back(*j++);
    } else {
      const int64_t factor = i->second + j->second;
      if (factor != 0) sum.terms.emplace_back(i->first, factor);
      ++i;
      ++j;
    }
  }
  return sum;
}

Affine operator+(const Affine& a, int64_t value) {
  Affine sum = a;
  sum.constant += value;
  return sum;
}

Affine operator-(const Affine& a, const Affine& b) {
  return a + b * -1;
}

Affine operator*(const Affine& a, int64_t factor) {
  if (factor == 0) return ConstantIndex(0);
  Affine product = a;
  for (auto& term : product.terms) term.second *= factor;
  product.constant *= factor;
  return product;
}

int64_t CeilDiv(int64_t a, int64_t b) {
  return -FloorDiv(-a, b);
}

SplitAffine Split(const Affine& a, int64_t divisor) {
  SplitAffine split;
  for (const auto& [var, factor] : a.terms) {
    if (factor % divisor == 0) {
      split.quotient.terms.emplace_back(var, factor / divisor);
    } else {
      split.rest.terms.emplace_back(var, factor);
    }
  }
  split.quotient.constant = FloorDiv(a.constant, divisor);
  split.rest.constant = a.constant - split.quotient.constant * divisor;
  return split;
}

}  // namespace fusemark::loops
