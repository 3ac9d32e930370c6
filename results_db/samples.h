// Raw samples as a compact blob: the first value and then differences, zigzag-coded, LEB128. Times
// of one run lie close together, so most take two or three bytes. Lossless, order kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

std::vector<uint8_t> EncodeSamples(std::span<const int64_t> samples);
// kIo when the blob is damaged or does not hold exactly `count` values.
Result<std::vector<int64_t>> DecodeSamples(std::span<const uint8_t> blob, int64_t count);

}  // namespace fusemark
