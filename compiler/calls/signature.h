// What a routine takes and gives, as text: "T:mn I:n -> T:mn=0 I:n=1 T:k" is one word per array:
//   type   T the element type of the routine, R its real type, C its complex type, I s32
//   dims   one letter each; letters of the operands bind to sizes, k = min(m, n) and h = n - 1
//          (not below 0) follow unless bound. Two letters make a matrix.
//   =i     the result starts as a copy of operand i, which LAPACK then overwrites
// Every array has the same batch dims before these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"
#include "compiler/support/result.h"

namespace fusemark {

struct ArraySpec {
  DType dtype = DType::kF32;
  int64_t rows = 1, columns = 1;  // of one problem; vectors and scalars have one column
  bool matrix = false;
  int starts_as = -1;  // operand, or -1
  int64_t elements() const { return rows * columns; }
  int64_t bytes() const { return elements() * ByteSize(dtype); }
};

struct BoundSignature {
  int64_t batch = 1;
  std::vector<ArraySpec> operands, results;
  std::array<int64_t, 26> size{};  // by letter; 0 where unbound
  int64_t operator[](char letter) const { return size[static_cast<size_t>(letter - 'a')]; }
};

// kInvalidInput says which array has which shape instead of which. `element` is T.
Result<BoundSignature> BindSignature(std::string_view signature, DType element,
                                     const std::vector<Shape>& operands,
                                     const std::vector<Shape>& results);

}  // namespace fusemark
