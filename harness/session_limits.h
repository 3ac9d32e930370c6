// The limits of the machine that belong to a session: stored young ones, or measured now and
// stored. So a run costs the half second of measuring once a day.
#pragma once

#include <atomic>
#include <cstdint>

#include "harness/recorder.h"
#include "results_db/records.h"

namespace fusemark {

struct SessionLimitsOptions {
  int threads = 1;
  int64_t max_age_s = 24 * 3600;  // below 0: measures in any case
  int64_t each_ns = 10'000'000;   // for each limit
  const std::atomic<bool>* cancelled = nullptr;
};

// kIo if the database fails; what the measuring says otherwise (autotuner/machine_limits.h).
Result<LimitsRecord> SessionLimits(Recorder& recorder, const SessionLimitsOptions& options);

}  // namespace fusemark
