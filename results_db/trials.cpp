#include "results_db/trials.h"

#include "results_db/decision_row.h"
#include "results_db/names.h"
#include "results_db/statement.h"

namespace fusemark {
namespace {

TrialRecord ReadTrial(const Statement& row) {
  TrialRecord trial;
  trial.id = row.Int(0);
  trial.session_id = row.Int(1);
  trial.scope = ValueIn<Scope>(kScopeNames, row.Text(2));
  trial.key = row.Text(3);
  trial.threads = row.Int(4);
  trial.regime = row.Text(5);
  trial.config_hash = row.Text(6);
  trial.config_text = row.Text(7);
  trial.knob_version = row.Int(8);
  trial.status = ValueIn<TrialStatus>(kTrialStatusNames, row.Text(9));
  trial.compile_ns = row.Int(10);
  trial.median_ns = row.OptionalInt(11);
  trial.mad_ns = row.OptionalInt(12);
  trial.n = row.Int(13);
  trial.max_error = row.OptionalReal(14);
  trial.message = row.Text(15);
  trial.created_utc = row.Text(16);
  return trial;
}

Result<void> StoreKnobs(Db& db, int64_t trial_id, const TrialRecord& trial) {
  FM_TRY(Statement insert,
         Statement::Prepare(db, "INSERT INTO trial_knob (trial_id, name, value) VALUES (?, ?, ?)"));
  for (const auto& [name, value] : trial.knobs) {
    FM_RETURN_IF_ERROR(insert.Bind(trial_id, name, value).Run());
  }
  return Ok();
}

Result<void> SupersedeDecision(Db& db, const DecisionKey& key) {
  FM_TRY(Statement update,
         Statement::Prepare(db,
                            "UPDATE decision SET state = 'revoked', reason = 'superseded', "
                            "updated_utc = ? WHERE scope = ? AND key = ? AND machine_class = ? AND "
                            "threads = ? AND state = 'confirmed'"));
  return update
      .Bind(UtcNow(), NameIn(kScopeNames, key.scope), key.key, key.machine_class, key.threads)
      .Run();
}

}  // namespace

Result<int64_t> StoreTrial(Db& db, const TrialRecord& trial) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  FM_TRY(Statement insert,
         Statement::Prepare(
             db,
             "INSERT INTO trial (session_id, scope, key, threads, regime, config_hash, "
             "config_text, knob_version, status, compile_ns, median_ns, mad_ns, n, max_error, "
             "message, created_utc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(trial.session_id, NameIn(kScopeNames, trial.scope), trial.key, trial.threads,
              trial.regime, trial.config_hash, trial.config_text, trial.knob_version,
              NameIn(kTrialStatusNames, trial.status), trial.compile_ns, trial.median_ns,
              trial.mad_ns, trial.n, trial.max_error, trial.message, UtcNow());
  FM_RETURN_IF_ERROR(insert.Run());
  const int64_t id = db.LastRowId();
  FM_RETURN_IF_ERROR(StoreKnobs(db, id, trial));
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<std::vector<TrialRecord>> FindTrials(Db& db, const DecisionKey& key) {
  FM_TRY(Statement select,
         Statement::Prepare(
             db,
             "SELECT t.id, t.session_id, t.scope, t.key, t.threads, t.regime, t.config_hash, "
             "t.config_text, t.knob_version, t.status, t.compile_ns, t.median_ns, t.mad_ns, t.n, "
             "t.max_error, t.message, t.created_utc FROM trial t JOIN session s ON s.id = "
             "t.session_id JOIN machine m ON m.id = s.machine_id WHERE t.scope = ? AND t.key = ? "
             "AND t.threads = ? AND m.class = ? ORDER BY t.id DESC"));
  select.Bind(NameIn(kScopeNames, key.scope), key.key, key.threads, key.machine_class);
  std::vector<TrialRecord> trials;
  for (;;) {
    FM_TRY(const bool row, select.Step());
    if (!row) return trials;
    trials.push_back(ReadTrial(select));
  }
}

Result<int64_t> StoreDecision(Db& db, const DecisionRecord& decision) {
  FM_TRY(Transaction transaction, Transaction::Begin(db));
  if (decision.state == DecisionState::kConfirmed) {
    FM_RETURN_IF_ERROR(SupersedeDecision(db, decision.key));
  }
  FM_TRY(Statement insert,
         Statement::Prepare(
             db,
             "INSERT INTO decision (scope, key, machine_class, threads, config_hash, config_text, "
             "baseline_ns, tuned_ns, speedup, speedup_low, speedup_high, state, reason, build_id, "
             "session_id, created_utc, updated_utc) "
             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string now = UtcNow();
  insert.Bind(NameIn(kScopeNames, decision.key.scope), decision.key.key, decision.key.machine_class,
              decision.key.threads, decision.config_hash, decision.config_text,
              decision.baseline_ns, decision.tuned_ns, decision.speedup, decision.speedup_low,
              decision.speedup_high, NameIn(kDecisionStateNames, decision.state), decision.reason,
              decision.build_id, decision.session_id, now, now);
  FM_RETURN_IF_ERROR(insert.Run());
  const int64_t id = db.LastRowId();
  FM_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<std::optional<DecisionRecord>> FindDecision(Db& db, const DecisionKey& key) {
  FM_TRY(Statement select,
         Statement::Prepare(db, "SELECT " + std::string(kDecisionColumns) +
                                    " FROM decision WHERE scope = ? AND key = ? AND "
                                    "machine_class = ? AND threads = ? AND state = 'confirmed'"));
  select.Bind(NameIn(kScopeNames, key.scope), key.key, key.machine_class, key.threads);
  FM_TRY(const bool row, select.Step());
  std::optional<DecisionRecord> decision;
  if (row) decision = ReadDecision(select);
  return decision;
}

Result<void> MarkDecision(Db& db, int64_t id, DecisionState state, const std::string& reason) {
  FM_TRY(Statement update,
         Statement::Prepare(
             db, "UPDATE decision SET state = ?, reason = ?, updated_utc = ? WHERE id = ?"));
  return update.Bind(NameIn(kDecisionStateNames, state), reason, UtcNow(), id).Run();
}

}  // namespace fusemark
