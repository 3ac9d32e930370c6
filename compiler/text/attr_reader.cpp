#include "compiler/text/attr_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fusemark {
namespace {

// "3x-1x5" or "1_2x3_4": numbers joined by '_' inside an item and 'x' between items.
bool SplitItems(std::string_view text, std::vector<std::vector<int64_t>>& items) {
  items.emplace_back();
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int64_t value = 0;
    const auto [last, code] = std::from_chars(at, end, value);
    if (code != std::errc()) return false;
    items.back().push_back(value);
    if (last == end) return true;
    if (*last == 'x') items.emplace_back();
    if (*last != 'x' && *last != '_') return false;
    at = last + 1;
  }
}

// A word, or one text in quotes. More would not be the same in the quotes in which it is printed.
bool IsOneText(std::string_view value) {
  if (value.front() != '"') return value.find_first_of("\"\\") == std::string_view::npos;
  for (size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '"') return i + 1 == value.size();
    if (value[i] == '\\') ++i;
  }
  return false;
}

}  // namespace

bool AttrReader::Fail(std::string message) {
  return parser_.Fail(place_, std::move(message));
}

bool AttrReader::Has(std::string_view name) const {
  return std::any_of(attrs_.begin(), attrs_.end(),
                     [&](const RawAttr& attr) { return attr.name == name; });
}

bool AttrReader::Open(std::string_view name, Need need, bool& ok) {
  ok = true;
  for (RawAttr& attr : attrs_) {
    if (attr.name != name) continue;
    attr.used = true;
    parser_.lex_ = Lexer(attr.value);
    return true;
  }
  if (need == Need::kRequired) {
    ok = Fail(fmt::format("{} needs the attribute {}=", OpName(instr_.op), name));
  }
  return false;
}

bool AttrReader::Close(std::string_view name) {
  return parser_.lex_.AtEnd() || parser_.Expected(fmt::format("the end of the value of {}", name));
}

bool AttrReader::Dims(std::string_view name, fusemark::Dims& dims, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  Lexer& lex = parser_.lex_;
  if (!lex.Take('{')) return parser_.Expected(fmt::format("a list such as {}={{0,1}}", name));
  while (!lex.Take('}')) {
    int64_t value = 0;
    if (lex.TakeInt(value) != Lexer::IntStatus::kOk) {
      return parser_.Expected(fmt::format("an integer of at most 64 bits in {}", name));
    }
    dims.push_back(value);
    if (!lex.Take(',') && lex.Peek() != '}') {
      return parser_.Expected(fmt::format("',' or '}}' in {}", name));
    }
  }
  return Close(name);
}

bool AttrReader::OneDim(std::string_view name, int64_t& dim, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  const bool braced = parser_.lex_.Take('{');
  if (parser_.lex_.TakeInt(dim) != Lexer::IntStatus::kOk || (braced && !parser_.lex_.Take('}'))) {
    return parser_.Expected(fmt::format("exactly one dimension in {}", name));
  }
  return Close(name);
}

bool AttrReader::Int(std::string_view name, int64_t& value, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  if (parser_.lex_.TakeInt(value) != Lexer::IntStatus::kOk) {
    return parser_.Expected(fmt::format("an integer of at most 64 bits for {}", name));
  }
  return Close(name);
}

bool AttrReader::Bool(std::string_view name, bool& value) {
  size_t index = value ? 0 : 1;
  if (!OneOf(name, {"true", "false"}, index, Need::kOptional)) return false;
  value = index == 0;
  return true;
}

bool AttrReader::Double(std::string_view name, double& value, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  if (!ParseDouble(parser_.lex_.TakeNumber(), value)) {
    return parser_.Expected(fmt::format("a number for {}", name));
  }
  return Close(name);
}

bool AttrReader::Text(std::string_view name, std::string& value, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  for (const RawAttr& attr : attrs_) {
    if (attr.name != name) continue;
    if (!IsOneText(attr.value)) {
      return parser_.Fail(attr.value.data(), fmt::format("found {} for {}, expected a word or one "
                                                         "text in quotes",
                                                         attr.value, name));
    }
    const bool quoted = attr.value.front() == '"';
    value = quoted ? attr.value.substr(1, attr.value.size() - 2) : attr.value;
  }
  return true;
}

