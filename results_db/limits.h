// What the machine was measured to be able to: one set of limits per measuring, shared by the
// sessions that took it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results_db/db.h"
#include "results_db/records.h"

namespace fusemark {

// Stores all or nothing; the row's id. `id` and `age_s` are not read.
Result<int64_t> StoreLimits(Db& db, const LimitsRecord& limits);
Result<void> SetSessionLimits(Db& db, int64_t session_id, int64_t limits_id);

// The newest of this machine, build and thread count that is at most `max_age_s` old. One from the
// future (the clock was set back) is none.
Result<std::optional<LimitsRecord>> YoungLimits(Db& db, int64_t machine_id, int64_t build_id,
                                                int64_t threads, int64_t max_age_s);

struct StoredLimits {
  LimitsRecord limits;
  std::string cpu_model, git_sha;
  int64_t sessions = 0;  // that took them
};
// Newest first.
Result<std::vector<StoredLimits>> ReadLimits(Db& db, int64_t limit);

}  // namespace fusemark
