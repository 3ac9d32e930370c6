// fusemark explain: what on mode makes of a workload: kernels, what was fused and why not more,
// bytes, operations.
#include "compiler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "autotuner/machine_limits.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/load.h"
#include "harness/output.h"
#include "harness/table.h"

namespace fusemark {
namespace {

struct ExplainArguments {
  std::string workload, engine = "on", format = "text";
  int threads = 0;
};

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
};

std::vector<Kind> KindsOf(const Explanation& explanation) {
  std::vector<Kind> kinds;
  std::map<std::string, size_t> places;
  for (const ExplainedKernel& kernel : explanation.kernels) {
    const auto [place, fresh] = places.try_emplace(KindOf(kernel), kinds.size());
    if (fresh) kinds.push_back({&kernel, 0});
    ++kinds[place->second].count;
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

std::string KernelsText(const std::vector<Kind>& kinds, const MachineLimits& limits, double least,
                        bool clustered) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns = {{"calls"},
                                            {"class", Align::kLeft},
                                            {"result", Align::kLeft},
                                            {"shape", Align::kLeft},
                                            {"flops"},
                                            {"bytes"},
                                            {"bound by", Align::kLeft},
                                            {"at least"},
                                            {"share"},
                                            {"computes", Align::kLeft},
                                            {"why a kernel", Align::kLeft}};
  if (clustered) columns.insert(columns.begin(), {"cluster", Align::kRight});
  TextTable table(std::move(columns));
  for (const auto& [kernel, count] : kinds) {
    const double moved = BytesOf(*kernel), own = limits.LeastNs(kernel->flops, moved);
    const bool memory = own > limits.LeastNs(kernel->flops, 0);
    std::vector<std::string> cells = {
        std::to_string(count),
        kernel->klass,
        kernel->name,
        kernel->shape,
        Scaled(kernel->flops, "flop"),
        Scaled(moved, "B"),
        memory ? "memory" : "flops",
        fmt::format("{:.1f} us", own / 1e3),
        fmt::format("{:.1f} %", least > 0 ? own * count / least * 100 : 0),
        kernel->members,
        kernel->reason};
    if (clustered) cells.insert(cells.begin(), std::to_string(kernel->cluster));
    table.AddRow(std::move(cells));
  }
  return table.ToText();
}

std::string TextOf(const Explanation& explanation, const CompileStats& stats,
                   const MachineLimits& limits, int threads) {
  const std::vector<Kind> kinds = KindsOf(explanation);
  double flops = 0, bytes = 0, least = 0;
  for (const auto& [kernel, count] : kinds) {
    flops += kernel->flops * count;
    bytes += BytesOf(*kernel) * count;
    least += limits.LeastNs(kernel->flops, BytesOf(*kernel)) * count;
  }
  std::string text = KernelsText(kinds, limits, least, !explanation.calls.empty());
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
  return text + CallsText(explanation);
}

std::string JsonOf(const Explanation& explanation, const CompileStats& stats,
                   const MachineLimits& limits) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["instructions"] = explanation.instructions;
  json["instructions_after_passes"] = explanation.instructions_after_passes;
  json["peak_arena_bytes"] = stats.peak_arena_bytes;
  json["machine"] = {{"flops_per_s", limits.flops_per_s}, {"bytes_per_s", limits.bytes_per_s}};
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

Outcome Execute(const ExplainArguments& arguments) {
  Outcome outcome;
  Progress progress;
  if (const auto names = CheckWorkloadNames({arguments.workload}); !names.ok()) {
    outcome.Add(ExitCode::kUsage, names.error().message);
    return outcome;
  }
  ExitCode code = ExitCode::kFailed;
  LoadOptions load;
  load.without_inputs = load.allow_unsupported = true;
  const auto loaded = LoadForRun(arguments.workload, load, code);
  if (!loaded.ok()) {
    outcome.Add(code, loaded.error().message);
    return outcome;
  }
  CompileOptions options = OptionsFor(Engine::kOn, ThreadsOf(arguments.threads, progress), {});
  options.allow_unknown_calls = true;
  const auto explanation = Explain(loaded->workload.module, options);
  if (!explanation.ok()) {
    outcome.Add(ExitCode::kFailed, explanation.error().message);
    return outcome;
  }
  const auto executable = Compile(loaded->workload.module, options);
  if (!executable.ok()) {
    outcome.Add(ExitCode::kFailed, executable.error().message);
    return outcome;
  }
  const auto limits = MeasureMachineLimits(options.target);
  if (!limits.ok()) {
    outcome.Add(ExitCode::kFailed, limits.error().message);
    return outcome;
  }
  const CompileStats stats = (*executable)->Stats();
  const auto written = WriteOutput("", arguments.format == "json"
                                           ? JsonOf(*explanation, stats, *limits)
                                           : TextOf(*explanation, stats, *limits, options.threads));
  if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
  return outcome;
}

}  // namespace

void AddExplainCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command =
      app.add_subcommand("explain", "Show the kernels of a workload and why they are as they are");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_option("workload", arguments->workload, "HLO file, YAML file or built-in name")
      ->required();
  command->add_option("--engine", arguments->engine, "only on has a plan to explain")
      ->check(CLI::IsMember({"on"}))
      ->capture_default_str();
  AddFormatOption(*command, arguments->format);
  AddThreadsOption(*command, arguments->threads);
  command->callback(
      [&selected, arguments] { selected = [arguments] { return Execute(*arguments); }; });
}

}  // namespace fusemark
