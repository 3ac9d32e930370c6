#include <fmt/format.h>

#include "compiler/text/parser.h"

namespace fusemark {

bool Parser::ParseShape(Shape& shape) {
  if (!lex_.Take('(')) return ArrayShapeText(shape);
  if (++depth_ > kMaxDepth) {
    return Fail(lex_.pos(), fmt::format("tuple shapes nest deeper than {}", kMaxDepth));
  }
  shape = Shape();
  shape.is_tuple = true;
  if (!lex_.Take(')')) {
    do {
      shape.elements.emplace_back();
      if (!ParseShape(shape.elements.back())) return false;
    } while (lex_.Take(','));
    if (!Need(')', "to end the tuple shape")) return false;
  }
  --depth_;
  return true;
}

bool Parser::ArrayShapeText(Shape& shape) {
  const std::string_view word = lex_.PeekWord();
  const auto dtype = DTypeFromName(word);
  if (!dtype) {
    if (word == "b" && lex_.After(1) == '(') {
      return Fail(lex_.pos(), "found a buffer type b(...), expected an array or tuple shape");
    }
    return Expected("a shape such as f32[2,3]");
  }
  lex_.TakeWord();
  shape = Shape();
  shape.dtype = *dtype;
  if (!Need('[', "after the element type")) return false;
  if (!lex_.Take(']')) {
    do {
      if (!Dimension(shape)) return false;
    } while (lex_.Take(','));
    if (!Need(']', "to end the dimensions")) return false;
  }
  return LayoutText(shape);
}

bool Parser::Dimension(Shape& shape) {
  if (shape.dims.size() == kMaxRank) {
    return Fail(lex_.pos(), fmt::format("a shape has more than {} dimensions", kMaxRank));
  }
  const uint32_t bit = 1U << shape.dims.size();
  if (lex_.Take('?')) {
    shape.dims.push_back(-1);
    shape.dynamic_dims |= bit;
    return true;
  }
  if (lex_.Take("<=")) shape.dynamic_dims |= bit;
  int64_t size = 0;
  if (lex_.Peek() == '-') return Expected("a dimension size of 0 or more");
  switch (lex_.TakeInt(size)) {
    case Lexer::IntStatus::kOk: break;
    case Lexer::IntStatus::kMissing: return Expected("a dimension size");
    case Lexer::IntStatus::kTooLarge:
      return Fail(lex_.pos(), "the dimension size does not fit in 64 bits");
  }
  shape.dims.push_back(size);
  return true;
}

// After a signature's "->" a '{' may also open the body; a layout continues with a number or ':'.
// "{}" counts as a layout only when it touches the shape.
bool Parser::LayoutText(Shape& shape) {
  const bool touches = lex_.Here() == '{';
  if (lex_.Peek() != '{') return true;
  const char* start = lex_.pos();
  lex_.Take('{');
  const char next = lex_.Peek();
  const bool is_layout = (next >= '0' && next <= '9') || next == ':' || (touches && next == '}');
  if (!is_layout) {
    lex_.Rewind(start);
    return true;
  }
  Layout layout;
  while (lex_.Peek() != ':' && lex_.Peek() != '}') {
    int64_t dim = 0;
    if (lex_.TakeInt(dim) != Lexer::IntStatus::kOk) return Expected("a dimension number");
    layout.minor_to_major.push_back(dim);
    if (!lex_.Take(',')) break;
  }
  if (lex_.Take(':')) {
    lex_.Peek();
    const char* from = lex_.pos();
    int64_t open = 0;
    while (lex_.Here() != '\0' && (open > 0 || lex_.Here() != '}')) {
      if (lex_.Here() == '(') ++open;
      if (lex_.Here() == ')') --open;
      lex_.Rewind(lex_.pos() + 1);
    }
    layout.suffix.assign(from, lex_.pos());
  }
  if (!Need('}', "to end the layout")) return false;
  if (!layout.suffix.empty() || !layout.minor_to_major.empty()) shape.layout = std::move(layout);
  return true;
}

}  // namespace fusemark
