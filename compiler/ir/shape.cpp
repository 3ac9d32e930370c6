#include "compiler/ir/shape.h"

#include <algorithm>

namespace fusemark {

Shape ArrayShape(DType dtype, std::vector<int64_t> dims) {
  Shape shape;
  shape.dtype = dtype;
  shape.dims = std::move(dims);
  return shape;
}

Shape TupleShape(std::vector<Shape> elements) {
  Shape shape;
  shape.is_tuple = true;
  shape.elements = std::move(elements);
  return shape;
}

bool SameDims(const Shape& a, const Shape& b) {
  return a.is_tuple == b.is_tuple && a.dims == b.dims && a.dynamic_dims == b.dynamic_dims;
}

bool SameType(const Shape& a, const Shape& b) {
  if (a.is_tuple != b.is_tuple) return false;
  if (!a.is_tuple) return a.dtype == b.dtype && SameDims(a, b);
  if (a.elements.size() != b.elements.size()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!SameType(a.elements[i], b.elements[i])) return false;
  }
  return true;
}

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape.dims) count *= dim;
  return count;
}

int64_t ByteSizeOf(const Shape& shape) {
  return CheckedByteSize(shape).value_or(INT64_MAX);
}

std::optional<int64_t> CheckedByteSize(const Shape& shape) {
  int64_t total = 0;
  if (shape.is_tuple) {
    for (const Shape& element : shape.elements) {
      const auto bytes = CheckedByteSize(element);
      if (!bytes || __builtin_add_overflow(total, *bytes, &total)) return std::nullopt;
    }
    return total;
  }
  // A zero dim makes the array empty, but the other dims must still multiply without overflow (as
  // XLA demands).
  int64_t non_zero = ByteSize(shape.dtype);
  bool empty = false;
  for (int64_t dim : shape.dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(non_zero, dim, &non_zero)) return std::nullopt;
  }
  return empty ? 0 : non_zero;
}

Shape AtBounds(Shape shape) {
  const bool bounded =
      std::all_of(shape.dims.begin(), shape.dims.end(), [](int64_t dim) { return dim >= 0; });
  if (bounded) shape.dynamic_dims = 0;
  return shape;
}

void FlattenLeaves(const Shape& shape, std::vector<Shape>& leaves) {
  if (!shape.is_tuple) {
    leaves.push_back(shape);
    return;
  }
  for (const Shape& element : shape.elements) FlattenLeaves(element, leaves);
}

int64_t LeafCount(const Shape& shape) {
  if (!shape.is_tuple) return 1;
  int64_t count = 0;
  for (const Shape& element : shape.elements) count += LeafCount(element);
  return count;
}

std::string ToString(const Shape& shape, bool with_layout) {
  std::string text;
  if (shape.is_tuple) {
    text = "(";
    for (size_t i = 0; i < shape.elements.size(); ++i) {
      if (i != 0) text += ", ";
      text += ToString(shape.elements[i], with_layout);
    }
    return text + ")";
  }
  text = DTypeName(shape.dtype);
  text += '[';
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (i != 0) text += ',';
    const bool dynamic = i < 32 && ((shape.dynamic_dims >> i) & 1) != 0;
    if (dynamic && shape.dims[i] < 0) {
      text += '?';
    } else {
      if (dynamic) text += "<=";
      text += std::to_string(shape.dims[i]);
    }
  }
  text += ']';
  if (with_layout && shape.layout && (!shape.dims.empty() || !shape.layout->suffix.empty())) {
    text += '{';
    for (size_t i = 0; i < shape.layout->minor_to_major.size(); ++i) {
      if (i != 0) text += ',';
      text += std::to_string(shape.layout->minor_to_major[i]);
    }
    if (!shape.layout->suffix.empty()) text += ":" + shape.layout->suffix;
    text += '}';
  }
  return text;
}

std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace fusemark
