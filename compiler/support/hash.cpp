#include "compiler/support/hash.h"

namespace fusemark {

// Parameters from the FNV specification (Fowler, Noll, Vo): 128-bit prime 2^88 + 2^8 + 0x3b.
Hash128 HashText(std::string_view text) {
  using U128 = unsigned __int128;
  const U128 prime = (static_cast<U128>(1) << 88) + 0x13b;
  U128 hash = (static_cast<U128>(0x6c62272e07bb0142ULL) << 64) | 0x62b821756295c58dULL;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  return {static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash)};
}

std::string ToHex(const Hash128& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(hash.high >> (4 * i)) & 15];
    text[31 - i] = kDigits[(hash.low >> (4 * i)) & 15];
  }
  return text;
}

uint64_t Fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace fusemark
