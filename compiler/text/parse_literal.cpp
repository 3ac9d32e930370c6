#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/number.h"
#include "compiler/text/float_format.h"
#include "compiler/text/parser.h"

namespace fusemark {
namespace {

void AppendBits(std::vector<std::byte>& bytes, uint64_t bits, int64_t size) {
  const size_t at = bytes.size();
  bytes.resize(at + static_cast<size_t>(size));
  std::memcpy(bytes.data() + at, &bits, static_cast<size_t>(size));  // little endian
}

}  // namespace

bool ParseDouble(std::string_view token, double& value) {
  const auto [last, code] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (code == std::errc()) return last == token.data() + token.size();
  if (code != std::errc::result_out_of_range) return false;
  value = std::strtod(std::string(token).c_str(), nullptr);
  return std::isfinite(value);
}

// Behind `constant(`, up to and with the closing parenthesis.
bool Parser::ConstantBody(Instr& instr) {
  ConstantAttrs attrs;
  if (!ParseLiteral(instr.shape, attrs.literal, attrs.elided)) return false;
  if (attrs.elided) attrs.literal = Literal();
  instr.attrs = std::move(attrs);
  return Need(')', "to end the constant");
}

bool Parser::ParseLiteral(const Shape& shape, Literal& literal, bool& elided) {
  literal.shape = shape;
  literal.shape.layout.reset();
  if (!shape.is_tuple) return DenseLiteral(shape, literal, elided);
  if (!Need('(', "to begin the tuple literal")) return false;
  for (size_t i = 0; i < shape.elements.size(); ++i) {
    lex_.Take(',');
    literal.elements.emplace_back();
    if (!ParseLiteral(shape.elements[i], literal.elements.back(), elided)) return false;
  }
  lex_.Take(',');
  return Need(')', fmt::format("after {} tuple elements", shape.elements.size()));
}

bool Parser::DenseLiteral(const Shape& shape, Literal& literal, bool& elided) {
  if (!shape.is_array()) {
    return Fail(lex_.pos(), fmt::format("a constant cannot have type {}", ToString(shape)));
  }
  const char* start = lex_.pos();
  if (lex_.Take('{')) {
    if (lex_.Take("...")) {
      elided = true;
      return Need('}', "to end the elided constant");
    }
    lex_.Rewind(start);
  }
  const auto total = CheckedByteSize(shape);
  if (!total || shape.dynamic_dims != 0) {
    return Fail(start, fmt::format("a constant of type {} has no fixed size", ToString(shape)));
  }
  std::vector<std::byte> bytes;
  // What the text can hold at most (one element per two characters) bounds the reservation.
  const auto left = static_cast<int64_t>(text_.data() + text_.size() - start);
  bytes.reserve(static_cast<size_t>(std::min(*total, (left / 2 + 1) * ByteSize(shape.dtype))));
  const size_t rank = shape.dims.size();
  if (rank > 0 && lex_.Peek() != '{') {
    if (!LoneElement(shape, *total, bytes)) return false;
    literal.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return true;
  }
  std::vector<int64_t> counts(rank + 1, 0);  // counts[d]: elements seen in the open list of level d
  size_t depth = 0;
  do {
    lex_.Take(',');
    if (depth > 0 && lex_.Take('}')) {
      if (counts[depth] != shape.dims[depth - 1]) {
        return Fail(lex_.pos() - 1,
                    fmt::format("found {} elements in dimension {} of {}, expected {}",
                                counts[depth], depth - 1, ToString(shape), shape.dims[depth - 1]));
      }
      --depth;
      ++counts[depth];
      continue;
    }
    if (depth > 0 && counts[depth] == shape.dims[depth - 1]) {
      return Expected(fmt::format("'}}' after {} elements in dimension {} of {}", counts[depth],
                                  depth - 1, ToString(shape)));
    }
    if (depth < rank) {
      if (!Need('{', fmt::format("to open dimension {} of {}", depth, ToString(shape))))
        return false;
      counts[++depth] = 0;
    } else {
      if (!Element(shape.dtype, bytes)) return false;
      ++counts[depth];
    }
  } while (depth > 0);
  literal.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return true;
}

// `s8[10] constant(1)`: as in XLA the number is the first element and the others are zero.
bool Parser::LoneElement(const Shape& shape, int64_t total, std::vector<std::byte>& bytes) {
  constexpr int64_t kLargest = int64_t{1} << 26;  // the text says nothing about the other bytes
  if (total == 0 || total > kLargest) {
    return Expected(fmt::format("'{{' to open dimension 0 of {}", ToString(shape)));
  }
  if (!Element(shape.dtype, bytes)) return false;
  bytes.resize(static_cast<size_t>(total));
  return true;
}

bool Parser::Element(DType dtype, std::vector<std::byte>& bytes) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred: return PredElement(bytes);
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: return IntegerElement(dtype, bytes);
    case DTypeClass::Float: return FloatElement(dtype, bytes);
    case DTypeClass::Complex: return ComplexElement(dtype, bytes);
    case DTypeClass::Opaque: break;
  }
  return Fail(lex_.pos(), "the type has no values");
}

