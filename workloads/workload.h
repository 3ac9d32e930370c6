// A workload: a graph plus what is needed to run and judge it. Named by an HLO text file, a YAML
// file beside a graph, or the name of a built-in (workloads/{blocks,models}/NAME.yaml, embedded at
// build time so that the binary stands alone).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

struct Workload {
  std::string name;  // file stem or built-in name
  std::string path;  // "" for a built-in
  Module module;
  double items_per_run = 0;  // 0: throughput counts runs
  std::string item_unit = "items";
  double tolerance = 0;  // largest |got - want| / RMS(leaf) against the reference; 0 = by dtype
  std::vector<int64_t> resident;  // parameter numbers the YAML declares resident
  std::vector<std::string> tags;
  std::vector<std::string>
      elided_constants;         // names of constants that were filled by the input rule
  std::string input_spec_text;  // the YAML's own overrides as JSON text ("" = none)
};

// Overrides for synthesised inputs (`inputs.json`); see workloads/inputs.h.
struct InputSpec;

// kInvalidInput lists the nearest built-in names when `name` is neither a file nor a built-in.
// Elided constants are filled with `spec` (may be null).
Result<Workload> LoadWorkload(const std::string& name, const InputSpec* spec);

struct BuiltinInfo {
  std::string name, description;
  std::vector<std::string> tags;
};
std::vector<BuiltinInfo> ListBuiltins();
// The suite scripts/run measures when no workload is named.
std::vector<std::string> DefaultSuite();

}  // namespace fusemark
