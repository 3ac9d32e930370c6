#include "workloads/workload.h"

#include <algorithm>
#include <filesystem>

#include "compiler/support/check.h"
#include "compiler/support/file.h"
#include "compiler/support/strings.h"
#include "compiler/text/text.h"
#include "workloads/builtins.h"
#include "workloads/description.h"
#include "workloads/inputs.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

// The embedded text "<any directory>/<name>", or null.
const EmbeddedFile* FindEmbedded(std::string_view file_name, bool suites = false) {
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    const size_t slash = file.name.rfind('/');
    if ((file.name.substr(0, slash) == "suites") == suites &&
        file.name.substr(slash + 1) == file_name)
      return &file;
  }
  return nullptr;
}

// Fills what the YAML says into a workload whose graph is loaded.
Result<void> Apply(const WorkloadDescription& description, Workload& workload,
                   const std::string& source) {
  workload.name = description.name;
  workload.items_per_run = description.items;
  workload.item_unit = description.unit;
  workload.tolerance = description.tolerance;
  workload.tags = description.tags;
  workload.resident = description.resident;
  workload.input_spec_text = description.inputs_json;
  const auto count = static_cast<int64_t>(workload.module.Entry().parameters.size());
  if (description.all_resident)
    for (int64_t number = 0; number < count; ++number) workload.resident.push_back(number);
  for (int64_t number : workload.resident) {
    if (number < count) continue;
    return Invalid(source + ": resident: parameter " + std::to_string(number) +
                   " does not exist, the entry has " + std::to_string(count));
  }
  return Ok();
}

Result<Workload> Finish(Workload workload, const InputSpec* spec, const std::string& source) {
  InputSpec own;
  if (spec == nullptr && !workload.input_spec_text.empty()) {
    FM_TRY(own, ParseInputSpec(workload.input_spec_text, workload.name, source));
  }
  FM_TRY(workload.elided_constants,
         FillElidedConstants(workload.module, workload.name, spec != nullptr ? *spec : own));
  return workload;
}

Result<Workload> LoadYaml(const std::string& path, const InputSpec* spec) {
  FM_TRY(const std::string text, ReadFile(path, "HLO text or YAML"));
  FM_TRY(const WorkloadDescription description, ParseDescription(text, path));
  Workload workload;
  workload.path = path;
  const std::string graph = (fs::path(path).parent_path() / description.graph).string();
  FM_TRY(workload.module, ParseModuleFile(graph));
  FM_RETURN_IF_ERROR(Apply(description, workload, path));
  return Finish(std::move(workload), spec, path);
}

Result<Workload> LoadGraph(const std::string& path, const InputSpec* spec) {
  Workload workload;
  FM_TRY(workload.module, ParseModuleFile(path));
  workload.path = path;
  workload.name = fs::path(path).filename().string();
  if (workload.name.ends_with(".hlo")) workload.name.resize(workload.name.size() - 4);
  return Finish(std::move(workload), spec, path);
}

Result<Workload> LoadBuiltin(const EmbeddedFile& yaml, const InputSpec* spec) {
  const std::string source = "built-in " + std::string(yaml.name);
  FM_TRY(const WorkloadDescription description, ParseDescription(yaml.text, source));
  const EmbeddedFile* graph = FindEmbedded(description.graph);
  if (graph == nullptr)
    return Invalid(source + ": its graph " + description.graph + " is not built in");
  Workload workload;
  FM_TRY(workload.module, ParseModule(graph->text, "built-in " + std::string(graph->name)));
  FM_RETURN_IF_ERROR(Apply(description, workload, source));
  return Finish(std::move(workload), spec, source);
}

Error UnknownName(const std::string& name) {
  std::vector<std::string> names;
  for (const BuiltinInfo& info : ListBuiltins()) names.push_back(info.name);
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return EditDistance(name, a) < EditDistance(name, b);
  });
  names.resize(std::min<size_t>(names.size(), 3));
  return Invalid("\"" + name + "\" is neither a file nor a built-in workload; nearest: " +
                 Join(names, ", ") + " (`fusemark list` shows all)");
}

}  // namespace

Result<Workload> LoadWorkload(const std::string& name, const InputSpec* spec) {
  const EmbeddedFile* builtin = FindEmbedded(name + ".yaml");
  if (builtin != nullptr) return LoadBuiltin(*builtin, spec);
  const fs::path path(name);
  const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
  if (is_yaml) return LoadYaml(name, spec);
  std::error_code error;
  const bool means_file = path.has_extension() || path.has_parent_path();
  if (!means_file && !fs::exists(path, error)) return UnknownName(name);
  return LoadGraph(name, spec);
}

std::vector<BuiltinInfo> ListBuiltins() {
  std::vector<BuiltinInfo> infos;
  for (const EmbeddedFile& file : EmbeddedFiles()) {
    if (!file.name.ends_with(".yaml") || file.name.starts_with("suites/")) continue;
    const auto parsed = ParseDescription(file.text, file.name);
    FM_CHECK(parsed.ok(), parsed.ok() ? "" : parsed.error().message);
    infos.push_back({parsed->name, parsed->description, parsed->tags});
  }
  return infos;
}

std::vector<std::string> DefaultSuite() {
  const EmbeddedFile* file = FindEmbedded("default.yaml", true);
  FM_CHECK(file != nullptr, "the default suite is not built in");
  const auto suite = ParseSuite(file->text, file->name);
  FM_CHECK(suite.ok(), suite.ok() ? "" : suite.error().message);
  return suite->workloads;
}

}  // namespace fusemark
