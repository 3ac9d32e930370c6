#include "tests/fuzz/text_mutation.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "compiler/ir/verify.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

constexpr std::string_view kWords[] = {
    "f32",         "s4",        "pred",       "c128",        "token",    "f8e4m3fn",
    "-1",          "0",         "1",          "4294967296",  "ROOT",     "99999999999999999999",
    "ENTRY",       "HloModule", "parameter",  "constant",    "tuple",    "9223372036854775807",
    "reduce",      "while",     "condition",  "body",        "to_apply", "-9223372036854775808",
    "nan",         "-inf",      "dimensions", "window",      "size",     "dim_labels",
    "{}",          "()",        "[]",         "((",          "{{",       "->",
    "dynamic",     "<=",        "/*",         "*/",          "\"",       "b01f_01io->b01f",
    "convolution", "gather",    "sharding",   "conditional", "calls",    "branch_computations",
};
constexpr std::string_view kBytes = "{}()[]<>=,:%\"'/*#?.-_x0919aE \n\t\\";

// Words, and punctuation one by one.
std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == at) ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::string Joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

void DamagePieces(std::vector<std::string>& pieces, bool words, std::mt19937_64& random) {
  const size_t at = random() % pieces.size(), other = random() % pieces.size();
  switch (random() % (words ? 6 : 4)) {
    case 0: pieces.erase(pieces.begin() + static_cast<int64_t>(at)); break;
    case 1: pieces[at] = pieces[other]; break;
    case 2: std::swap(pieces[at], pieces[other]); break;
    case 3: {
      std::string copy = pieces[other];
      pieces.insert(pieces.begin() + static_cast<int64_t>(at), std::move(copy));
      break;
    }
    default: pieces[at] = kWords[random() % std::size(kWords)];
  }
}

}  // namespace

TextVerdict CheckText(std::string_view text) {
  const auto module = ParseModule(text, "damaged");
  if (!module.ok()) {
    if (module.error().message.empty()) return {false, "an error without a message"};
    if (module.error().code != Code::kInvalidInput && module.error().code != Code::kUnsupported)
      return {false, "an error of another kind: " + module.error().message};
    return {};
  }
  const auto verdict = VerifyModule(*module);
  if (!verdict.ok()) return {true, "parsed, but not valid: " + verdict.error().message};
  const std::string printed = PrintModule(*module);
  const auto again = ParseModule(printed, "printed");
  if (!again.ok()) return {true, "printed text is refused: " + again.error().message};
  if (!(*again == *module)) return {true, "printing changes the module:\n" + printed};
  return {true, ""};
}

std::string DamageBytes(std::string text, std::mt19937_64& random) {
  for (uint64_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    switch (random() % 6) {
      case 0: text.erase(at, 1 + random() % 4); break;
      case 1: text.insert(at, 1, kBytes[random() % kBytes.size()]); break;
      case 2: text[at] = kBytes[random() % kBytes.size()]; break;
      case 3: text[at] = static_cast<char>(random() % 256); break;
      case 4: text[at] = static_cast<char>(text[at] ^ (1 << random() % 8)); break;
      default:
        if (random() % 4 == 0) text.resize(at);
    }
  }
  return text;
}

std::string DamageTokens(std::string_view text, std::mt19937_64& random) {
  std::vector<std::string> tokens = Tokens(text);
  for (uint64_t edits = 1 + random() % 3; edits > 0 && !tokens.empty(); --edits)
    DamagePieces(tokens, true, random);
  return Joined(tokens);
}

std::string DamageLines(std::string_view text, std::mt19937_64& random) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.emplace_back(text.substr(at, end - at));
    at = end;
  }
  if (!lines.empty()) DamagePieces(lines, false, random);
  return Joined(lines);
}

}  // namespace fusemark
