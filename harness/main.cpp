// fusemark: arguments in, exit code out. What a subcommand does is in commands/NAME.cpp.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "harness/commands/commands.h"
#include "harness/interrupt.h"

namespace fusemark {
namespace {

constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 2 usage, 3 numerics, 4 a workload failed or nothing was measured or the "
    "database is unusable, 130 interrupted (partial results kept).";

int Finish(const Outcome& outcome) {
  for (const std::string& reason : outcome.reasons()) {
    std::fprintf(stderr, "fusemark: %s\n", reason.c_str());
  }
  return outcome.value();
}

int UsageError(const CLI::App& app, const CLI::ParseError& error) {
  // Help asked for is an answer, not an error.
  if (error.get_exit_code() == 0) return app.exit(error);
  std::fprintf(stderr, "fusemark: %s\nRun 'fusemark %s--help' for the options.\n", error.what(),
               app.get_subcommands().empty()
                   ? ""
                   : (app.get_subcommands().front()->get_name() + " ").c_str());
  return static_cast<int>(ExitCode::kUsage);
}

// CLI11 would only say that a subcommand is missing.
bool NamesUnknownCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return false;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  std::fprintf(stderr, "fusemark: unknown subcommand '%s': expected one of %s\n", argv[1],
               known.c_str());
  return true;
}

int Run(int argc, char** argv) {
  CLI::App app("Benchmarks and autotunes HLO graphs: operator by operator, compiled, tuned.",
               "fusemark");
  app.footer(kExitCodes);
  app.require_subcommand(1);
  SelectedCommand selected;
  AddRunCommand(app, selected);
  AddCheckCommand(app, selected);
  AddExplainCommand(app, selected);
  AddOptCommand(app, selected);
  AddDbCommand(app, selected);
  AddListCommand(app, selected);
  AddTuneCommand(app, selected);
  AddRooflineCommand(app, selected);
  AddVersionCommand(app, selected);
  if (NamesUnknownCommand(app, argc, argv)) return static_cast<int>(ExitCode::kUsage);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error);
  }
  return Finish(selected());
}

// By default libgomp's threads spin for milliseconds before they sleep; where another process wants
// the CPU, each fork-join then waits for the scheduler instead of microseconds. The library reads
// its environment while it is loaded, before main: so it is set here and the program started again.
// Whoever sets one of the two variables keeps the choice.
void BoundSpinning(char** argv) {
  constexpr char kSpins[] = "10000";  // about a tenth of a millisecond
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", kSpins, 1) != 0) return;
  execv("/proc/self/exe", argv);  // returns only on failure: then with the longer spinning
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  fusemark::BoundSpinning(argv);
  fusemark::InstallSignalHandlers();
  try {
    return fusemark::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fusemark: unexpected failure: %s\n", error.what());
    return static_cast<int>(fusemark::ExitCode::kFailed);
  }
}
