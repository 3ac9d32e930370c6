// fusemark list: the built-in workloads.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/support/strings.h"
#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/table.h"
#include "workloads/workload.h"

namespace fusemark {
namespace {

bool InDefaultSuite(const std::string& name) {
  const std::vector<std::string> suite = DefaultSuite();
  return std::find(suite.begin(), suite.end(), name) != suite.end();
}

std::string ListText(const std::vector<BuiltinInfo>& builtins) {
  using Align = TextTable::Align;
  TextTable table({{"workload", Align::kLeft},
                   {"default", Align::kLeft},
                   {"tags", Align::kLeft},
                   {"description", Align::kLeft}});
  for (const BuiltinInfo& builtin : builtins) {
    table.AddRow({builtin.name, InDefaultSuite(builtin.name) ? "yes" : "", Join(builtin.tags, " "),
                  builtin.description});
  }
  return table.ToText();
}

std::string ListJson(const std::vector<BuiltinInfo>& builtins) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["workloads"] = nlohmann::ordered_json::array();
  for (const BuiltinInfo& builtin : builtins) {
    json["workloads"].push_back({{"name", builtin.name},
                                 {"description", builtin.description},
                                 {"tags", builtin.tags},
                                 {"default", InDefaultSuite(builtin.name)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

void AddListCommand(CLI::App& app, SelectedCommand& selected) {
  CLI::App* command = app.add_subcommand("list", "List the built-in workloads");
  auto format = std::make_shared<std::string>("text");
  AddFormatOption(*command, *format);
  command->callback([&selected, format] {
    selected = [format] {
      Outcome outcome;
      const std::vector<BuiltinInfo> builtins = ListBuiltins();
      const Result<void> written =
          WriteOutput("", *format == "json" ? ListJson(builtins) : ListText(builtins));
      if (!written.ok()) outcome.Add(ExitCode::kFailed, written.error().message);
      return outcome;
    };
  });
}

}  // namespace fusemark
