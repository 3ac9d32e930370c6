// fusemark roofline: what this machine can do at most, measured now and stored.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "autotuner/machine_limits.h"
#include "harness/commands/commands.h"
#include "harness/commands/engine_options.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/output.h"
#include "harness/report_document.h"
#include "harness/report_roofline.h"
#include "harness/session_limits.h"

namespace fusemark {
namespace {

struct RooflineArguments {
  std::string format = "table", db;
  int threads = 0;
};

// Longer than `run` takes: here somebody looks at the numbers themselves.
constexpr int64_t kEachNs = 100'000'000;

std::string TableText(const LimitsRecord& limits) {
  const MachineRecord machine = CurrentMachine();
  return fmt::format("{}, {} CPUs\n\n{}", machine.cpu_model, machine.cores, RooflineTable(limits));
}

std::string JsonText(const LimitsRecord& limits, const Outcome& outcome) {
  nlohmann::ordered_json json = DocumentHead({CurrentMachine(), CurrentBuild(), "roofline", {}});
  json["limits"] = LimitsJson(limits);
  for (const LimitKind& kind : LimitKinds()) {
    json["meanings"][std::string(kind.name)] = std::string(kind.meaning);
  }
  return DocumentText(std::move(json), outcome);
}

Result<LimitsRecord> MeasureAndStore(const RooflineArguments& arguments, Progress& progress) {
  const int threads = ThreadsOf(arguments.threads, progress);
  for (const std::string& warning : EnvironmentWarnings(CurrentMachine())) {
    progress.Line("warning: " + warning);
  }
  FM_TRY(const std::unique_ptr<Recorder> recorder,
         Recorder::Open(arguments.db, "roofline", "", 0,
                        nlohmann::json{{"threads", threads}, {"each_ns", kEachNs}}.dump()));
  progress.Update("measuring");
  Result<LimitsRecord> limits = SessionLimits(
      *recorder,
      {.threads = threads, .max_age_s = -1, .each_ns = kEachNs, .cancelled = &Interrupted()});
  progress.Clear();
  const ExitCode code = limits.ok()                               ? ExitCode::kOk
                        : limits.error().code == Code::kCancelled ? ExitCode::kInterrupted
                                                                  : ExitCode::kFailed;
  FM_RETURN_IF_ERROR(recorder->Finish(static_cast<int>(code)));
  return limits;
}

Outcome Execute(const RooflineArguments& arguments) {
  Outcome outcome;
  Progress progress;
  const Result<LimitsRecord> limits = MeasureAndStore(arguments, progress);
  if (!limits.ok()) {
    const bool interrupted = limits.error().code == Code::kCancelled;
    outcome.Add(interrupted ? ExitCode::kInterrupted : ExitCode::kFailed, limits.error().message);
    return outcome;
  }
  const Result<void> written =
      WriteOutput("", arguments.format == "json" ? JsonText(*limits, outcome) : TableText(*limits));
  if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
  return outcome;
}

}  // namespace

void AddRooflineCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand(
      "roofline", "Measure what this machine can do at most: arithmetic, bandwidth, fork-join");
  auto arguments = std::make_shared<RooflineArguments>();
  arguments->db = DefaultDbPath();
  command->add_option("--threads", arguments->threads, "Threads beside one; default: all CPUs")
      ->check(CLI::Range(1, 1024));
  command->add_option("--db", arguments->db, "Results database ($FUSEMARK_DB)")
      ->capture_default_str();
  AddFormatOption(*command, arguments->format, "table or json", {"table", "json"});
  command->callback(
      [&selected, arguments] { selected = [arguments] { return Execute(*arguments); }; });
}

}  // namespace fusemark
