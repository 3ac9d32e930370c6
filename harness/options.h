// Option values as people write them ("3s", "off,on", "0-5,7"), parsed to what the program uses. No
// CLI11 here. Every error says what was found and what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autotuner/measure.h"
#include "compiler/compile.h"
#include "compiler/support/result.h"

namespace fusemark {

// "3s", "1.5s", "200ms", "2m", "1h"; greater than zero.
Result<int64_t> ParseDuration(std::string_view text);

// "auto", a number of iterations, or a duration.
Result<Warmup> ParseWarmup(std::string_view text);

// "off,on": no duplicates, order kept.
Result<std::vector<Engine>> ParseEngines(std::string_view text);

// "all", "none", or numbers and ranges: "0-5,7". Sorted, without duplicates, below `parameters`.
Result<std::vector<int64_t>> ParseResidents(std::string_view text, int64_t parameters);

}  // namespace fusemark
