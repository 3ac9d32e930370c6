// Writes what `run` and `check` measured: machine, build, workload, session, run with its metrics
// and samples. Each function is one transaction: all of it is stored or nothing. Storing an equal
// machine, build or workload again returns the existing row, so repeating is harmless.
#pragma once

#include <cstdint>

#include "results_db/db.h"
#include "results_db/records.h"

namespace fusemark {

// These return the row's id.
Result<int64_t> StoreMachine(Db& db, const MachineRecord& machine);
Result<int64_t> StoreBuild(Db& db, const BuildRecord& build);
Result<int64_t> StoreWorkload(Db& db, const WorkloadRecord& workload);
Result<int64_t> StartSession(Db& db, const SessionRecord& session);
Result<int64_t> StoreRun(Db& db, const RunRecord& run);

Result<void> EndSession(Db& db, int64_t session_id, int exit_code);

}  // namespace fusemark
