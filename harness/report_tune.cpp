#include "harness/report_tune.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/report_document.h"
#include "harness/table.h"

namespace fusemark {
namespace {

using Json = nlohmann::ordered_json;

int64_t Count(const TuneResult& result, TrialOutcome outcome) {
  return result.outcomes[static_cast<size_t>(outcome)];
}

Json Positive(int64_t ns) {
  return ns > 0 ? Json(ns) : Json(nullptr);
}

std::string Time(int64_t ns) {
  return ns > 0 ? FormatNs(static_cast<double>(ns)) : "-";
}

Json RowJson(const TuneRow& row) {
  const TuneResult& result = row.result;
  Json json;
  json["workload"] = row.workload;
  json["engine"] = "on";
  json["threads"] = row.threads;
  json["strategy"] = row.strategy;
  json["seed"] = row.seed;
  json["space"] = {
      {"open_choices", row.open_choices}, {"tasks", row.tasks}, {"log2_size", row.log2_size}};
  json["trials"] = {{"total", result.trials},
                    {"ok", Count(result, TrialOutcome::kOk)},
                    {"compile_failed", Count(result, TrialOutcome::kCompileFailed)},
                    {"run_failed", Count(result, TrialOutcome::kRunFailed)},
                    {"wrong", Count(result, TrialOutcome::kWrong)}};
  json["default_ns"] = Positive(result.default_ns);
  json["best_of_search_ns"] = Positive(result.best_ns);
  json["confirmed"] = {{"default_ns", Positive(result.confirmed_default_ns)},
                       {"tuned_ns", Positive(result.confirmed_best_ns)}};
  if (result.confirmation) {
    json["confirmed"]["ratio"] = result.confirmation->ratio;
    if (result.confirmation->has_interval) {
      json["confirmed"]["ratio_ci95"] = {result.confirmation->ratio_low,
                                         result.confirmation->ratio_high};
    }
    json["confirmed"]["pairs"] = result.confirmation->n;
  }
  json["adopted"] = result.adopt;
  json["why"] = result.why;
  if (!result.stale.empty()) json["stale"] = result.stale;
  json["numerics"] = {{"reference", row.reference}};
  json["config"] = {{"hash", result.best_id.empty() ? Json(nullptr) : Json(result.best_id)},
                    {"text", result.best_text}};
  json["stored"] = row.stored.empty() ? Json(nullptr) : Json(row.stored);
  return json;
}

}  // namespace

std::string TuneText(const TuneRow& row) {
  const TuneResult& result = row.result;
  using Align = TextTable::Align;
  TextTable table({{"workload", Align::kLeft},
                   {"threads"},
                   {"trials"},
                   {"failed"},
                   {"wrong"},
                   {"default"},
                   {"tuned"},
                   {"speedup"},
                   {"95 % interval", Align::kLeft},
                   {"adopted", Align::kLeft}});
  const auto& confirmation = result.confirmation;
  const bool interval = confirmation && confirmation->has_interval;
  table.AddRow({row.workload, std::to_string(row.threads), std::to_string(result.trials),
                std::to_string(Count(result, TrialOutcome::kCompileFailed) +
                               Count(result, TrialOutcome::kRunFailed)),
                std::to_string(Count(result, TrialOutcome::kWrong)),
                Time(confirmation ? result.confirmed_default_ns : result.default_ns),
                Time(result.confirmed_best_ns),
                confirmation ? fmt::format("{:.3f}x", 1 / confirmation->ratio) : "-",
                interval ? fmt::format("[{:.3f}, {:.3f}]", 1 / confirmation->ratio_high,
                                       1 / confirmation->ratio_low)
                         : "-",
                result.adopt ? "yes" : "no"});
  std::string text = table.ToText();
  text += fmt::format("\n{}\n", result.why);
  text += fmt::format(
      "searched by {} (seed {}): {} open choices of the plan, knobs of {} tasks, 2^{:.0f} configs\n"
      "every candidate was compared with {}\n",
      row.strategy, row.seed, row.open_choices, row.tasks, row.log2_size, row.reference);
  if (confirmation) {
    text += fmt::format("times and speedup: {} fresh interleaved pairs, after the search\n",
                        confirmation->n);
  }
  if (!row.stored.empty()) {
    text += result.adopt
                ? fmt::format("stored in {}: 'run {} --tuned' uses it\n", row.stored, row.workload)
                : fmt::format("trials are stored in {}\n", row.stored);
  }
  return text;
}

std::string TuneJson(const TuneRow* row, const Outcome& outcome, const ReportContext& context) {
  Json json = DocumentHead(context);
  json["results"] = Json::array();
  if (row != nullptr) json["results"].push_back(RowJson(*row));
  return DocumentText(std::move(json), outcome);
}

}  // namespace fusemark
