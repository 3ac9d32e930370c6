// How a decision is read: the columns to select and the row they make. Internal to results_db.
#pragma once

#include <string_view>

#include "results_db/names.h"
#include "results_db/records.h"
#include "results_db/statement.h"

namespace fusemark {

inline constexpr std::string_view kDecisionColumns =
    "id, scope, key, machine_class, threads, config_hash, config_text, baseline_ns, tuned_ns, "
    "speedup, speedup_low, speedup_high, state, reason, build_id, session_id, created_utc, "
    "updated_utc";

inline DecisionRecord ReadDecision(const Statement& row) {
  DecisionRecord decision;
  decision.id = row.Int(0);
  decision.key.scope = ValueIn<Scope>(kScopeNames, row.Text(1));
  decision.key.key = row.Text(2);
  decision.key.machine_class = row.Text(3);
  decision.key.threads = row.Int(4);
  decision.config_hash = row.Text(5);
  decision.config_text = row.Text(6);
  decision.baseline_ns = row.Int(7);
  decision.tuned_ns = row.Int(8);
  decision.speedup = row.Real(9);
  decision.speedup_low = row.Real(10);
  decision.speedup_high = row.Real(11);
  decision.state = ValueIn<DecisionState>(kDecisionStateNames, row.Text(12));
  decision.reason = row.Text(13);
  decision.build_id = row.Int(14);
  decision.session_id = row.Int(15);
  decision.created_utc = row.Text(16);
  decision.updated_utc = row.Text(17);
  return decision;
}

}  // namespace fusemark
