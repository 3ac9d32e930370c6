#include "compiler/ir/literal.h"

#include <algorithm>

namespace fusemark {

bool Literal::operator==(const Literal& other) const {
  const auto a = bytes();
  const auto b = other.bytes();
  return SameType(shape, other.shape) && std::equal(a.begin(), a.end(), b.begin(), b.end()) &&
         elements == other.elements;
}

Literal MakeLiteral(Shape shape, std::vector<std::byte> bytes) {
  Literal literal;
  literal.shape = std::move(shape);
  literal.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return literal;
}

}  // namespace fusemark
