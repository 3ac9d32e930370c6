#include "results_db/runs.h"

#include "compiler/support/strings.h"
#include "results_db/names.h"
#include "results_db/samples.h"
#include "results_db/statement.h"

namespace fusemark {
namespace {

// Runs an insert that may meet an equal row, then the select that finds the row either way.
template <class... Values>
Result<int64_t> InsertOrFind(Db& db, std::string_view insert, std::string_view select,
                             const Values&... values) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  FM_TRY(Statement find, Statement::Prepare(db, select));
  find.Bind(values...);
  FM_TRY(bool found, find.Step());
  if (!found) {
    FM_TRY(Statement add, Statement::Prepare(db, insert));
    FM_RETURN_IF_ERROR(add.Bind(values...).Run());
    find.Reset();
    find.Bind(values...);
    FM_TRY(found, find.Step());
    FM_CHECK(found, "inserted row not found");
  }
  const int64_t id = find.Int(0);
  find.Reset();
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<void> StoreMetrics(Db& db, int64_t run_id, const std::vector<MetricRecord>& metrics) {
  FM_TRY(Statement insert,
         Statement::Prepare(db,
                            "INSERT INTO metric (run_id, name, unit, value, low, high, n, why_not) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const MetricRecord& metric : metrics) {
    insert.Bind(run_id, metric.name, metric.unit, metric.value, metric.low, metric.high, metric.n,
                metric.why_not);
    FM_RETURN_IF_ERROR(insert.Run());
  }
  return Ok();
}

Result<void> StoreSamples(Db& db, int64_t run_id, std::string_view phase,
                          const std::vector<int64_t>& samples) {
  if (samples.empty()) return Ok();
  FM_TRY(Statement insert, Statement::Prepare(db,
                                              "INSERT INTO sample (run_id, phase, n, data) "
                                              "VALUES (?, ?, ?, ?)"));
  return insert.Bind(run_id, phase, static_cast<int64_t>(samples.size()), EncodeSamples(samples))
      .Run();
}

}  // namespace

Result<int64_t> StoreMachine(Db& db, const MachineRecord& machine) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  FM_TRY(Statement find, Statement::Prepare(db, "SELECT id FROM machine WHERE fingerprint = ?"));
  FM_TRY(const bool found, find.Bind(machine.fingerprint).Step());
  if (found) return find.Int(0);
  FM_TRY(Statement insert,
         Statement::Prepare(db,
                            "INSERT INTO machine (fingerprint, class, cpu_model, arch, isa, cores, "
                            "l1d_bytes, l2_bytes, l3_bytes, memory_bytes, details_json) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(machine.fingerprint, machine.machine_class, machine.cpu_model, machine.arch,
              machine.isa, machine.cores, machine.l1d_bytes, machine.l2_bytes, machine.l3_bytes,
              machine.memory_bytes, machine.details_json);
  FM_RETURN_IF_ERROR(insert.Run());
  const int64_t id = db.LastRowId();
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<int64_t> StoreBuild(Db& db, const BuildRecord& build) {
  return InsertOrFind(
      db,
      "INSERT INTO build (version, git_sha, dirty, build_type, compiler, flags, llvm_version, "
      "library_versions) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      "SELECT id FROM build WHERE version = ? AND git_sha = ? AND dirty = ? AND build_type = ? "
      "AND compiler = ? AND flags = ? AND llvm_version = ? AND library_versions = ?",
      build.version, build.git_sha, build.dirty, build.build_type, build.compiler, build.flags,
      build.llvm_version, build.library_versions);
}

Result<int64_t> StoreWorkload(Db& db, const WorkloadRecord& workload) {
  return InsertOrFind(
      db,
      "INSERT INTO workload (name, module_hash, source, items_per_run, item_unit) "
      "VALUES (?, ?, ?, ?, ?)",
      "SELECT id FROM workload WHERE name = ? AND module_hash = ? AND source = ? AND "
      "items_per_run = ? AND item_unit = ?",
      workload.name, workload.module_hash, workload.source, workload.items_per_run,
      workload.item_unit);
}

Result<int64_t> StartSession(Db& db, const SessionRecord& session) {
  FM_TRY(Statement insert,
         Statement::Prepare(db,
                            "INSERT INTO session (machine_id, build_id, command, arguments, seed, "
                            "options_json, started_utc) VALUES (?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(session.machine_id, session.build_id, session.command, session.arguments,
              session.seed, session.options_json, UtcNow());
  FM_RETURN_IF_ERROR(insert.Run());
  return db.LastRowId();
}

Result<void> EndSession(Db& db, int64_t session_id, int exit_code) {
  FM_TRY(Statement update,
         Statement::Prepare(db, "UPDATE session SET ended_utc = ?, exit_code = ? WHERE id = ?"));
  return update.Bind(UtcNow(), exit_code, session_id).Run();
}

Result<int64_t> StoreRun(Db& db, const RunRecord& run) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  FM_TRY(Statement insert,
         Statement::Prepare(
             db,
             "INSERT INTO run (session_id, workload_id, engine, threads, residents, config_source, "
             "config_text, status, error_code, message, steady, numerics, numerics_reference, "
             "max_rel_err, started_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(run.session_id, run.workload_id, run.engine, run.threads, JoinInts(run.residents),
              NameIn(kConfigSourceNames, run.config_source), run.config_text,
              NameIn(kRunStatusNames, run.status), run.error_code, run.message, run.steady,
              NameIn(kNumericsNames, run.numerics), run.numerics_reference, run.max_rel_err,
              run.started_utc);
  FM_RETURN_IF_ERROR(insert.Run());
  const int64_t id = db.LastRowId();
  FM_RETURN_IF_ERROR(StoreMetrics(db, id, run.metrics));
  FM_RETURN_IF_ERROR(StoreSamples(db, id, "warmup", run.warmup_ns));
  FM_RETURN_IF_ERROR(StoreSamples(db, id, "timed", run.timed_ns));
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

}  // namespace fusemark
