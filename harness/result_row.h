// One row of the result table: a workload on an engine. Filled by bench.cpp, printed by
// report_*.cpp, stored by recorder.cpp. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autotuner/measure.h"
#include "autotuner/statistics.h"
#include "compiler/support/result.h"
#include "harness/numerics.h"
#include "results_db/records.h"

namespace fusemark {

struct NumericsRow {
  Numerics status = Numerics::kUnchecked;
  std::optional<double> max_rel_err;
  std::string reference;  // "reference" (the interpreter), a golden file, or "" when unchecked
  std::vector<LeafComparison> failures;
  std::vector<std::string> messages;  // what a golden has to say about them
};

struct ResultRow {
  std::string workload, engine;
  int threads = 1;
  std::vector<int64_t> residents;
  RunStatus status = RunStatus::kOk;
  std::optional<Error> error;  // set exactly if failed

  Measurement measurement;
  Summary latency;
  std::optional<double> throughput;  // items per second of the timed window; none if no window
  std::string throughput_unit;
  int64_t compile_ns = 0, bind_ns = 0, peak_arena_bytes = 0, kernels = 0;
  NumericsRow numerics;

  ConfigSource config_source = ConfigSource::kDefault;
  std::string config_text;
  std::string config_note;  // why a stored config was not used, or what it promised
  std::vector<std::string> notices;
  std::string started_utc;
};

}  // namespace fusemark
