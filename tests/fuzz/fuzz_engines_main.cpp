// fusemark_fuzz_engines: random modules of a range of seeds on every engine; what fails is shrunk
// and written to a file. For nightly runs; the bounded run of every test suite is
// compare_engines_test.cpp.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/engine_fuzz.h"
#include "tests/fuzz/shrink.h"

namespace fusemark {
namespace {

constexpr char kUsage[] =
    "usage: fusemark_fuzz_engines --seeds A:B [--time 10m] [--out DIR] [--no-shrink]\n"
    "  --seeds A:B  seeds from A up to B (exclusive)\n"
    "  --time T     stop after T: a number followed by s, m or h\n"
    "  --out DIR    where failing modules go (default: the current directory)\n"
    "  --no-shrink  report and write them as generated\n"
    "exit codes: 0 no failure, 1 failures, 2 usage\n";

struct Options {
  uint64_t first = 0, last = 0;
  double seconds = 0;  // 0: no limit
  std::string out = ".";
  bool shrink = true;
};

std::optional<double> Seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string_view unit(end);
  if (value <= 0) return std::nullopt;
  if (unit == "s") return value;
  if (unit == "m") return value * 60;
  if (unit == "h") return value * 3600;
  return std::nullopt;
}

std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  bool has_seeds = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-shrink") {
      options.shrink = false;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (name == "--seeds") {
      char* end = nullptr;
      options.first = std::strtoull(value.c_str(), &end, 10);
      if (*end != ':') return std::nullopt;
      options.last = std::strtoull(end + 1, &end, 10);
      if (*end != '\0' || options.last <= options.first) return std::nullopt;
      has_seeds = true;
    } else if (name == "--time") {
      const auto seconds = Seconds(value);
      if (!seconds) return std::nullopt;
      options.seconds = *seconds;
    } else if (name == "--out") {
      options.out = value;
    } else {
      return std::nullopt;
    }
  }
  return has_seeds ? std::optional(options) : std::nullopt;
}

// The file's name, or "" if it cannot be written.
std::string WriteFinding(const Options& options, uint64_t seed, const Verdict& verdict) {
  FuzzCase fuzz_case = CaseOfSeed(seed);
  Verdict last = verdict;
  if (options.shrink) {
    fuzz_case = Shrink(std::move(fuzz_case), [&](const FuzzCase& smaller) {
      const Verdict now = CheckCaseIsolated(smaller);
      if (now.kind != verdict.kind) return false;
      last = now;
      return true;
    });
  }
  const std::string path = options.out + "/seed-" + std::to_string(seed) + ".hlo";
  std::ofstream file(path);
  const std::string text = CaseText(fuzz_case, last, seed);
  file << text;
  std::printf("%s", text.c_str());
  return file.flush() ? path : "";
}

int Run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::map<std::string, int> counts;
  int failures = 0, ran = 0;
  CheckSeeds(
      options.first, options.last,
      [&](uint64_t seed, const Verdict& verdict) {
        ++ran;
        ++counts[verdict.kind.empty() ? "passed" : verdict.kind];
        if (!verdict.failed()) return;
        ++failures;
        std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                    verdict.kind.c_str(), verdict.detail.c_str());
        const std::string path = WriteFinding(options, seed, verdict);
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
                    path.empty() ? "cannot be written" : path.c_str());
        std::fflush(stdout);
      },
      [&] { return options.seconds == 0 || elapsed() < options.seconds; });
  std::printf("%d modules in %.0f s:", ran, elapsed());
  for (const auto& [kind, count] : counts) std::printf(" %s %d;", kind.c_str(), count);
  std::printf("\n");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  const auto options = fusemark::Parse(argc, argv);
  if (!options) {
    std::fputs(fusemark::kUsage, stderr);
    return 2;
  }
  return fusemark::Run(*options);
}
