#include "compiler/text/print_literal.h"

#include <cstring>

#include "compiler/text/float_format.h"

namespace fusemark {
namespace {

uint64_t LoadBits(const std::byte* from, int64_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(size));
  return bits;
}

void AppendElement(DType dtype, const std::byte* from, std::string& text) {
  const int64_t size = ByteSize(dtype);
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred: text += LoadBits(from, 1) != 0 ? "true" : "false"; return;
    case DTypeClass::Unsigned: text += std::to_string(LoadBits(from, size)); return;
    case DTypeClass::Signed: {
      const int unused = 64 - 8 * static_cast<int>(size);
      const auto bits = static_cast<int64_t>(LoadBits(from, size) << unused);
      text += std::to_string(bits >> unused);
      return;
    }
    case DTypeClass::Float: AppendFloat(dtype, LoadBits(from, size), text); return;
    case DTypeClass::Complex: {
      const DType part = ComponentOf(dtype);
      text += '(';
      AppendFloat(part, LoadBits(from, size / 2), text);
      text += ", ";
      AppendFloat(part, LoadBits(from + size / 2, size / 2), text);
      text += ')';
      return;
    }
    case DTypeClass::Opaque: return;
  }
}

void AppendDense(const Literal& literal, size_t dim, const std::byte*& at, std::string& text) {
  const Shape& shape = literal.shape;
  if (dim == shape.dims.size()) {
    AppendElement(shape.dtype, at, text);
    at += ByteSize(shape.dtype);
    return;
  }
  text += '{';
  for (int64_t i = 0; i < shape.dims[dim]; ++i) {
    if (i != 0) text += ", ";
    AppendDense(literal, dim + 1, at, text);
  }
  text += '}';
}

}  // namespace

void AppendLiteral(const Literal& literal, bool elide, std::string& text) {
  constexpr int64_t kElideAbove = 10;
  if (literal.shape.is_tuple) {
    text += '(';
    for (size_t i = 0; i < literal.elements.size(); ++i) {
      if (i != 0) text += ", ";
      AppendLiteral(literal.elements[i], elide, text);
    }
    text += ')';
  } else if (elide && ElementCount(literal.shape) > kElideAbove) {
    text += "{...}";
  } else {
    const std::byte* at = literal.bytes().data();
    AppendDense(literal, 0, at, text);
  }
}

}  // namespace fusemark
