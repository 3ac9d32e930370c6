// Stores what a command measured: opens the database, registers machine, build and session, then
// one row per result. Translates ResultRow to the records of results_db; no SQL here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compiler/compile.h"
#include "harness/result_row.h"
#include "results_db/db.h"
#include "results_db/records.h"
#include "workloads/workload.h"

namespace fusemark {

class Recorder {
 public:
  // `arguments`: the command line, `options_json`: the settings in force.
  static Result<std::unique_ptr<Recorder>> Open(const std::string& path, const std::string& command,
                                                const std::string& arguments, int64_t seed,
                                                const std::string& options_json);
  Db& db() { return *db_; }
  int64_t session_id() const { return session_id_; }
  int64_t build_id() const { return build_id_; }
  int64_t machine_id() const { return machine_id_; }

  // One transaction per row: what was stored before a failure or an interrupt stays.
  Result<void> Store(const Workload& workload, const std::string& module_hash,
                     const ResultRow& row);
  Result<void> Finish(int exit_code);

 private:
  std::unique_ptr<Db> db_;
  int64_t session_id_ = 0, build_id_ = 0, machine_id_ = 0;
};

// The key of a plan: the graph and which of its parameters are resident, since both decide which
// code exists.
std::string PlanKey(const std::string& module_hash, const std::vector<int64_t>& residents);

// The confirmed config of this key for a class of machines and a thread count.
Result<std::optional<DecisionRecord>> TunedConfig(Db& db, const std::string& plan_key,
                                                  const std::string& machine_class, int threads);

}  // namespace fusemark
