// A cursor over HLO text: skips white space and comments, takes words, numbers, strings and whole
// attribute values as views into the text. It allocates nothing and knows no grammar; the parser
// makes a second cursor over an attribute value when it reads the value later.
//
// INVARIANT: every view it hands out points into the text, so a place can be computed from it.
#pragma once

#include <cstdint>
#include <string_view>

namespace fusemark {

// Letters, digits, '_', '.', '-': what an HLO name or opcode is made of.
bool IsNameChar(char c);
bool IsNameStart(char c);

class Lexer {
 public:
  Lexer() = default;
  explicit Lexer(std::string_view text) : pos_(text.data()), end_(text.data() + text.size()) {}

  const char* pos() const { return pos_; }
  void Rewind(const char* pos) { pos_ = pos; }

  // White space, /* */ and // comments. False (and standing on it) if a /* is never closed.
  bool Skip();
  // The next character after white space and comments, 0 at the end.
  char Peek() {
    Skip();
    return pos_ < end_ ? *pos_ : '\0';
  }
  // The character directly here, 0 at the end.
  char Here() const { return pos_ < end_ ? *pos_ : '\0'; }
  char After(int distance) const { return end_ - pos_ > distance ? pos_[distance] : '\0'; }
  bool AtEnd() { return Peek() == '\0' && pos_ >= end_; }

  bool Take(char c) {
    if (Peek() != c) return false;
    ++pos_;
    return true;
  }
  bool Take(std::string_view symbol);
  // [A-Za-z_][A-Za-z0-9_.-]*, empty if there is none. A '-' before '>' ends the word.
  std::string_view PeekWord();
  std::string_view TakeWord();
  bool TakeWord(std::string_view word);
  // A word with an optional '%' in front, which is left out. Empty if there is none.
  std::string_view TakeName();

  enum class IntStatus : uint8_t { kOk, kMissing, kTooLarge };
  IntStatus TakeInt(int64_t& value);
  // A number token as text: sign, digits, '.', exponent. Empty if there is none.
  std::string_view TakeNumber();
  // "..." or '...' with its quotes; empty if there is none or it is not closed.
  std::string_view TakeString();
  // The text of an attribute value: up to a comma, white space or a closing bracket outside all
  // brackets and quotes. False if a bracket or quote is never closed.
  bool TakeValue(std::string_view& value);
  // From the bracket here to its partner, both included. False if it is never closed.
  bool TakeBalanced(std::string_view& text);

 private:
  // Standing on a quote: moves behind the closing one. False if there is none.
  bool SkipQuoted();
  // The same on one line; an apostrophe inside a word is text, not a quote.
  bool SkipSingleQuoted();
  bool SkipBalanced();

  const char* pos_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace fusemark
