// The subcommands, one file each. AddX declares the options of X and, when X is named on the
// command line, stores in `selected` what to do; main.cpp then runs it. Usage errors inside a
// command are Outcome kUsage, those CLI11 finds never get here.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "harness/exit_code.h"
#include "harness/limits.h"
#include "harness/options.h"

namespace fusemark {

using SelectedCommand = std::function<Outcome()>;

void AddCheckCommand(CLI::App& app, SelectedCommand& selected);
void AddDbCommand(CLI::App& app, SelectedCommand& selected);
void AddExplainCommand(CLI::App& app, SelectedCommand& selected);
void AddListCommand(CLI::App& app, SelectedCommand& selected);
void AddOptCommand(CLI::App& app, SelectedCommand& selected);
void AddRooflineCommand(CLI::App& app, SelectedCommand& selected);
void AddRunCommand(CLI::App& app, SelectedCommand& selected);
void AddTuneCommand(CLI::App& app, SelectedCommand& selected);
void AddVersionCommand(CLI::App& app, SelectedCommand& selected);

// --threads N; 0 means not given (ThreadsOf in engine_options.h resolves it).
inline void AddThreadsOption(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads per engine; default: all CPUs")
      ->check(CLI::Range(1, 1024));
}

// --format, of those that the command writes; `format` holds the default.
inline void AddFormatOption(CLI::App& command, std::string& format,
                            const std::string& help = "text or json",
                            const std::vector<std::string>& formats = {"text", "json"}) {
  command.add_option("--format", format, help)
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

inline void AddSeedOption(CLI::App& command, uint64_t& seed, const std::string& help) {
  command.add_option("--seed", seed, help)->check(CLI::NonNegativeNumber)->capture_default_str();
}
constexpr const char* kInputSeedHelp = "Seed of synthesised inputs; 0 is the documented rule";

// An option value checked by a parser that returns Result<T>: CLI11 then reports its message as a
// usage error.
template <class Parser>
CLI::Validator CheckedBy(Parser parser) {
  return CLI::Validator(
      [parser](std::string& text) {
        const auto parsed = parser(text);
        return parsed.ok() ? std::string() : parsed.error().message;
      },
      "");
}

// --timeout and --max-memory (harness/limits.h).
inline void AddLimitOptions(CLI::App& command, std::string& timeout, std::string& max_memory) {
  command
      .add_option("--timeout", timeout,
                  "Most time the whole may take, e.g. 60s; then exit 4. A folder: each process")
      ->check(CheckedBy(ParseDuration));
  command
      .add_option(
          "--max-memory", max_memory,
          "Most memory for parameters, results and intermediates, e.g. 4GiB; refused before\n"
          "it is allocated")
      ->check(CheckedBy(ParseBytes));
}

}  // namespace fusemark
