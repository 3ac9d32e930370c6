#include "compiler/text/lexer.h"

#include <array>
#include <charconv>
#include <cstring>

namespace fusemark {
namespace {

enum CharClass : uint8_t {
  kSpace = 1,
  kNameStart = 2,
  kNameRest = 4,
  kDigit = 8,
  kMark = 16,  // means something inside brackets: brackets, quotes, '/'
};

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (char c : std::string_view(" \t\r\n\f\v")) classes[static_cast<uint8_t>(c)] |= kSpace;
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] |= kNameStart | kNameRest;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] |= kNameStart | kNameRest;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] |= kDigit | kNameRest;
  classes['_'] |= kNameStart | kNameRest;
  for (char c : std::string_view(".-")) classes[static_cast<uint8_t>(c)] |= kNameRest;
  for (char c : std::string_view("{}()[]\"'/")) classes[static_cast<uint8_t>(c)] |= kMark;
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool Is(char c, uint8_t klass) {
  return (kClasses[static_cast<uint8_t>(c)] & klass) != 0;
}

bool IsOpen(char c) {
  return c == '{' || c == '(' || c == '[';
}
bool IsClose(char c) {
  return c == '}' || c == ')' || c == ']';
}

}  // namespace

bool IsNameChar(char c) {
  return Is(c, kNameRest);
}
bool IsNameStart(char c) {
  return Is(c, kNameStart);
}

bool Lexer::Skip() {
  while (pos_ < end_) {
    if (Is(*pos_, kSpace)) {
      ++pos_;
    } else if (*pos_ != '/') {
      return true;
    } else if (After(1) == '/') {
      const void* newline = std::memchr(pos_, '\n', static_cast<size_t>(end_ - pos_));
      pos_ = newline != nullptr ? static_cast<const char*>(newline) : end_;
    } else if (After(1) == '*') {
      const std::string_view rest(pos_ + 2, static_cast<size_t>(end_ - pos_ - 2));
      const size_t close = rest.find("*/");
      if (close == std::string_view::npos) return false;
      pos_ = rest.data() + close + 2;
    } else {
      return true;
    }
  }
  return true;
}

bool Lexer::Take(std::string_view symbol) {
  Skip();
  if (static_cast<size_t>(end_ - pos_) < symbol.size()) return false;
  if (std::memcmp(pos_, symbol.data(), symbol.size()) != 0) return false;
  pos_ += symbol.size();
  return true;
}

std::string_view Lexer::PeekWord() {
  Skip();
  if (pos_ >= end_ || !Is(*pos_, kNameStart)) return {};
  const char* last = pos_ + 1;
  while (last < end_ && Is(*last, kNameRest)) {
    if (*last == '-' && last + 1 < end_ && last[1] == '>') break;
    ++last;
  }
  return {pos_, static_cast<size_t>(last - pos_)};
}

std::string_view Lexer::TakeWord() {
  const std::string_view word = PeekWord();
  pos_ += word.size();
  return word;
}

bool Lexer::TakeWord(std::string_view word) {
  if (PeekWord() != word) return false;
  pos_ += word.size();
  return true;
}

std::string_view Lexer::TakeName() {
  Skip();
  const char* start = pos_;
  if (Here() == '%') {
    ++pos_;
    if (!Is(Here(), kNameRest)) {  // white space after '%'
      pos_ = start;
      return {};
    }
    // Behind '%' a name may start with a digit, as canonical names (%0, %1, ...) do.
    const char* last = pos_;
    while (last < end_ && Is(*last, kNameRest)) {
      if (*last == '-' && last + 1 < end_ && last[1] == '>') break;
      ++last;
    }
    const std::string_view name(pos_, static_cast<size_t>(last - pos_));
    pos_ = last;
    return name;
  }
  return TakeWord();
}

Lexer::IntStatus Lexer::TakeInt(int64_t& value) {
  Skip();
  const auto [last, code] = std::from_chars(pos_, end_, value);
  if (code == std::errc::invalid_argument) return IntStatus::kMissing;
  if (code == std::errc::result_out_of_range) return IntStatus::kTooLarge;
  pos_ = last;
  return IntStatus::kOk;
}

