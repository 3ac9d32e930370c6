// A workload named on the command line, made ready to run: graph, inputs, identity. Decides which
// input rule applies (--inputs, --input-spec, the workload's own, synthesis) and which exit code a
// failure means: a name, spec or archive that does not fit is the user's configuration (2), a graph
// that does not parse is a failed workload (4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"
#include "harness/exit_code.h"
#include "workloads/workload.h"

namespace fusemark {

struct LoadOptions {
  std::string inputs_npz, input_spec;  // files; empty if not given
  uint64_t seed = 0;                   // 0: the documented rule
  int64_t max_memory = 0;              // bytes; 0: no limit
  bool without_inputs = false;         // the expectations bring them
  bool allow_unsupported = false;      // what cannot be run may be explained
};

struct LoadedWorkload {
  Workload workload;
  std::vector<Tensor> inputs;
  std::string module_hash;
};

// `code` is set on failure.
Result<LoadedWorkload> LoadForRun(const std::string& name, const LoadOptions& options,
                                  ExitCode& code);

// Hash of the module's canonical text: names the graph in the database.
std::string ModuleHash(const Module& module);

// Every name is a file or a built-in; checked before anything is measured.
Result<void> CheckWorkloadNames(const std::vector<std::string>& names);

// File stem or built-in name: what seeds the inputs and names the row.
std::string WorkloadStem(const std::string& name);

}  // namespace fusemark
