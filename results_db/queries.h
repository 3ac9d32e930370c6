// Read-only questions of the command line: `db info`, `db runs`, `db best`; `db limits` is
// limits.h. Nothing here writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results_db/db.h"
#include "results_db/records.h"

namespace fusemark {

// The words stored for the enums of records.h.
std::string_view NameOf(ConfigSource source);
std::string_view NameOf(RunStatus status);
std::string_view NameOf(Numerics numerics);
std::string_view NameOf(DecisionState state);
std::string_view NameOf(TrialStatus status);

struct DbInfo {
  int64_t schema_version = 0;
  int64_t bytes = 0;
  std::vector<std::pair<std::string, int64_t>> rows;  // table name, count; alphabetical
};
Result<DbInfo> ReadInfo(Db& db);

// One stored run with the numbers a table shows.
struct RunSummary {
  int64_t id = 0;
  std::string started_utc, workload, engine;
  int64_t threads = 0;
  ConfigSource config_source = ConfigSource::kDefault;
  RunStatus status = RunStatus::kOk;
  Numerics numerics = Numerics::kUnchecked;
  std::string message, git_sha, cpu_model;
  std::optional<double> p50_ns, p99_ns, throughput;
  std::string throughput_unit;
  int64_t n = 0;
  std::optional<int64_t> limits_id;  // limits.h
};
// Newest first; an empty `workload` means all.
Result<std::vector<RunSummary>> ReadRuns(Db& db, const std::string& workload, int64_t limit);

struct BestDecision {
  DecisionRecord decision;
  std::string workload;  // a stored workload with this module; '' if none
};
// Confirmed decisions, largest speed-up first.
Result<std::vector<BestDecision>> ReadBest(Db& db, const std::string& workload);

// Raw samples of a run. `phase`: warmup or timed; empty if none were stored.
Result<std::vector<int64_t>> ReadSamples(Db& db, int64_t run_id, const std::string& phase);
Result<std::vector<MetricRecord>> ReadMetrics(Db& db, int64_t run_id);

}  // namespace fusemark