bool Parser::PredElement(std::vector<std::byte>& bytes) {
  const char* place = (lex_.Skip(), lex_.pos());
  const std::string_view word = lex_.TakeWord();
  if (word == "true" || word == "false") {
    bytes.push_back(word == "true" ? std::byte{1} : std::byte{0});
    return true;
  }
  lex_.Rewind(place);
  const std::string_view number = lex_.TakeNumber();
  if (number == "0" || number == "1") {
    bytes.push_back(number == "1" ? std::byte{1} : std::byte{0});
    return true;
  }
  lex_.Rewind(place);
  return Expected("true, false, 0 or 1 for an element of type pred");
}

bool Parser::IntegerElement(DType dtype, std::vector<std::byte>& bytes) {
  lex_.Skip();
  const char* place = lex_.pos();
  const std::string_view token = lex_.TakeNumber();
  const auto fail = [&](std::string_view message) {
    return Fail(place, fmt::format("found {}, {} {}", token, message, DTypeName(dtype)));
  };
  if (token.empty()) return Expected(fmt::format("an integer of type {}", DTypeName(dtype)));
  const int width = BitWidth(dtype);
  const char* last = token.data() + token.size();
  uint64_t bits = 0;
  std::from_chars_result result{};
  bool in_range = true;
  if (IsSigned(dtype)) {
    int64_t value = 0;
    result = std::from_chars(token.data(), last, value);
    const int64_t high = width == 64 ? INT64_MAX : (int64_t{1} << (width - 1)) - 1;
    in_range = value >= -high - 1 && value <= high;
    bits = static_cast<uint64_t>(value);
  } else if (token.front() == '-') {
    in_range = token == "-0";
    result.ptr = last;
  } else {
    result = std::from_chars(token.data(), last, bits);
    in_range = width == 64 || bits >> width == 0;
  }
  if (result.ec == std::errc::result_out_of_range || !in_range) {
    return fail("which is out of the range of");
  }
  if (result.ptr != last) return fail("expected an integer of type");
  AppendBits(bytes, bits, ByteSize(dtype));
  return true;
}

bool Parser::FloatElement(DType dtype, std::vector<std::byte>& bytes) {
  lex_.Skip();
  const char* place = lex_.pos();
  const bool negative = lex_.Here() == '-';
  if (negative) lex_.Rewind(place + 1);
  uint64_t bits = 0;
  if (IsNameStart(lex_.Here())) {
    const std::string_view word = lex_.TakeWord();
    if (word == "nan") {
      if (!NanElement(dtype, negative, place, bits)) return false;
    } else if (word == "inf") {
      const double infinity = std::numeric_limits<double>::infinity();
      bits = FloatToBits(dtype, negative ? -infinity : infinity);
      if (!std::isinf(FloatFromBits(dtype, bits))) {
        return Fail(place, fmt::format("found inf, but {} has no infinity", DTypeName(dtype)));
      }
    } else {
      lex_.Rewind(place);
      return Expected(fmt::format("a number of type {}", DTypeName(dtype)));
    }
  } else {
    lex_.Rewind(place);
    const std::string_view token = lex_.TakeNumber();
    if (token.empty()) return Expected(fmt::format("a number of type {}", DTypeName(dtype)));
    if (!FiniteElement(dtype, token, bits)) return false;
  }
  AppendBits(bytes, bits, ByteSize(dtype));
  return true;
}

bool Parser::FiniteElement(DType dtype, std::string_view token, uint64_t& bits) {
  double value = 0;
  if (!ParseDouble(token, value)) {
    return Fail(token.data(), fmt::format("found {}, expected a number in the range of {}", token,
                                          DTypeName(dtype)));
  }
  bits = FloatToBits(dtype, value);
  const bool fits = std::isfinite(FloatFromBits(dtype, bits)) && !(OverflowsSilently(dtype, value));
  if (fits) return true;
  return Fail(token.data(),
              fmt::format("found {}, which is out of the range of {}", token, DTypeName(dtype)));
}

// Behind the word nan: an optional payload in hexadecimal, the low bits of the mantissa.
bool Parser::NanElement(DType dtype, bool negative, const char* place, uint64_t& bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  bits = FloatToBits(dtype, negative ? -nan : nan);
  if (!std::isnan(FloatFromBits(dtype, bits))) {
    return Fail(place, fmt::format("found nan, but {} has no NaN", DTypeName(dtype)));
  }
  if (!lex_.Take('(')) return true;
  lex_.Skip();
  const char* from = lex_.pos();
  if (!lex_.Take("0x")) return Expected("a NaN payload such as 0x400000");
  const char* first = lex_.pos();
  while (IsNameChar(lex_.Here())) lex_.Rewind(lex_.pos() + 1);
  uint64_t payload = 0;
  const auto [last, code] = std::from_chars(first, lex_.pos(), payload, 16);
  if (code != std::errc() || last != lex_.pos()) {
    return Fail(from, "found a malformed NaN payload, expected up to 16 hexadecimal digits");
  }
  if (!MakeNan(dtype, negative, payload, bits)) {
    return Fail(from, fmt::format("{} has no NaN with payload {:#x}", DTypeName(dtype), payload));
  }
  return Need(')', "after the NaN payload");
}

bool Parser::ComplexElement(DType dtype, std::vector<std::byte>& bytes) {
  const DType part = ComponentOf(dtype);
  if (!lex_.Take('(')) {  // a real number
    if (!FloatElement(part, bytes)) return false;
    AppendBits(bytes, 0, ByteSize(part));
    return true;
  }
  if (!FloatElement(part, bytes) || !Need(',', "between real and imaginary part")) return false;
  return FloatElement(part, bytes) && Need(')', "after the imaginary part");
}

}  // namespace fusemark
