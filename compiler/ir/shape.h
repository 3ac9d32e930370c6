// Shape of a value: an array (dtype, dims, optional layout) or a tuple of shapes.
//
// All operations are defined on logical indices. The layout is kept for printing and for entry
// parameters and results that are handed over as raw bytes; inside the compiler the plan decides
// layouts, not this field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"

namespace fusemark {

struct Layout {
  std::vector<int64_t> minor_to_major;
  std::string suffix;  // text after ':' (tiles, element size, memory space), kept verbatim
  bool operator==(const Layout&) const = default;
};

// Dynamic dims: dims[i] holds the bound (or -1 for an unbounded `?`), dynamic_dims bit i is set.
struct Shape {
  DType dtype = DType::kF32;
  bool is_tuple = false;
  uint32_t dynamic_dims = 0;  // bit set over the first 32 dims
  std::vector<int64_t> dims;
  std::optional<Layout> layout;  // absent = descending (row-major)
  std::vector<Shape> elements;   // of a tuple

  bool operator==(const Shape&) const = default;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool is_array() const { return !is_tuple && ClassOf(dtype) != DTypeClass::Opaque; }
  bool is_scalar() const { return is_array() && dims.empty(); }
};

Shape ArrayShape(DType dtype, std::vector<int64_t> dims);
Shape TupleShape(std::vector<Shape> elements);

// Same dtype and dims all the way down; layouts are ignored.
bool SameType(const Shape& a, const Shape& b);
bool SameDims(const Shape& a, const Shape& b);

// Product of the dims (1 for a scalar). The verifier has proved that it fits in int64.
int64_t ElementCount(const Shape& shape);
// Dense row-major bytes of an array, sum over leaves of a tuple. The verifier has proved that it
// fits.
int64_t ByteSizeOf(const Shape& shape);
// Nothing if the element or byte count overflows int64 or a dim is negative.
std::optional<int64_t> CheckedByteSize(const Shape& shape);

// An array of bounded size takes the room of its bounds: that shape. Others are given back.
Shape AtBounds(Shape shape);

// Array (and token) leaves in depth-first order; the flattening rule of parameters, results and
// goldens.
void FlattenLeaves(const Shape& shape, std::vector<Shape>& leaves);
int64_t LeafCount(const Shape& shape);

// "f32[2,3]" or "(f32[2], s32[])"; `with_layout` adds "{1,0}" where a layout is present.
std::string ToString(const Shape& shape, bool with_layout = false);

// Row-major strides in elements.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims);

}  // namespace fusemark