bool AttrReader::OneOf(std::string_view name, const std::vector<std::string_view>& words,
                       size_t& index, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  const std::string_view word = parser_.lex_.PeekWord();
  const auto found = std::find(words.begin(), words.end(), word);
  if (word.empty() || found == words.end()) {
    return parser_.Expected(fmt::format("{} for {}", fmt::join(words, ", "), name));
  }
  index = static_cast<size_t>(found - words.begin());
  parser_.lex_.TakeWord();
  return Close(name);
}

bool AttrReader::Called(std::string_view name, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  ComputationId id;
  if (!parser_.ComputationRef(name, id)) return false;
  instr_.called.push_back(id);
  return Close(name);
}

bool AttrReader::CalledList(std::string_view name, Need need) {
  bool ok = true;
  if (!Open(name, need, ok)) return ok;
  if (!parser_.lex_.Take('{')) {  // a single name without braces
    ComputationId id;
    if (!parser_.ComputationRef(name, id)) return false;
    instr_.called.push_back(id);
    return Close(name);
  }
  while (!parser_.lex_.Take('}')) {
    ComputationId id;
    if (!parser_.ComputationRef(name, id)) return false;
    instr_.called.push_back(id);
    if (!parser_.lex_.Take(',') && parser_.lex_.Peek() != '}') {
      return parser_.Expected(fmt::format("',' or '}}' in {}", name));
    }
  }
  return Close(name);
}

// {[start:limit], [start:limit:stride]}
bool AttrReader::Slices(std::string_view name, SliceAttrs& slice) {
  bool ok = true;
  if (!Open(name, Need::kRequired, ok)) return ok;
  Lexer& lex = parser_.lex_;
  const auto number = [&](int64_t& value) { return lex.TakeInt(value) == Lexer::IntStatus::kOk; };
  if (!lex.Take('{')) return parser_.Expected("a list such as slice={[0:4], [1:9:2]}");
  while (!lex.Take('}')) {
    int64_t start = 0;
    int64_t limit = 0;
    int64_t stride = 1;
    const bool bounds = lex.Take('[') && number(start) && lex.Take(':') && number(limit);
    if (!bounds || (lex.Take(':') && !number(stride)) || !lex.Take(']')) {
      return parser_.Expected("[start:limit] or [start:limit:stride]");
    }
    slice.start.push_back(start);
    slice.limit.push_back(limit);
    slice.stride.push_back(stride);
    lex.Take(',');
  }
  return Close(name);
}

// low_high[_interior] per dimension, joined by 'x'; nothing for rank 0.
bool AttrReader::Padding(std::string_view name, PadAttrs& pad) {
  bool ok = true;
  if (!Open(name, Need::kRequired, ok)) return ok;
  std::string_view text;
  parser_.lex_.TakeValue(text);
  std::vector<std::vector<int64_t>> items;
  bool valid = SplitItems(text, items);
  for (const auto& item : items) valid = valid && (item.size() == 2 || item.size() == 3);
  if (!valid) {
    return parser_.Fail(text.data(), fmt::format("found padding '{}', expected low_high or "
                                                 "low_high_interior per dimension joined by x",
                                                 text));
  }
  for (const auto& item : items) {
    pad.low.push_back(item[0]);
    pad.high.push_back(item[1]);
    pad.interior.push_back(item.size() == 3 ? item[2] : 0);
  }
  return true;
}

bool AttrReader::Window(std::string_view name, fusemark::Window& window, bool& present) {
  bool ok = true;
  present = Open(name, Need::kOptional, ok);
  if (!present) return true;
  Lexer& lex = parser_.lex_;
  if (!lex.Take('{')) return parser_.Expected("a window such as {size=3x3 pad=1_1x1_1}");
  while (!lex.Take('}')) {
    const std::string_view key = lex.TakeWord();
    std::string_view text;
    if (key.empty() || !lex.Take('=') || !lex.TakeValue(text)) {
      return parser_.Expected("a window field such as size=3x3");
    }
    if (!WindowField(key, text, window)) return false;
    lex.Take(',');
  }
  return Close(name);
}

