#include "results_db/limits.h"

#include "results_db/statement.h"

namespace fusemark {
namespace {

constexpr std::string_view kColumns =
    "l.id, l.machine_id, l.build_id, l.threads, l.measured_utc, "
    "CAST(strftime('%s', 'now') AS INTEGER) - CAST(strftime('%s', l.measured_utc) AS INTEGER)";

LimitsRecord ReadRow(const Statement& row) {
  LimitsRecord limits;
  limits.id = row.Int(0);
  limits.machine_id = row.Int(1);
  limits.build_id = row.Int(2);
  limits.threads = row.Int(3);
  limits.measured_utc = row.Text(4);
  limits.age_s = row.Int(5);
  return limits;
}

Result<std::vector<LimitRecord>> ReadValues(Db& db, int64_t limits_id) {
  FM_TRY(Statement select, Statement::Prepare(db,
                                              "SELECT name, unit, threads, value FROM limit_value "
                                              "WHERE limits_id = ? ORDER BY rowid"));
  select.Bind(limits_id);
  std::vector<LimitRecord> values;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return values;
    values.push_back({select.Text(0), select.Text(1), select.Int(2), select.Real(3)});
  }
}

}  // namespace

Result<int64_t> StoreLimits(Db& db, const LimitsRecord& limits) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  FM_TRY(Statement insert,
         Statement::Prepare(db,
                            "INSERT INTO limits (machine_id, build_id, threads, measured_utc) "
                            "VALUES (?, ?, ?, ?)"));
  insert.Bind(limits.machine_id, limits.build_id, limits.threads, limits.measured_utc);
  FM_RETURN_IF_ERROR(insert.Run());
  const int64_t id = db.LastRowId();
  FM_TRY(Statement value,
         Statement::Prepare(db,
                            "INSERT INTO limit_value (limits_id, name, unit, threads, value) "
                            "VALUES (?, ?, ?, ?, ?)"));
  for (const LimitRecord& limit : limits.values) {
    FM_RETURN_IF_ERROR(value.Bind(id, limit.name, limit.unit, limit.threads, limit.value).Run());
  }
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<void> SetSessionLimits(Db& db, int64_t session_id, int64_t limits_id) {
  FM_TRY(Statement update, Statement::Prepare(db, "UPDATE session SET limits_id = ? WHERE id = ?"));
  return update.Bind(limits_id, session_id).Run();
}

Result<std::optional<LimitsRecord>> YoungLimits(Db& db, int64_t machine_id, int64_t build_id,
                                                int64_t threads, int64_t max_age_s) {
  FM_TRY(Statement select,
         Statement::Prepare(db, "SELECT " + std::string(kColumns) +
                                    " AS age FROM limits l WHERE l.machine_id = ? AND "
                                    "l.build_id = ? AND l.threads = ? AND age BETWEEN 0 AND ? "
                                    "ORDER BY l.id DESC LIMIT 1"));
  FM_TRY(const bool found, select.Bind(machine_id, build_id, threads, max_age_s).Step());
  if (!found) return std::optional<LimitsRecord>();
  LimitsRecord limits = ReadRow(select);
  FM_TRY(limits.values, ReadValues(db, limits.id));
  return std::optional(std::move(limits));
}

Result<std::vector<StoredLimits>> ReadLimits(Db& db, int64_t limit) {
  FM_TRY(
      Statement select,
      Statement::Prepare(
          db, "SELECT " + std::string(kColumns) +
                  ", m.cpu_model, b.git_sha, (SELECT count(*) FROM session s WHERE s.limits_id = "
                  "l.id) FROM limits l JOIN machine m ON m.id = l.machine_id JOIN build b ON "
                  "b.id = l.build_id ORDER BY l.id DESC LIMIT ?"));
  select.Bind(limit);
  std::vector<StoredLimits> stored;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return stored;
    StoredLimits& next = stored.emplace_back();
    next.limits = ReadRow(select);
    next.cpu_model = select.Text(6);
    next.git_sha = select.Text(7);
    next.sessions = select.Int(8);
    FM_TRY(next.limits.values, ReadValues(db, next.limits.id));
  }
}

}  // namespace fusemark
