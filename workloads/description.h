// The YAML file of a workload: which graph, what a run counts as, how exact it must be, which
// parameters are weights, what the inputs look like. Unknown keys are errors with their line.
//
//   name: mlp_gelu                  graph: mlp_gelu.hlo        description: one sentence
//   items: 128    unit: rows        tolerance: 3e-5            tags: [block, f32]
//   resident: [1, 2, 5-7] or all or none
//   inputs: {scale: 0.1, params: {"0": SPEC}, constants: {NAME: SPEC}}     (INPUTS.md)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

struct WorkloadDescription {
  std::string name, description, graph, unit = "items";
  double items = 0, tolerance = 0;
  std::vector<std::string> tags;
  std::vector<int64_t> resident;
  bool all_resident = false;
  std::string inputs_json;  // "{\"<name>\": {...}}", "" if the file has no inputs
};

Result<WorkloadDescription> ParseDescription(std::string_view yaml, std::string_view source_name);

struct SuiteDescription {
  std::string name, description;
  std::vector<std::string> workloads;
};
Result<SuiteDescription> ParseSuite(std::string_view yaml, std::string_view source_name);

}  // namespace fusemark
