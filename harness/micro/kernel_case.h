// One module as a benchmark: compiled with on, fed with numbers of known ranges, compared with the
// reference interpreter before anything is timed, then timed iteration by iteration. The least time
// counts: others on the machine only add.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fusemark {

// Parameters are filled with uniform numbers of [low, high), the same in every run.
struct Range {
  double low = -1, high = 1;
};

struct KernelCase {
  std::string name;
  std::string text;           // HLO
  std::vector<Range> inputs;  // one per entry parameter; fewer: the default for the rest
  int64_t elements = 0;       // what time is divided by
  int64_t bytes_read = 0;     // 0: all parameters
  int64_t bytes_written = 0;  // 0: all results
};

// Counters: ns_per_element; with `of_bandwidth` also GB/s and its share of what the memory level
// that holds the working set was measured to give to as many threads.
void RegisterCase(const KernelCase& kernel_case, bool of_bandwidth);

// Parses the arguments and runs what was registered; the exit code. 1 as well if a case failed: a
// wrong result must not look like a benchmark that was left out.
int RunCases(int argc, char** argv);

}  // namespace fusemark
