#include "results_db/samples.h"

#include <string>

namespace fusemark {

std::vector<uint8_t> EncodeSamples(std::span<const int64_t> samples) {
  std::vector<uint8_t> blob;
  blob.reserve(samples.size() * 3 + 10);
  uint64_t previous = 0;
  for (const int64_t sample : samples) {
    // Unsigned arithmetic wraps, so every int64 survives the round trip.
    const uint64_t delta = static_cast<uint64_t>(sample) - previous;
    previous = static_cast<uint64_t>(sample);
    uint64_t zigzag = (delta << 1) ^ (0 - (delta >> 63));
    for (; zigzag >= 0x80; zigzag >>= 7) blob.push_back(static_cast<uint8_t>(zigzag | 0x80));
    blob.push_back(static_cast<uint8_t>(zigzag));
  }
  return blob;
}

Result<std::vector<int64_t>> DecodeSamples(std::span<const uint8_t> blob, int64_t count) {
  const auto damaged = [&](const std::string& why) {
    return Error{Code::kIo, "stored samples are damaged: " + why};
  };
  std::vector<int64_t> samples;
  uint64_t previous = 0;
  for (size_t at = 0; at < blob.size();) {
    uint64_t zigzag = 0;
    for (int shift = 0;; shift += 7) {
      if (at == blob.size()) return damaged("the last value is cut off");
      if (shift > 63) return damaged("a value is longer than 64 bits");
      const uint8_t byte = blob[at++];
      zigzag |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    previous += (zigzag >> 1) ^ (0 - (zigzag & 1));
    samples.push_back(static_cast<int64_t>(previous));
  }
  if (static_cast<int64_t>(samples.size()) != count) {
    return damaged("found " + std::to_string(samples.size()) + " values, expected " +
                   std::to_string(count));
  }
  return samples;
}

}  // namespace fusemark
