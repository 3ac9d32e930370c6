// Random numbers for the search: the same seed gives the same candidates on every machine, which
// the distributions of <random> do not promise.
#pragma once

#include <cstdint>

namespace fusemark {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {  // SplitMix64 (Steele, Lea, Flood 2014)
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 <= result < bound; bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

}  // namespace fusemark