std::string_view Lexer::TakeNumber() {
  Skip();
  const char* start = pos_;
  const char* at = pos_;
  if (at < end_ && *at == '-') ++at;
  bool digits = false;
  while (at < end_ && (Is(*at, kDigit) || *at == '.')) digits |= Is(*at++, kDigit);
  if (!digits) return {};
  if (at < end_ && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent < end_ && (*exponent == '-' || *exponent == '+')) ++exponent;
    if (exponent < end_ && Is(*exponent, kDigit)) {
      while (exponent < end_ && Is(*exponent, kDigit)) ++exponent;
      at = exponent;
    }
  }
  pos_ = at;
  return {start, static_cast<size_t>(at - start)};
}

std::string_view Lexer::TakeString() {
  const char c = Peek();
  if (c != '"' && c != '\'') return {};
  const char* start = pos_;
  if (!SkipQuoted()) {
    pos_ = start;
    return {};
  }
  return {start, static_cast<size_t>(pos_ - start)};
}

bool Lexer::SkipQuoted() {
  const char quote = *pos_;
  for (const char* at = pos_ + 1; at < end_; ++at) {
    if (*at == quote) {
      pos_ = at + 1;
      return true;
    }
    if (*at == '\\') ++at;
  }
  return false;
}

// An apostrophe inside a word is one. Others come in pairs on a line: a lone one would find a
// partner once its line is printed together with others.
bool Lexer::SkipSingleQuoted() {
  if (IsNameChar(pos_[-1]) || pos_[-1] == '\\') {
    ++pos_;
    return true;
  }
  for (const char* at = pos_ + 1; at < end_ && *at != '\n'; ++at) {
    if (*at == '\'') {
      pos_ = at + 1;
      return true;
    }
    if (*at == '\\') ++at;
  }
  return false;
}

// Counts brackets instead of recursing, so any depth is fine. Kinds need not match here; whoever
// reads the text inside will complain.
bool Lexer::SkipBalanced() {
  int64_t depth = 0;
  while (pos_ < end_) {
    const char c = *pos_;
    if (!Is(c, kMark)) {
      ++pos_;
    } else if (c == '"') {
      if (!SkipQuoted()) return false;
    } else if (c == '\'') {
      if (!SkipSingleQuoted()) return false;
    } else if (c == '/') {
      if (After(1) == '*') {
        const char* start = pos_;
        if (!Skip() || pos_ == start) return false;
      } else if (After(1) == '/' && (Is(pos_[-1], kSpace) || IsOpen(pos_[-1]))) {
        Skip();  // but not the "//" of a URL
      } else {
        ++pos_;
      }
    } else {
      depth += IsOpen(c) ? 1 : -1;
      ++pos_;
      if (depth == 0) return true;
    }
  }
  return false;
}

bool Lexer::TakeBalanced(std::string_view& text) {
  Skip();
  const char* start = pos_;
  if (!SkipBalanced()) {
    pos_ = start;
    return false;
  }
  text = {start, static_cast<size_t>(pos_ - start)};
  return true;
}

bool Lexer::TakeValue(std::string_view& value) {
  Skip();
  const char* start = pos_;
  while (pos_ < end_) {
    const char c = *pos_;
    const bool closed = IsOpen(c)   ? SkipBalanced()
                        : c == '"'  ? SkipQuoted()
                        : c == '\'' ? SkipSingleQuoted()
                                    : true;
    if (!closed) {
      pos_ = start;
      return false;
    }
    if (IsOpen(c) || c == '"' || c == '\'') continue;
    if (c == ',' || IsClose(c)) break;
    const bool comment = c == '/' && (After(1) == '/' || After(1) == '*');
    if (comment || Is(c, kSpace)) {
      // `replica_groups=mesh['x'=4] {'x'}` is the one value with white space in it.
      const bool mesh = end_ - start > 4 && std::string_view(start, 4) == "mesh";
      const char* value_end = pos_;
      if (mesh && Peek() == '{') continue;
      pos_ = value_end;
      break;
    }
    ++pos_;
  }
  value = {start, static_cast<size_t>(pos_ - start)};
  return true;
}

}  // namespace fusemark
