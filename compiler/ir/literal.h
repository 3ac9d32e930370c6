// Literal: a constant array value, dense row-major bytes. Shared and immutable, so copying a module
// stays cheap. A tuple literal holds one Literal per element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/shape.h"

namespace fusemark {

struct Literal {
  Shape shape;
  std::shared_ptr<const std::vector<std::byte>>
      data;                       // ByteSizeOf(shape) bytes; null for tuples and tokens
  std::vector<Literal> elements;  // of a tuple

  std::span<const std::byte> bytes() const {
    return data ? std::span<const std::byte>(*data) : std::span<const std::byte>();
  }
  // Same shape (layout ignored) and same bytes: NaNs compare by their bits, -0 differs from +0.
  bool operator==(const Literal& other) const;
};

Literal MakeLiteral(Shape shape, std::vector<std::byte> bytes);

}  // namespace fusemark
