#include "compiler/calls/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fusemark {
namespace {

struct Word {
  char type = 'T';
  std::string_view dims;
  int starts_as = -1;
};

std::vector<Word> WordsOf(std::string_view text) {
  std::vector<Word> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const size_t equal = std::min(word.find('='), word.size());
    words.push_back({word[0], word.substr(2, equal - 2), -1});
    if (equal < word.size()) words.back().starts_as = word[equal + 1] - '0';
  }
  return words;
}

DType TypeOf(char letter, DType element) {
  const DType real = IsComplex(element) ? ComponentOf(element) : element;
  switch (letter) {
    case 'R': return real;
    case 'C': return real == DType::kF32 ? DType::kC64 : DType::kC128;
    case 'I': return DType::kS32;
    default: return element;
  }
}

class Binder {
 public:
  Binder(DType element, size_t batch_rank, const Shape& first) : element_(element) {
    batch_.assign(first.dims.begin(), first.dims.begin() + static_cast<int64_t>(batch_rank));
    for (const int64_t size : batch_) bound_.batch *= size;
  }

  Result<void> Arrays(const char* role, const std::vector<Word>& words,
                      const std::vector<Shape>& shapes, std::vector<ArraySpec>& specs) {
    if (words.size() != shapes.size()) {
      return Invalid(fmt::format("has {} {}s instead of {}", shapes.size(), role, words.size()));
    }
    for (size_t i = 0; i < words.size(); ++i) {
      if (!Matches(words[i], shapes[i])) {
        return Invalid(fmt::format("{} {} is {}, expected {}", role, i, ToString(shapes[i]),
                                   Expected(words[i])));
      }
      ArraySpec spec{shapes[i].dtype, 1, 1, words[i].dims.size() == 2, words[i].starts_as};
      if (!words[i].dims.empty()) spec.rows = bound_[words[i].dims[0]];
      if (spec.matrix) spec.columns = bound_[words[i].dims[1]];
      specs.push_back(spec);
    }
    return Ok();
  }

  void Derive() {
    Bind('k', std::min(bound_['m'], bound_['n']));
    Bind('h', std::max<int64_t>(bound_['n'] - 1, 0));
  }

  BoundSignature& bound() { return bound_; }

 private:
  bool IsBound(char letter) const { return known_[static_cast<size_t>(letter - 'a')]; }
  void Bind(char letter, int64_t size) {
    const auto index = static_cast<size_t>(letter - 'a');
    if (known_[index]) return;
    known_[index] = true;
    bound_.size[index] = size;
  }

  bool Matches(const Word& word, const Shape& shape) {
    if (shape.is_tuple || shape.dynamic_dims != 0) return false;
    if (shape.dtype != TypeOf(word.type, element_)) return false;
    if (shape.dims.size() != batch_.size() + word.dims.size()) return false;
    if (!std::equal(batch_.begin(), batch_.end(), shape.dims.begin())) return false;
    for (size_t i = 0; i < word.dims.size(); ++i) {
      const int64_t size = shape.dims[batch_.size() + i];
      if (size > std::numeric_limits<int32_t>::max()) return false;  // LAPACK counts in int32
      Bind(word.dims[i], size);
      if (bound_[word.dims[i]] != size) return false;
    }
    return true;
  }

  std::string Expected(const Word& word) const {
    std::string text(DTypeName(TypeOf(word.type, element_)));
    text += '[';
    for (const int64_t size : batch_) text += std::to_string(size) + ",";
    for (const char letter : word.dims) {
      text += IsBound(letter) ? std::to_string(bound_[letter]) : std::string(1, letter);
      text += ',';
    }
    if (text.back() == ',') text.pop_back();
    return text + "]";
  }

  DType element_;
  std::vector<int64_t> batch_;
  BoundSignature bound_;
  std::array<bool, 26> known_{};
};

}  // namespace

Result<BoundSignature> BindSignature(std::string_view signature, DType element,
                                     const std::vector<Shape>& operands,
                                     const std::vector<Shape>& results) {
  const size_t arrow = signature.find(" -> ");
  const std::vector<Word> in = WordsOf(signature.substr(0, arrow));
  const std::vector<Word> out = WordsOf(signature.substr(arrow + 4));
  if (operands.size() != in.size()) {
    return Invalid(fmt::format("has {} operands instead of {}", operands.size(), in.size()));
  }
  const size_t rank = in[0].dims.size();
  if (operands[0].is_tuple || operands[0].dims.size() < rank) {
    return Invalid(fmt::format("operand 0 is {}, expected an array of rank {} or more",
                               ToString(operands[0]), rank));
  }
  Binder binder(element, operands[0].dims.size() - rank, operands[0]);
  FM_RETURN_IF_ERROR(binder.Arrays("operand", in, operands, binder.bound().operands));
  binder.Derive();
  FM_RETURN_IF_ERROR(binder.Arrays("result", out, results, binder.bound().results));
  return std::move(binder.bound());
}

}  // namespace fusemark
