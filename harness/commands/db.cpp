// fusemark db info|runs|best|limits: what the results database holds. Read only.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/report.h"
#include "harness/report_document.h"
#include "harness/report_roofline.h"
#include "harness/table.h"
#include "results_db/limits.h"
#include "results_db/queries.h"

namespace fusemark {
namespace {

using Align = TextTable::Align;
using Json = nlohmann::ordered_json;

struct DbArguments {
  std::string db, format = "text", workload;
  int64_t limit = 20;
  bool json() const { return format == "json"; }
};

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json OptionalNumber(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Result<std::string> Info(Db& db, const DbArguments& arguments) {
  FM_RETURN_IF_ERROR(db.CheckIntegrity());
  FM_TRY(const DbInfo info, ReadInfo(db));
  if (arguments.json()) {
    Json json = {{"schema_version", 1},
                 {"path", db.path()},
                 {"database_schema", info.schema_version},
                 {"bytes", info.bytes},
                 {"integrity", "ok"}};
    for (const auto& [name, rows] : info.rows) json["rows"][name] = rows;
    return Dump(json);
  }
  std::string text = fmt::format("{}\nschema version {}, {}, integrity ok\n\n", db.path(),
                                 info.schema_version, FormatBytes(info.bytes));
  TextTable table({{"table", Align::kLeft}, {"rows"}});
  for (const auto& [name, rows] : info.rows) table.AddRow({name, std::to_string(rows)});
  return text + table.ToText();
}

std::string RunsJson(const std::vector<RunSummary>& runs) {
  Json json = {{"schema_version", 1}, {"runs", Json::array()}};
  for (const RunSummary& run : runs) {
    json["runs"].push_back(
        {{"id", run.id},
         {"limits_id", run.limits_id ? Json(*run.limits_id) : Json(nullptr)},
         {"started_utc", run.started_utc},
         {"workload", run.workload},
         {"engine", run.engine},
         {"threads", run.threads},
         {"config", NameOf(run.config_source)},
         {"status", NameOf(run.status)},
         {"numerics", NameOf(run.numerics)},
         {"n", run.n},
         {"p50_ns", OptionalNumber(run.p50_ns)},
         {"p99_ns", OptionalNumber(run.p99_ns)},
         {"throughput", {{"value", OptionalNumber(run.throughput)}, {"unit", run.throughput_unit}}},
         {"git_sha", run.git_sha},
         {"cpu", run.cpu_model},
         {"message", run.message}});
  }
  return Dump(json);
}

Result<std::string> Runs(Db& db, const DbArguments& arguments) {
  FM_TRY(const std::vector<RunSummary> runs, ReadRuns(db, arguments.workload, arguments.limit));
  if (arguments.json()) return RunsJson(runs);
  if (runs.empty()) return std::string("no runs stored\n");
  TextTable table({{"id"},
                   {"started", Align::kLeft},
                   {"workload", Align::kLeft},
                   {"engine", Align::kLeft},
                   {"threads"},
                   {"config", Align::kLeft},
                   {"p50"},
                   {"p99"},
                   {"throughput"},
                   {"n"},
                   {"numerics", Align::kLeft},
                   {"status", Align::kLeft},
                   {"build", Align::kLeft}});
  for (const RunSummary& run : runs) {
    table.AddRow({std::to_string(run.id), run.started_utc, run.workload, run.engine,
                  std::to_string(run.threads), std::string(NameOf(run.config_source)),
                  run.p50_ns ? FormatNs(*run.p50_ns) : "-",
                  run.p99_ns ? FormatNs(*run.p99_ns) : "-",
                  run.throughput ? FormatCount(*run.throughput) + " " + run.throughput_unit : "-",
                  std::to_string(run.n), std::string(NameOf(run.numerics)),
                  std::string(NameOf(run.status)), run.git_sha.substr(0, 12)});
  }
  return table.ToText();
}

std::string BestJson(const std::vector<BestDecision>& best) {
  Json json = {{"schema_version", 1}, {"best", Json::array()}};
  for (const auto& [decision, workload] : best) {
    json["best"].push_back({{"id", decision.id},
                            {"workload", workload},
                            {"key", decision.key.key},
                            {"machine_class", decision.key.machine_class},
                            {"threads", decision.key.threads},
                            {"baseline_ns", decision.baseline_ns},
                            {"tuned_ns", decision.tuned_ns},
                            {"speedup", decision.speedup},
                            {"speedup_ci95", {decision.speedup_low, decision.speedup_high}},
                            {"created_utc", decision.created_utc},
                            {"config_hash", decision.config_hash},
                            {"config", decision.config_text}});
  }
  return Dump(json);
}

Result<std::string> Best(Db& db, const DbArguments& arguments) {
  FM_TRY(const std::vector<BestDecision> best, ReadBest(db, arguments.workload));
  if (arguments.json()) return BestJson(best);
  if (best.empty()) {
    return std::string("no tuned configs stored: 'fusemark tune WORKLOAD' makes one\n");
  }
  TextTable table({{"workload", Align::kLeft},
                   {"threads"},
                   {"machine class", Align::kLeft},
                   {"default"},
                   {"tuned"},
                   {"speedup"},
                   {"95 % interval", Align::kLeft},
                   {"created", Align::kLeft},
                   {"config", Align::kLeft}});
  for (const auto& [decision, workload] : best) {
    table.AddRow({workload.empty() ? decision.key.key.substr(0, 12) : workload,
                  std::to_string(decision.key.threads), decision.key.machine_class.substr(0, 12),
                  FormatNs(static_cast<double>(decision.baseline_ns)),
                  FormatNs(static_cast<double>(decision.tuned_ns)),
                  fmt::format("{:.2f}x", decision.speedup),
                  fmt::format("[{:.2f}, {:.2f}]", decision.speedup_low, decision.speedup_high),
                  decision.created_utc, decision.config_hash.substr(0, 12)});
  }
  return table.ToText();
}

Json StoredLimitsJson(const StoredLimits& stored) {
  Json json = {{"id", stored.limits.id}};
  json.update(LimitsJson(stored.limits));
  json["sessions"] = stored.sessions;
  json["git_sha"] = stored.git_sha;
  json["cpu"] = stored.cpu_model;
  return json;
}

Result<std::string> Limits(Db& db, const DbArguments& arguments) {
  FM_TRY(const std::vector<StoredLimits> limits, ReadLimits(db, arguments.limit));
  if (arguments.json()) {
    Json json = {{"schema_version", 1}, {"limits", Json::array()}};
    for (const StoredLimits& stored : limits) {
      json["limits"].push_back(StoredLimitsJson(stored));
    }
    return Dump(json);
  }
  if (limits.empty()) {
    return std::string("no limits stored: 'fusemark roofline' measures them\n");
  }
  std::string text;
  for (const StoredLimits& stored : limits) {
    text +=
        fmt::format("{}{}: {}, build {}, {} session{}\n{}", text.empty() ? "" : "\n",
                    stored.limits.measured_utc, stored.cpu_model, stored.git_sha.substr(0, 12),
                    stored.sessions, stored.sessions == 1 ? "" : "s", RooflineTable(stored.limits));
  }
  return text;
}

using Query = Result<std::string> (*)(Db&, const DbArguments&);

Result<void> Answer(const DbArguments& arguments, Query query) {
  FM_TRY(const std::unique_ptr<Db> db, Db::Open(arguments.db, {.read_only = true}));
  FM_TRY(const std::string text, query(*db, arguments));
  return WriteOutput("", text);
}

void AddQuery(CLI::App& parent, SelectedCommand& selected, const char* name,
              const char* description, Query query) {
  CLI::App* command = parent.add_subcommand(name, description);
  auto arguments = std::make_shared<DbArguments>();
  arguments->db = DefaultDbPath();
  command->add_option("--db", arguments->db, "Database file")->capture_default_str();
  AddFormatOption(*command, arguments->format);
  if (query == Runs || query == Best) {
    command->add_option("--workload", arguments->workload, "Only this workload");
  }
  if (query == Runs || query == Limits) {
    command->add_option("--limit", arguments->limit, "Newest so many")
        ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
        ->capture_default_str();
  }
  command->callback([&selected, arguments, query] {
    selected = [arguments, query] {
      Outcome outcome;
      const Result<void> answered = Answer(*arguments, query);
      if (!answered.ok()) outcome.Add(ExitCode::kFailed, answered.error().message);
      return outcome;
    };
  });
}

}  // namespace

void AddDbCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("db", "Look into the results database");
  command->require_subcommand(1);
  AddQuery(*command, selected, "info", "Path, schema, integrity and row counts", Info);
  AddQuery(*command, selected, "runs", "Stored runs, newest first", Runs);
  AddQuery(*command, selected, "best", "Tuned configs in force", Best);
  AddQuery(*command, selected, "limits", "Measured limits of machines, newest first", Limits);
}

}  // namespace fusemark