bool AttrReader::WindowField(std::string_view key, std::string_view text,
                             fusemark::Window& window) {
  std::vector<std::vector<int64_t>> items;
  const size_t per_item = key == "pad" ? 2 : 1;
  bool valid = SplitItems(text, items);
  for (const auto& item : items) valid = valid && item.size() == per_item;
  if (!valid) {
    return parser_.Fail(text.data(), fmt::format("found {}={}, expected {} joined by x", key, text,
                                                 per_item == 2 ? "low_high pairs" : "integers"));
  }
  if (window.empty()) window.resize(items.size());
  if (window.size() != items.size()) {
    return parser_.Fail(key.data(), fmt::format("found {} dimensions in {}, but the window has {}",
                                                items.size(), key, window.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    WindowDim& dim = window[i];
    if (key == "size") {
      dim.size = items[i][0];
    } else if (key == "stride") {
      dim.stride = items[i][0];
    } else if (key == "pad") {
      dim.pad_low = items[i][0];
      dim.pad_high = items[i][1];
    } else if (key == "lhs_dilate") {
      dim.base_dilation = items[i][0];
    } else if (key == "rhs_dilate") {
      dim.window_dilation = items[i][0];
    } else if (key == "rhs_reversal") {
      dim.reversal = items[i][0] != 0;
    } else {
      return parser_.Fail(key.data(),
                          fmt::format("found the unknown window field {}, expected size, stride, "
                                      "pad, lhs_dilate, rhs_dilate or rhs_reversal",
                                      key));
    }
  }
  return true;
}

namespace {

// One operand of dim_labels: two letters and the digits of the spatial dims, each exactly once.
bool ReadLabels(std::string_view text, char first_letter, char second_letter, int64_t& first,
                int64_t& second, Dims& spatial) {
  first = second = -1;
  if (text.size() < 2 || text.size() > 32) return false;
  spatial.assign(text.size(), -1);
  size_t spatial_count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    int64_t* slot = nullptr;
    if (c == first_letter) slot = &first;
    if (c == second_letter) slot = &second;
    if (c >= '0' && c <= '9' && static_cast<size_t>(c - '0') < spatial.size()) {
      slot = &spatial[static_cast<size_t>(c - '0')];
      ++spatial_count;
    }
    if (c == '?') continue;
    if (slot == nullptr || *slot >= 0) return false;
    *slot = static_cast<int64_t>(i);
  }
  spatial.resize(spatial_count);
  return first >= 0 && second >= 0 &&
         std::all_of(spatial.begin(), spatial.end(), [](int64_t dim) { return dim >= 0; });
}

}  // namespace

bool AttrReader::DimLabels(std::string_view name, ConvAttrs& conv) {
  if (!Text(name, conv.dim_labels, Need::kRequired)) return false;
  const std::string_view text = conv.dim_labels;
  const size_t arrow = text.find("->");
  const size_t underscore = text.find('_');
  ConvDims& dims = conv.dims;
  if (underscore != std::string_view::npos && arrow != std::string_view::npos &&
      underscore < arrow) {
    const std::string_view lhs = text.substr(0, underscore);
    const std::string_view rhs = text.substr(underscore + 1, arrow - underscore - 1);
    const std::string_view out = text.substr(arrow + 2);
    if (ReadLabels(lhs, 'b', 'f', dims.lhs_batch, dims.lhs_feature, dims.lhs_spatial) &&
        ReadLabels(rhs, 'i', 'o', dims.rhs_input, dims.rhs_output, dims.rhs_spatial) &&
        ReadLabels(out, 'b', 'f', dims.out_batch, dims.out_feature, dims.out_spatial) &&
        dims.lhs_spatial.size() == dims.rhs_spatial.size() &&
        dims.lhs_spatial.size() == dims.out_spatial.size()) {
      return true;
    }
  }
  return parser_.Fail(
      parser_.lex_.pos(),
      fmt::format("found dim_labels '{}', expected labels such as b01f_01io->b01f", text));
}

}  // namespace fusemark
