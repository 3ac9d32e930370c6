#include "results_db/queries.h"

#include "results_db/decision_row.h"
#include "results_db/names.h"
#include "results_db/samples.h"
#include "results_db/statement.h"

namespace fusemark {

std::string_view NameOf(ConfigSource source) {
  return NameIn(kConfigSourceNames, source);
}
std::string_view NameOf(RunStatus status) {
  return NameIn(kRunStatusNames, status);
}
std::string_view NameOf(Numerics numerics) {
  return NameIn(kNumericsNames, numerics);
}
std::string_view NameOf(DecisionState state) {
  return NameIn(kDecisionStateNames, state);
}
std::string_view NameOf(TrialStatus status) {
  return NameIn(kTrialStatusNames, status);
}

Result<DbInfo> ReadInfo(Db& db) {
  DbInfo info;
  FM_TRY(info.schema_version, db.SchemaVersion());
  FM_TRY(const int64_t pages, db.QueryInt("PRAGMA page_count"));
  FM_TRY(const int64_t page_size, db.QueryInt("PRAGMA page_size"));
  info.bytes = pages * page_size;
  FM_TRY(Statement tables, Statement::Prepare(db,
                                              "SELECT name FROM sqlite_schema WHERE type = "
                                              "'table' AND name NOT LIKE 'sqlite_%' "
                                              "ORDER BY name"));
  for (;;) {
    FM_TRY(const bool row, tables.Step());
    if (!row) return info;
    const std::string name = tables.Text(0);
    FM_TRY(const int64_t count, db.QueryInt("SELECT count(*) FROM \"" + name + "\""));
    info.rows.emplace_back(name, count);
  }
}

Result<std::vector<RunSummary>> ReadRuns(Db& db, const std::string& workload, int64_t limit) {
  FM_TRY(Statement select,
         Statement::Prepare(
             db,
             "SELECT r.id, r.started_utc, w.name, r.engine, r.threads, r.config_source, r.status, "
             "r.numerics, r.message, b.git_sha, m.cpu_model, p50.value, p99.value, t.value, "
             "coalesce(t.unit, ''), coalesce(p50.n, 0), s.limits_id FROM run r "
             "JOIN workload w ON w.id = r.workload_id JOIN session s ON s.id = r.session_id "
             "JOIN build b ON b.id = s.build_id JOIN machine m ON m.id = s.machine_id "
             "LEFT JOIN metric p50 ON p50.run_id = r.id AND p50.name = 'latency_p50' "
             "LEFT JOIN metric p99 ON p99.run_id = r.id AND p99.name = 'latency_p99' "
             "LEFT JOIN metric t ON t.run_id = r.id AND t.name = 'throughput' "
             "WHERE ?1 = '' OR w.name = ?1 ORDER BY r.id DESC LIMIT ?2"));
  select.Bind(workload, limit);
  std::vector<RunSummary> runs;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return runs;
    RunSummary& run = runs.emplace_back();
    run.id = select.Int(0);
    run.started_utc = select.Text(1);
    run.workload = select.Text(2);
    run.engine = select.Text(3);
    run.threads = select.Int(4);
    run.config_source = ValueIn<ConfigSource>(kConfigSourceNames, select.Text(5));
    run.status = ValueIn<RunStatus>(kRunStatusNames, select.Text(6));
    run.numerics = ValueIn<Numerics>(kNumericsNames, select.Text(7));
    run.message = select.Text(8);
    run.git_sha = select.Text(9);
    run.cpu_model = select.Text(10);
    run.p50_ns = select.OptionalReal(11);
    run.p99_ns = select.OptionalReal(12);
    run.throughput = select.OptionalReal(13);
    run.throughput_unit = select.Text(14);
    run.n = select.Int(15);
    run.limits_id = select.OptionalInt(16);
  }
}

Result<std::vector<BestDecision>> ReadBest(Db& db, const std::string& workload) {
  // The name comes last so that the columns before it are a decision's.
  FM_TRY(
      Statement select,
      Statement::Prepare(
          db,
          "SELECT " + std::string(kDecisionColumns) +
              ", coalesce((SELECT w.name FROM workload w WHERE w.module_hash = substr(key, 1, 32) "
              "ORDER BY w.id LIMIT 1), '') AS name FROM decision "
              "WHERE state = 'confirmed' AND (?1 = '' OR name = ?1) "
              "ORDER BY speedup DESC, id"));
  select.Bind(workload);
  std::vector<BestDecision> best;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return best;
    best.push_back({ReadDecision(select), select.Text(18)});
  }
}

Result<std::vector<int64_t>> ReadSamples(Db& db, int64_t run_id, const std::string& phase) {
  FM_TRY(Statement select,
         Statement::Prepare(db, "SELECT n, data FROM sample WHERE run_id = ? AND phase = ?"));
  FM_TRY(const bool row, select.Bind(run_id, phase).Step());
  if (!row) return std::vector<int64_t>();
  return DecodeSamples(select.Blob(1), select.Int(0));
}

Result<std::vector<MetricRecord>> ReadMetrics(Db& db, int64_t run_id) {
  FM_TRY(Statement select,
         Statement::Prepare(db,
                            "SELECT name, unit, value, low, high, n, why_not FROM metric "
                            "WHERE run_id = ? ORDER BY name"));
  select.Bind(run_id);
  std::vector<MetricRecord> metrics;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return metrics;
    metrics.push_back({select.Text(0), select.Text(1), select.OptionalReal(2),
                       select.OptionalReal(3), select.OptionalReal(4), select.Int(5),
                       select.Text(6)});
  }
}

}  // namespace fusemark
