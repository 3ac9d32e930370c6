// fusemark version: what this binary is.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/build_info.h"
#include "harness/commands/commands.h"
#include "harness/environment.h"
#include "harness/output.h"

namespace fusemark {
namespace {

std::string VersionText(const BuildRecord& build) {
  return fmt::format("fusemark {} ({}{})\n{} build, {}, LLVM {}, {}\n", build.version,
                     build.git_sha, build.dirty ? ", modified" : "", build.build_type,
                     build.compiler, build.llvm_version, build.library_versions);
}

std::string VersionJson(const BuildRecord& build) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["name"] = "fusemark";
  json["version"] = build.version;
  json["git_sha"] = build.git_sha;
  json["dirty"] = build.dirty;
  json["build_type"] = build.build_type;
  json["compiler"] = build.compiler;
  json["flags"] = build.flags;
  json["sanitizers"] = kBuildInfo.sanitizers;
  json["llvm"] = build.llvm_version;
  json["libraries"] = build.library_versions;
  return json.dump(2) + "\n";
}

}  // namespace

void AddVersionCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("version", "Print version, build id and libraries");
  auto format = std::make_shared<std::string>("text");
  AddFormatOption(*command, *format);
  command->callback([&selected, format] {
    selected = [format] {
      Outcome outcome;
      const BuildRecord build = CurrentBuild();
      const Result<void> written =
          WriteOutput("", *format == "json" ? VersionJson(build) : VersionText(build));
      if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
      return outcome;
    };
  });
}

}  // namespace fusemark
