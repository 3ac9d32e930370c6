// The law of the text reader, checked on any bytes, and damage to texts that comes close to it.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace fusemark {

// What the reader made of a text. `broken` says how the law "a module or a clear error; what
// parses verifies, prints, and parses to an equal module" is broken; empty otherwise.
struct TextVerdict {
  bool is_module = false;
  std::string broken;
};
TextVerdict CheckText(std::string_view text);

// Damages at random places: bytes (deleted, inserted, changed, cut off), tokens (deleted, doubled,
// swapped, replaced by ones of the language or by numbers at the edges), lines (moved, doubled).
std::string DamageBytes(std::string text, std::mt19937_64& random);
std::string DamageTokens(std::string_view text, std::mt19937_64& random);
std::string DamageLines(std::string_view text, std::mt19937_64& random);

}  // namespace fusemark
