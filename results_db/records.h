// Plain rows of the database, one struct per table; the columns are documented in schema/. No
// SQLite here, so that callers see nothing of it. `id` 0 means "not stored yet".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fusemark {

struct MachineRecord {
  std::string fingerprint, machine_class, cpu_model, arch, isa;
  int64_t cores = 0, l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0, memory_bytes = 0;
  std::string details_json = "{}";
};

struct BuildRecord {
  std::string version, git_sha;
  bool dirty = false;
  std::string build_type, compiler, flags, llvm_version, library_versions;
};

struct LimitRecord {
  std::string name, unit;
  int64_t threads = 1;
  double value = 0;
};

// One measuring of what the machine can do.
struct LimitsRecord {
  int64_t id = 0;
  int64_t machine_id = 0, build_id = 0;
  int64_t threads = 1;
  std::string measured_utc;
  int64_t age_s = 0;  // when it was read
  std::vector<LimitRecord> values;
};

struct WorkloadRecord {
  std::string name, module_hash, source;
  double items_per_run = 0;
  std::string item_unit;
};

struct SessionRecord {
  int64_t machine_id = 0, build_id = 0;
  std::string command, arguments;
  int64_t seed = 0;
  std::string options_json = "{}";
};

enum class ConfigSource : uint8_t { kDefault, kTuned, kStale };
enum class RunStatus : uint8_t { kOk, kFailed, kInterrupted };
enum class Numerics : uint8_t { kUnchecked, kPass, kFail };

struct MetricRecord {
  std::string name, unit;
  std::optional<double> value, low, high;
  int64_t n = 0;
  std::string why_not;  // not empty exactly if there is no value
};

struct RunRecord {
  int64_t session_id = 0, workload_id = 0;
  std::string engine;
  int64_t threads = 1;
  std::vector<int64_t> residents;
  ConfigSource config_source = ConfigSource::kDefault;
  std::string config_text;
  RunStatus status = RunStatus::kOk;
  std::string error_code, message;
  bool steady = false;
  Numerics numerics = Numerics::kUnchecked;
  std::string numerics_reference;
  std::optional<double> max_rel_err;
  std::string started_utc;
  std::vector<MetricRecord> metrics;
  std::vector<int64_t> warmup_ns, timed_ns;
};

enum class Scope : uint8_t { kTask, kPlan };

enum class TrialStatus : uint8_t {
  kOk,
  kCompileFail,
  kCompileTimeout,
  kRunFail,
  kRunTimeout,
  kWrong,
  kIllegal,
  kDuplicate
};

struct TrialRecord {
  int64_t id = 0;
  int64_t session_id = 0;
  Scope scope = Scope::kPlan;
  std::string key;
  int64_t threads = 1;
  std::string regime = "warm";
  std::string config_hash, config_text;
  int64_t knob_version = 1;
  TrialStatus status = TrialStatus::kOk;
  int64_t compile_ns = 0;
  std::optional<int64_t> median_ns, mad_ns;
  int64_t n = 0;
  std::optional<double> max_error;
  std::string message, created_utc;
  std::map<std::string, std::string> knobs;  // written; left empty by queries
};

enum class DecisionState : uint8_t { kCandidate, kConfirmed, kStale, kRevoked };

// A decision holds for one task or plan on one class of machine with one thread count.
struct DecisionKey {
  Scope scope = Scope::kPlan;
  std::string key, machine_class;
  int64_t threads = 1;
};

struct DecisionRecord {
  int64_t id = 0;
  DecisionKey key;
  std::string config_hash, config_text;
  int64_t baseline_ns = 0, tuned_ns = 0;
  double speedup = 1, speedup_low = 1, speedup_high = 1;
  DecisionState state = DecisionState::kCandidate;
  std::string reason;
  int64_t build_id = 0, session_id = 0;
  std::string created_utc, updated_utc;
};

}  // namespace fusemark
