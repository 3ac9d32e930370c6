#include "harness/limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "harness/exit_code.h"
#include "harness/interrupt.h"

namespace fusemark {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                           {"kB", 1e3}, {"MB", 1e6},     {"GB", 1e9}};

// After the limit: for rows that are finished to be written.
constexpr std::chrono::seconds kGrace{3};

int64_t ParameterBytes(const Module& module) {
  int64_t bytes = 0;
  for (const InstrId parameter : module.Entry().parameters) {
    const int64_t more = ByteSizeOf(module.Entry()[parameter].shape);
    if (__builtin_add_overflow(bytes, more, &bytes)) return INT64_MAX;
  }
  return bytes;
}

}  // namespace

Result<int64_t> ParseBytes(std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit =
      failed == std::errc() ? text.substr(static_cast<size_t>(end - text.data())) : "";
  for (const Unit& known : kUnits) {
    const double bytes = number * known.bytes;
    if (known.name == unit && bytes >= 1 && bytes < 9e18) return static_cast<int64_t>(bytes);
  }
  return Invalid("'" + std::string(text) +
                 "' is not a size: expected a positive number with a unit (B, KiB, MiB, GiB, kB, "
                 "MB, GB), for example 4GiB");
}

std::string BytesText(int64_t bytes) {
  for (const auto& [name, size] : {kUnits[3], kUnits[2], kUnits[1]}) {
    if (static_cast<double>(bytes) >= size)
      return fmt::format("{:.2f} {}", static_cast<double>(bytes) / size, name);
  }
  return fmt::format("{} B", bytes);
}

TimeLimit::TimeLimit(int64_t limit_ns, std::string what) {
  message_ = fmt::format("{} did not end within its time limit of {:g} s: stopped", what,
                         static_cast<double>(limit_ns) * 1e-9);
  if (limit_ns > 0) watcher_ = std::thread([this, limit_ns] { Watch(limit_ns); });
}

TimeLimit::~TimeLimit() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void TimeLimit::Watch(int64_t limit_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto done = [this] { return done_; };
  if (wake_.wait_for(lock, std::chrono::nanoseconds(limit_ns), done)) return;
  over_ = true;
  Interrupted() = true;
  if (wake_.wait_for(lock, kGrace, done)) return;
  std::fprintf(stderr, "fusemark: %s (it could not be interrupted)\n", message_.c_str());
  std::fflush(stderr);
  _exit(static_cast<int>(ExitCode::kFailed));
}

Result<void> CheckMemory(const Module& module, int64_t limit) {
  return CheckMemory(module, 0, limit);
}

Result<void> CheckMemory(const Module& module, int64_t arena_bytes, int64_t limit) {
  const int64_t parameters = ParameterBytes(module);
  const int64_t results = ByteSizeOf(module.Entry().Root().shape);
  int64_t total = 0;
  const bool overflow = __builtin_add_overflow(parameters, results, &total) ||
                        __builtin_add_overflow(total, arena_bytes, &total);
  if (limit == 0 || (!overflow && total <= limit)) return Ok();
  const std::string arena =
      arena_bytes > 0 ? fmt::format(", intermediates {}", BytesText(arena_bytes)) : "";
  return Error{Code::kLaunchFailed,
               fmt::format("needs more memory than --max-memory {} allows: parameters {}, results "
                           "{}{}",
                           BytesText(limit), BytesText(parameters), BytesText(results), arena)};
}

}  // namespace fusemark
