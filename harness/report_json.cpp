#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/support/hash.h"
#include "harness/report_document.h"
#include "results_db/queries.h"

namespace fusemark {
namespace {

using Json = nlohmann::ordered_json;

Json OptionalInt(const std::optional<int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// JSON has no NaN or infinity.
Json Number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json Interval(const Quantile& quantile) {
  if (!quantile.low || !quantile.high) return nullptr;
  return Json::array({*quantile.low, *quantile.high});
}

Json LatencyJson(const Summary& latency) {
  Json json;
  json["n"] = latency.n;
  json["p50_ns"] = OptionalInt(latency.p50.value);
  json["p90_ns"] = OptionalInt(latency.p90.value);
  json["p99_ns"] = OptionalInt(latency.p99.value);
  json["mean_ns"] = latency.n > 0 ? Json(static_cast<int64_t>(latency.mean)) : Json(nullptr);
  json["min_ns"] = latency.n > 0 ? Json(latency.min) : Json(nullptr);
  if (!latency.p99.value) json["why_not"] = latency.p99.why_not;
  json["p50_ci95_ns"] = Interval(latency.p50);
  json["p90_ci95_ns"] = Interval(latency.p90);
  json["p99_ci95_ns"] = Interval(latency.p99);
  json["max_ns"] = latency.n > 0 ? Json(latency.max) : Json(nullptr);
  json["mad_ns"] = latency.n > 0 ? Json(latency.mad) : Json(nullptr);
  json["n_eff"] = Number(latency.effective_count);
  return json;
}

Json LeafJson(const LeafComparison& leaf) {
  Json json;
  json["leaf"] = leaf.leaf;
  json["shape"] = ToString(leaf.shape);
  json["mismatches"] = leaf.mismatches;
  json["first_mismatch"] = leaf.first_mismatch;
  json["got"] = leaf.got;
  json["want"] = leaf.want;
  json["max_abs_err"] = Number(leaf.max_abs_err);
  json["max_over_rms"] = Number(leaf.max_over_rms);
  json["tolerance"] = leaf.tolerance;
  return json;
}

Json NumericsJson(const NumericsRow& numerics) {
  Json json;
  json["status"] = NameOf(numerics.status);
  json["max_rel_err"] = numerics.max_rel_err ? Number(*numerics.max_rel_err) : Json(nullptr);
  json["reference"] = numerics.reference.empty() ? Json(nullptr) : Json(numerics.reference);
  if (!numerics.failures.empty()) {
    json["failures"] = Json::array();
    for (const LeafComparison& leaf : numerics.failures) {
      json["failures"].push_back(LeafJson(leaf));
    }
  }
  if (!numerics.messages.empty()) json["messages"] = numerics.messages;
  return json;
}

Json ConfigJson(const ResultRow& row) {
  Json json;
  json["source"] = NameOf(row.config_source);
  json["hash"] = row.config_text.empty() ? Json(nullptr) : Json(ToHex(HashText(row.config_text)));
  if (!row.config_note.empty()) json["note"] = row.config_note;
  return json;
}

Json RowJson(const ResultRow& row) {
  Json json;
  json["workload"] = row.workload;
  json["engine"] = row.engine;
  json["threads"] = row.threads;
  json["status"] = NameOf(row.status);
  json["latency"] = LatencyJson(row.latency);
  json["throughput"] = {{"value", row.throughput ? Number(*row.throughput) : Json(nullptr)},
                        {"unit", row.throughput_unit}};
  json["first_call_ns"] = row.measurement.first_call_ns;
  json["compile_ns"] = row.compile_ns;
  json["peak_arena_bytes"] = row.peak_arena_bytes;
  json["kernels"] = row.kernels;
  json["numerics"] = NumericsJson(row.numerics);
  json["config"] = ConfigJson(row);
  json["residents"] = row.residents;
  json["bind_ns"] = row.bind_ns;
  json["warmup"] = {{"iterations", row.measurement.warmup_iterations},
                    {"total_ns", row.measurement.warmup_total_ns},
                    {"steady", row.measurement.steady}};
  if (row.error) {
    json["error"] = {{"code", CodeName(row.error->code)}, {"message", row.error->message}};
  }
  json["notices"] = row.notices;
  return json;
}

}  // namespace

nlohmann::ordered_json DocumentHead(const ReportContext& context) {
  Json json;
  json["schema_version"] = 1;
  json["command"] = context.command;
  json["tool"] = {{"name", "fusemark"},
                  {"version", context.build.version},
                  {"git_sha", context.build.git_sha},
                  {"dirty", context.build.dirty},
                  {"build_type", context.build.build_type},
                  {"compiler", context.build.compiler},
                  {"llvm", context.build.llvm_version}};
  json["machine"] = {{"fingerprint", context.machine.fingerprint},
                     {"class", context.machine.machine_class},
                     {"cpu", context.machine.cpu_model},
                     {"arch", context.machine.arch},
                     {"isa", context.machine.isa},
                     {"cores", context.machine.cores},
                     {"details", Json::parse(context.machine.details_json)}};
  return json;
}

Json LimitsJson(const LimitsRecord& limits) {
  Json json = {{"measured_utc", limits.measured_utc},
               {"age_s", limits.age_s},
               {"threads", limits.threads},
               {"values", Json::array()}};
  for (const LimitRecord& limit : limits.values) {
    json["values"].push_back({{"name", limit.name},
                              {"unit", limit.unit},
                              {"threads", limit.threads},
                              {"value", Number(limit.value)}});
  }
  return json;
}

std::string DocumentText(Json json, const Outcome& outcome) {
  json["exit_code"] = outcome.value();
  json["reasons"] = outcome.reasons();
  // Names and messages may hold bytes that are not UTF-8; they must not end the program.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ReportJson(std::span<const ResultRow> rows, const Outcome& outcome,
                       const ReportContext& context) {
  Json json = DocumentHead(context);
  json["limits"] = context.limits ? LimitsJson(*context.limits) : Json(nullptr);
  json["results"] = Json::array();
  for (const ResultRow& row : rows) json["results"].push_back(RowJson(row));
  return DocumentText(std::move(json), outcome);
}

}  // namespace fusemark
