#include "harness/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/support/strings.h"

namespace fusemark {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr Unit kUnits[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                           {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

Error BadDuration(std::string_view text) {
  return Invalid("'" + std::string(text) +
                 "' is not a duration: expected a positive number with a unit (ns, us, ms, s, m, "
                 "h), for example 3s or 500ms");
}

Error BadResidents(std::string_view part) {
  return Invalid("'" + std::string(part) +
                 "' names no resident parameters: expected all, none, or numbers and ranges such "
                 "as 0-5,7");
}

}  // namespace

Result<int64_t> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || !std::isfinite(number) || number <= 0) return BadDuration(text);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    const double ns = number * known.ns;
    if (ns < 1 || ns > 1e18) return BadDuration(text);
    return static_cast<int64_t>(std::llround(ns));
  }
  return BadDuration(text);
}

Result<Warmup> ParseWarmup(std::string_view text) {
  Warmup warmup;
  if (text == "auto") return warmup;
  if (const std::optional<int64_t> count = ParseInt(text); count && *count >= 0) {
    warmup.kind = Warmup::Kind::kIterations;
    warmup.value = *count;
    return warmup;
  }
  const Result<int64_t> duration = ParseDuration(text);
  if (!duration.ok()) {
    return Invalid("'" + std::string(text) +
                   "' is not a warm-up: expected auto, a number of iterations, or a duration such "
                   "as 2s");
  }
  warmup.kind = Warmup::Kind::kDuration;
  warmup.value = *duration;
  return warmup;
}

Result<std::vector<Engine>> ParseEngines(std::string_view text) {
  std::vector<Engine> engines;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view name = Trim(part);
    const std::optional<Engine> engine = EngineFromName(name);
    if (!engine) {
      return Invalid("unknown engine '" + std::string(name) +
                     "': expected off, on or reference, separated by commas");
    }
    if (std::find(engines.begin(), engines.end(), *engine) != engines.end()) {
      return Invalid("engine '" + std::string(name) + "' is named twice");
    }
    engines.push_back(*engine);
  }
  return engines;
}

Result<std::vector<int64_t>> ParseResidents(std::string_view text, int64_t parameters) {
  std::vector<int64_t> residents;
  if (text == "none") return residents;
  if (text == "all") {
    for (int64_t i = 0; i < parameters; ++i) residents.push_back(i);
    return residents;
  }
  for (const std::string_view part : Split(text, ',')) {
    const std::vector<std::string_view> ends = Split(Trim(part), '-');
    const std::optional<int64_t> first = ParseInt(ends[0]);
    const std::optional<int64_t> last = ends.size() == 2 ? ParseInt(ends[1]) : first;
    if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first) {
      return BadResidents(part);
    }
    if (*last >= parameters) {
      return Invalid("resident parameter " + std::to_string(*last) +
                     " does not exist: the entry has " + std::to_string(parameters) +
                     " parameters, counted from 0");
    }
    for (int64_t i = *first; i <= *last; ++i) residents.push_back(i);
  }
  std::sort(residents.begin(), residents.end());
  residents.erase(std::unique(residents.begin(), residents.end()), residents.end());
  return residents;
}

}  // namespace fusemark
