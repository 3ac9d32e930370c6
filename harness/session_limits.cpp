#include "harness/session_limits.h"

#include "autotuner/machine_limits.h"
#include "compiler/codegen/target.h"
#include "results_db/limits.h"

namespace fusemark {

Result<LimitsRecord> SessionLimits(Recorder& recorder, const SessionLimitsOptions& options) {
  FM_TRY(const std::optional<LimitsRecord> young,
         YoungLimits(recorder.db(), recorder.machine_id(), recorder.build_id(), options.threads,
                     options.max_age_s));
  if (young) {
    FM_RETURN_IF_ERROR(SetSessionLimits(recorder.db(), recorder.session_id(), young->id));
    return *young;
  }
  loops::Target target = HostTarget();
  target.threads = options.threads;
  LimitsOptions measure;
  measure.each_ns = options.each_ns;
  measure.cancelled = options.cancelled;
  FM_TRY(const std::vector<Limit> measured, MeasureLimits(target, measure));
  LimitsRecord limits{.machine_id = recorder.machine_id(),
                      .build_id = recorder.build_id(),
                      .threads = options.threads,
                      .measured_utc = UtcNow()};
  for (const Limit& limit : measured) {
    limits.values.push_back({limit.name, limit.unit, limit.threads, limit.value});
  }
  FM_TRY(limits.id, StoreLimits(recorder.db(), limits));
  FM_RETURN_IF_ERROR(SetSessionLimits(recorder.db(), recorder.session_id(), limits.id));
  return limits;
}

}  // namespace fusemark
