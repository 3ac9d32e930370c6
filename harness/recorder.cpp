#include "harness/recorder.h"

#include "compiler/support/strings.h"
#include "harness/environment.h"
#include "results_db/runs.h"
#include "results_db/trials.h"

namespace fusemark {
namespace {

MetricRecord QuantileMetric(const char* name, const Quantile& quantile, int64_t n) {
  MetricRecord metric{.name = name, .unit = "ns", .n = n, .why_not = quantile.why_not};
  if (quantile.value) metric.value = static_cast<double>(*quantile.value);
  if (quantile.low) metric.low = static_cast<double>(*quantile.low);
  if (quantile.high) metric.high = static_cast<double>(*quantile.high);
  return metric;
}

MetricRecord ScalarMetric(const char* name, std::string unit, double value, int64_t n = 1) {
  return {.name = name, .unit = std::move(unit), .value = value, .n = n};
}

std::vector<MetricRecord> Metrics(const ResultRow& row) {
  const int64_t n = row.latency.n;
  std::vector<MetricRecord> metrics = {
      QuantileMetric("latency_p50", row.latency.p50, n),
      QuantileMetric("latency_p90", row.latency.p90, n),
      QuantileMetric("latency_p99", row.latency.p99, n),
      ScalarMetric("compile", "ns", static_cast<double>(row.compile_ns)),
      ScalarMetric("bind", "ns", static_cast<double>(row.bind_ns)),
      ScalarMetric("first_call", "ns", static_cast<double>(row.measurement.first_call_ns)),
      ScalarMetric("warmup", "ns", static_cast<double>(row.measurement.warmup_total_ns),
                   row.measurement.warmup_iterations),
      ScalarMetric("timer", "ns", static_cast<double>(row.measurement.timer_ns)),
      ScalarMetric("peak_arena", "bytes", static_cast<double>(row.peak_arena_bytes)),
      ScalarMetric("kernels", "launches", static_cast<double>(row.kernels))};
  if (n > 0) {
    metrics.push_back(ScalarMetric("latency_mean", "ns", row.latency.mean, n));
    metrics.push_back(ScalarMetric("latency_min", "ns", static_cast<double>(row.latency.min), n));
    metrics.push_back(ScalarMetric("latency_max", "ns", static_cast<double>(row.latency.max), n));
    metrics.push_back(ScalarMetric("latency_mad", "ns", static_cast<double>(row.latency.mad), n));
    metrics.push_back(ScalarMetric("samples_effective", "samples", row.latency.effective_count, n));
  }
  if (row.throughput) {
    metrics.push_back(ScalarMetric("throughput", row.throughput_unit, *row.throughput, n));
  }
  return metrics;
}

RunRecord ToRecord(const ResultRow& row) {
  RunRecord run;
  run.engine = row.engine;
  run.threads = row.threads;
  run.residents = row.residents;
  run.config_source = row.config_source;
  run.config_text = row.config_text;
  run.status = row.status;
  if (row.error) {
    run.error_code = CodeName(row.error->code);
    run.message = row.error->message;
  } else {
    std::vector<std::string> notes = row.notices;
    if (!row.config_note.empty()) notes.push_back(row.config_note);
    run.message = Join(notes, "\n");
  }
  run.steady = row.measurement.steady;
  run.numerics = row.numerics.status;
  run.numerics_reference = row.numerics.reference;
  run.max_rel_err = row.numerics.max_rel_err;
  run.started_utc = row.started_utc;
  if (row.status != RunStatus::kFailed) run.metrics = Metrics(row);
  run.warmup_ns = row.measurement.warmup_ns;
  run.timed_ns = row.measurement.samples_ns;
  return run;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::Open(const std::string& path,
                                                 const std::string& command,
                                                 const std::string& arguments, int64_t seed,
                                                 const std::string& options_json) {
  auto recorder = std::make_unique<Recorder>();
  FM_TRY(recorder->db_, Db::Open(path));
  SessionRecord session;
  FM_TRY(session.machine_id, StoreMachine(*recorder->db_, CurrentMachine()));
  FM_TRY(session.build_id, StoreBuild(*recorder->db_, CurrentBuild()));
  session.command = command;
  session.arguments = arguments;
  session.seed = seed;
  session.options_json = options_json;
  recorder->build_id_ = session.build_id;
  recorder->machine_id_ = session.machine_id;
  FM_TRY(recorder->session_id_, StartSession(*recorder->db_, session));
  return recorder;
}

Result<void> Recorder::Store(const Workload& workload, const std::string& module_hash,
                             const ResultRow& row) {
  RunRecord run = ToRecord(row);
  run.session_id = session_id_;
  FM_TRY(run.workload_id, StoreWorkload(*db_, {workload.name, module_hash,
                                               workload.path.empty() ? "built-in" : workload.path,
                                               workload.items_per_run, workload.item_unit}));
  FM_TRY(const int64_t id, StoreRun(*db_, run));
  FM_CHECK(id > 0);
  return Ok();
}

Result<void> Recorder::Finish(int exit_code) {
  return EndSession(*db_, session_id_, exit_code);
}

std::string PlanKey(const std::string& module_hash, const std::vector<int64_t>& residents) {
  return residents.empty() ? module_hash : module_hash + "+r" + JoinInts(residents);
}

Result<std::optional<DecisionRecord>> TunedConfig(Db& db, const std::string& plan_key,
                                                  const std::string& machine_class, int threads) {
  return FindDecision(db, {Scope::kPlan, plan_key, machine_class, threads});
}

}  // namespace fusemark
