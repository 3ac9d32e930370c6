#include "harness/db_trial_log.h"

#include <cstdlib>

#include "autotuner/statistics.h"
#include "compiler/loops/knobs.h"
#include "results_db/db.h"
#include "results_db/trials.h"

namespace fusemark {
namespace {

TrialStatus StatusOf(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kOk: return TrialStatus::kOk;
    case TrialOutcome::kCompileFailed: return TrialStatus::kCompileFail;
    case TrialOutcome::kRunFailed: return TrialStatus::kRunFail;
    case TrialOutcome::kWrong: return TrialStatus::kWrong;
  }
  return TrialStatus::kIllegal;
}

}  // namespace

Result<void> DbTrialLog::Record(const Trial& trial) {
  TrialRecord record;
  record.session_id = recorder_.session_id();
  record.scope = Scope::kPlan;
  record.key = plan_key_;
  record.threads = threads_;
  record.config_hash = trial.config_id;
  record.config_text = trial.config_text;
  record.knob_version = loops::kKnobTableVersion;
  record.status = StatusOf(trial.outcome);
  record.compile_ns = trial.compile_ns;
  if (trial.outcome == TrialOutcome::kOk) {
    const Summary summary = Summarise(trial.samples_ns);
    record.median_ns = MedianNs(trial.samples_ns);
    record.mad_ns = summary.mad;
    record.n = summary.n;
  }
  record.max_error = trial.max_error;
  record.message = trial.message;
  record.created_utc = UtcNow();
  record.knobs = trial.decisions;
  FM_TRY(const int64_t id, StoreTrial(recorder_.db(), record));
  FM_CHECK(id > 0);
  return Ok();
}

}  // namespace fusemark
