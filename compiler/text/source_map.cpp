#include <algorithm>
#include <cstring>

#include "compiler/text/parser.h"

namespace fusemark {

SourceLoc SourceMap::LocOf(const char* place) {
  if (place < line_start_) {  // only for messages: count from the start
    SourceMap fresh(text_);
    return fresh.LocOf(place);
  }
  const char* at = std::max(counted_, line_start_);
  while (at < place) {
    const void* newline = std::memchr(at, '\n', static_cast<size_t>(place - at));
    if (newline == nullptr) break;
    at = static_cast<const char*>(newline) + 1;
    line_start_ = at;
    ++line_;
  }
  counted_ = std::max(counted_, place);
  return {line_, static_cast<uint32_t>(place - line_start_ + 1)};
}

const char* SourceMap::PlaceOf(SourceLoc loc) const {
  const char* end = text_.data() + text_.size();
  const char* at = text_.data();
  for (uint32_t line = 1; line < loc.line && at < end; ++line) {
    const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at));
    at = newline != nullptr ? static_cast<const char*>(newline) + 1 : end;
  }
  return std::min(end, at + (loc.column > 0 ? loc.column - 1 : 0));
}

std::string SourceMap::Excerpt(const char* place) const {
  constexpr int64_t kBefore = 60;
  constexpr int64_t kAfter = 70;
  const char* begin = text_.data();
  const char* end = begin + text_.size();
  const char* first = place;
  while (first > begin && first[-1] != '\n' && place - first < kBefore) --first;
  const char* last = place;
  while (last < end && *last != '\n' && *last != '\r' && last - place < kAfter) ++last;
  const bool cut_before = first > begin && first[-1] != '\n';
  const bool cut_after = last < end && *last != '\n' && *last != '\r';
  std::string line = cut_before ? "  ..." : "  ";
  std::string caret(line.size(), ' ');
  for (const char* at = first; at < last; ++at) {
    // Control characters would disturb the terminal and the caret's column.
    const auto c = static_cast<unsigned char>(*at);
    line += c == '\t' ? ' ' : (c < 0x20 || c == 0x7f) ? '?' : *at;
    // A UTF-8 continuation byte takes no column of its own.
    if (at < place && (c & 0xc0) != 0x80) caret += ' ';
  }
  if (cut_after) line += "...";
  return line + "\n" + caret + "^";
}

}  // namespace fusemark
