// Writes what `tune` tried and concluded, and finds the decision in force. A confirmed decision
// replaces the former one of its key in the same transaction, so a reader sees exactly one or the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "results_db/db.h"
#include "results_db/records.h"

namespace fusemark {

// Trial and knobs. A second trial of the same config in the same session is an error of the caller.
Result<int64_t> StoreTrial(Db& db, const TrialRecord& trial);

// Newest first, all sessions on machines of this class; knobs are not read back.
Result<std::vector<TrialRecord>> FindTrials(Db& db, const DecisionKey& key);

// Storing a confirmed decision revokes the one in force ("superseded"). Returns the row's id.
Result<int64_t> StoreDecision(Db& db, const DecisionRecord& decision);

// The confirmed decision of this key, if any. Whether its text still fits this program is for the
// caller to judge; if not, MarkDecision(kStale) keeps the row and takes it out of force.
Result<std::optional<DecisionRecord>> FindDecision(Db& db, const DecisionKey& key);

Result<void> MarkDecision(Db& db, int64_t id, DecisionState state, const std::string& reason);

}  // namespace fusemark
