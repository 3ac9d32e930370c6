#include "harness/load.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "compiler/compile.h"
#include "compiler/support/hash.h"
#include "compiler/text/text.h"
#include "harness/limits.h"
#include "workloads/inputs.h"
#include "workloads/npz.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

bool IsBuiltin(const std::string& name) {
  const std::vector<BuiltinInfo> builtins = ListBuiltins();
  return std::any_of(builtins.begin(), builtins.end(),
                     [&](const BuiltinInfo& builtin) { return builtin.name == name; });
}

// The spec that applies: the file given, else the workload's own.
Result<InputSpec> SpecOf(const LoadedWorkload& loaded, const LoadOptions& options,
                         const InputSpec& given) {
  if (!options.input_spec.empty() || loaded.workload.input_spec_text.empty()) return given;
  return ParseInputSpec(loaded.workload.input_spec_text, loaded.workload.name,
                        loaded.workload.name);
}

Result<std::vector<Tensor>> MakeInputs(const LoadedWorkload& loaded, const LoadOptions& options,
                                       const InputSpec& given) {
  if (!options.inputs_npz.empty()) {
    return LoadInputsNpz(options.inputs_npz, loaded.workload.module);
  }
  FM_TRY(const InputSpec spec, SpecOf(loaded, options, given));
  return SynthesiseInputs(loaded.workload.module, loaded.workload.name, spec, options.seed);
}

}  // namespace

std::string WorkloadStem(const std::string& name) {
  return fs::path(name).stem().string();
}

std::string ModuleHash(const Module& module) {
  return ToHex(HashText(PrintModule(module, {.canonical_names = true})));
}

Result<void> CheckWorkloadNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored)) {
      return Invalid("workload '" + name +
                     "' is a directory: name an HLO text file, a workload YAML or a built-in");
    }
    if (fs::exists(name, ignored) || IsBuiltin(name)) continue;
    // The loader's message lists the nearest built-in names.
    FM_TRY(const Workload unexpected, LoadWorkload(name, nullptr));
    (void)unexpected;
  }
  return Ok();
}

Result<LoadedWorkload> LoadForRun(const std::string& name, const LoadOptions& options,
                                  ExitCode& code) {
  LoadedWorkload loaded;
  code = ExitCode::kUsage;
  InputSpec given;
  if (!options.input_spec.empty()) {
    FM_TRY(given, LoadInputSpec(options.input_spec, WorkloadStem(name)));
  }
  code = ExitCode::kFailed;
  try {
    FM_TRY(loaded.workload, LoadWorkload(name, options.input_spec.empty() ? nullptr : &given));
    FM_RETURN_IF_ERROR(CheckMemory(loaded.workload.module, options.max_memory));
    if (!options.allow_unsupported) FM_RETURN_IF_ERROR(CheckSupported(loaded.workload.module));
    loaded.module_hash = ModuleHash(loaded.workload.module);
    if (options.without_inputs) return loaded;
    code = ExitCode::kUsage;
    FM_TRY(loaded.inputs, MakeInputs(loaded, options, given));
  } catch (const std::bad_alloc&) {
    code = ExitCode::kFailed;
    return Error{Code::kLaunchFailed, "out of memory while making the inputs of " + name};
  }
  return loaded;
}

}  // namespace fusemark
