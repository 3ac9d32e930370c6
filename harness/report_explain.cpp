#include "harness/report_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/table.h"

namespace fusemark {
namespace {

std::string Scaled(double value, const char* unit) {
  if (value >= 1e9) return fmt::format("{:.2f} G{}", value / 1e9, unit);
  if (value >= 1e6) return fmt::format("{:.2f} M{}", value / 1e6, unit);
  if (value >= 1e3) return fmt::format("{:.1f} k{}", value / 1e3, unit);
  return fmt::format("{:.0f} {}", value, unit);
}

// "(12 of this kind)" instead of twelve equal rows: what differs is only the name.
std::string KindOf(const ExplainedKernel& kernel) {
  return fmt::format("{} {} {} {} {} {} {}", kernel.cluster, kernel.klass, kernel.shape,
                     kernel.members, kernel.reason, kernel.flops,
                     kernel.bytes_read + kernel.bytes_written);
}

double BytesOf(const ExplainedKernel& kernel) {
  return static_cast<double>(kernel.bytes_read + kernel.bytes_written);
}

// All kernels of one kind.
struct Kind {
  const ExplainedKernel* first = nullptr;
  int count = 0;
  int timed = 0;  // of them; the others ran at bind or inside a native loop
  double ns = 0;  // of those, together
};

std::vector<Kind> KindsOf(const Explanation& explanation, const ProgramTimes* times) {
  std::vector<Kind> kinds;
  std::map<std::string, size_t> places;
  for (const ExplainedKernel& kernel : explanation.kernels) {
    const auto [place, fresh] = places.try_emplace(KindOf(kernel), kinds.size());
    if (fresh) kinds.push_back({&kernel});
    Kind& kind = kinds[place->second];
    ++kind.count;
    if (times == nullptr) continue;
    const auto time = times->kernels.find({kernel.computation, kernel.name});
    if (time == times->kernels.end()) continue;
    ++kind.timed;
    kind.ns += time->second.ns;
  }
  return kinds;
}

// The rows of custom calls, and what lies between them.
std::string CallsText(const Explanation& explanation) {
  if (explanation.calls.empty()) return "";
  TextTable table({{"custom call", TextTable::Align::kLeft},
                   {"target", TextTable::Align::kLeft},
                   {"result", TextTable::Align::kLeft},
                   {"reads clusters"},
                   {"run by", TextTable::Align::kLeft}});
  int64_t clusters = 0, refused = 0;
  for (const ExplainedCall& call : explanation.calls) {
    refused += call.refusal.empty() ? 0 : 1;
    table.AddRow({call.name, call.target, call.shape,
                  call.cluster == 0 ? "0" : fmt::format("0-{}", call.cluster),
                  call.refusal.empty() ? "LAPACK" : "nothing: " + call.refusal});
  }
  for (const ExplainedKernel& kernel : explanation.kernels) {
    clusters = std::max(clusters, kernel.cluster + 1);
  }
  std::string text = "\n" + table.ToText();
  text += fmt::format(
      "\n{} clusters of compiled kernels around {} custom calls (column cluster: how many calls a "
      "kernel's values have come through)\n",
      clusters, explanation.calls.size());
  if (refused > 0) {
    text += fmt::format("{} of the calls cannot be run, so this module can be explained only\n",
                        refused);
  }
  return text;
}

// Measured time of a kind, and the share of it that the machine's limits explain.
void AddTimes(const Kind& kind, double least_ns, std::vector<std::string>& cells) {
  if (kind.timed == 0) {
    cells.insert(cells.end(), {"-", ""});
    return;
  }
  cells.push_back(fmt::format("{:.1f} us", kind.ns / 1e3));
  cells.push_back(fmt::format("{:.0f} %", least_ns * kind.timed / std::max(kind.ns, 1.0) * 100));
}

std::string KernelsText(const std::vector<Kind>& kinds, const MachineLimits& limits, double least,
                        bool clustered, bool timed) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns = {{"calls"},
                                            {"class", Align::kLeft},
                                            {"result", Align::kLeft},
                                            {"shape", Align::kLeft},
                                            {"flops"},
                                            {"bytes"},
                                            {"bound by", Align::kLeft},
                                            {"at least"},
                                            {"share"}};
  if (timed) columns.insert(columns.end(), {{"measured"}, {"of limit"}});
  columns.insert(columns.end(), {{"computes", Align::kLeft}, {"why a kernel", Align::kLeft}});
  if (clustered) columns.insert(columns.begin(), {"cluster", Align::kRight});
  TextTable table(std::move(columns));
  for (const Kind& kind : kinds) {
    const ExplainedKernel* kernel = kind.first;
    const double moved = BytesOf(*kernel), own = limits.LeastNs(kernel->flops, moved);
    const bool memory = own > limits.LeastNs(kernel->flops, 0);
    std::vector<std::string> cells = {
        std::to_string(kind.count),
        kernel->klass,
        kernel->name,
        kernel->shape,
        Scaled(kernel->flops, "flop"),
        Scaled(moved, "B"),
        memory ? "memory" : "flops",
        fmt::format("{:.1f} us", own / 1e3),
        fmt::format("{:.1f} %", least > 0 ? own * kind.count / least * 100 : 0)};
    if (timed) AddTimes(kind, own, cells);
    cells.insert(cells.end(), {kernel->members, kernel->reason});
    if (clustered) cells.insert(cells.begin(), std::to_string(kernel->cluster));
    table.AddRow(std::move(cells));
  }
  return table.ToText();
}

std::string TimesText(const ProgramTimes& times, double least_ns) {
  return fmt::format(
      "measured, median of {} runs: {:.3f} ms in kernels and copies ({:.0f} % of it is the limit "
      "above), {:.3f} ms in all with the clock reads between them\n",
      times.runs, times.steps_ns / 1e6, least_ns / std::max(times.steps_ns, 1.0) * 100,
      times.run_ns / 1e6);
}

}  // namespace

std::string ExplainText(const Explanation& explanation, const CompileStats& stats,
                        const MachineLimits& limits, int threads, const ProgramTimes* times) {
  const std::vector<Kind> kinds = KindsOf(explanation, times);
  double flops = 0, bytes = 0, least = 0;
  for (const Kind& kind : kinds) {
    flops += kind.first->flops * kind.count;
    bytes += BytesOf(*kind.first) * kind.count;
    least += limits.LeastNs(kind.first->flops, BytesOf(*kind.first)) * kind.count;
  }
  std::string text =
      KernelsText(kinds, limits, least, !explanation.calls.empty(), times != nullptr);
  text += fmt::format(
      "\n{} instructions, {} after the graph passes, {} of them left to the host program\n"
      "{} kernels of {} kinds; {} and {} per pass; intermediates {} in one arena\n"
      "all arrays are dense and row-major; each kernel reads and writes its arrays once\n"
      "at least {:.3f} ms per pass: {} thread{} reach{} {} with fused multiply-adds and {} from "
      "memory (less is needed from caches)\n",
      explanation.instructions, explanation.instructions_after_passes, explanation.structural,
      explanation.kernels.size(), kinds.size(), Scaled(flops, "flop"), Scaled(bytes, "B"),
      Scaled(static_cast<double>(stats.peak_arena_bytes), "B"), least / 1e6, threads,
      threads == 1 ? "" : "s", threads == 1 ? "es" : "", Scaled(limits.flops_per_s, "flop/s"),
      Scaled(limits.bytes_per_s, "B/s"));
  if (times != nullptr) {
    text += TimesText(*times, least);
    if (std::any_of(kinds.begin(), kinds.end(), [](const Kind& kind) { return kind.timed == 0; })) {
      text +=
          "measured -: run once when the residents are bound, or inside a loop that is compiled as "
          "one piece\n";
    }
  }
  return text + CallsText(explanation);
}

std::string ExplainJson(const Explanation& explanation, const CompileStats& stats,
                        const MachineLimits& limits, const ProgramTimes* times) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["instructions"] = explanation.instructions;
  json["instructions_after_passes"] = explanation.instructions_after_passes;
  json["peak_arena_bytes"] = stats.peak_arena_bytes;
  json["machine"] = {{"flops_per_s", limits.flops_per_s}, {"bytes_per_s", limits.bytes_per_s}};
  if (times != nullptr) {
    json["measured"] = {{"runs", times->runs},
                        {"kernels_and_copies_ns", times->steps_ns},
                        {"run_ns", times->run_ns}};
  }
  json["kernels"] = nlohmann::ordered_json::array();
  for (const ExplainedKernel& kernel : explanation.kernels) {
    json["kernels"].push_back({{"computation", kernel.computation},
                               {"result", kernel.name},
                               {"class", kernel.klass},
                               {"shape", kernel.shape},
                               {"instructions", kernel.instructions},
                               {"computes", kernel.members},
                               {"reason", kernel.reason},
                               {"cluster", kernel.cluster},
                               {"schedule", kernel.schedule},
                               {"flops", kernel.flops},
                               {"bytes_read", kernel.bytes_read},
                               {"bytes_written", kernel.bytes_written},
                               {"at_least_ns", limits.LeastNs(kernel.flops, BytesOf(kernel))}});
    if (times == nullptr) continue;
    const auto time = times->kernels.find({kernel.computation, kernel.name});
    if (time == times->kernels.end()) continue;
    json["kernels"].back()["measured_ns"] = time->second.ns;
    json["kernels"].back()["launches"] = time->second.launches;
  }
  json["custom_calls"] = nlohmann::ordered_json::array();
  for (const ExplainedCall& call : explanation.calls) {
    json["custom_calls"].push_back({{"computation", call.computation},
                                    {"name", call.name},
                                    {"target", call.target},
                                    {"shape", call.shape},
                                    {"cluster", call.cluster},
                                    {"runs", call.refusal.empty()},
                                    {"refusal", call.refusal}});
  }
  return json.dump(2) + "\n";
}

}  // namespace fusemark
