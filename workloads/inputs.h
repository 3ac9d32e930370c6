// Deterministic inputs: any program makes bit-identical inputs for a module from its file stem, the
// parameter number and the type. The rule is written down in workloads/INPUTS.md (SplitMix64 seeded
// by FNV-1a of "<stem>/<param>/<leaf>").
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"
#include "workloads/workload.h"

namespace fusemark {

// Parsed overrides of one stem. Entries of other stems are ignored; an unknown word inside a used
// entry is an error.
struct InputSpec {
  struct Entry;  // one SPEC
  std::optional<double> scale;
  std::map<std::string, std::shared_ptr<const Entry>> params;     // "3" or "3/1"
  std::map<std::string, std::shared_ptr<const Entry>> constants;  // instruction name without '%'
};
Result<InputSpec> ParseInputSpec(std::string_view json, std::string_view stem,
                                 std::string_view source_name);
Result<InputSpec> LoadInputSpec(const std::string& path, std::string_view stem);

// One tensor per leaf of the entry parameters. `seed` 0 is the documented rule; any other value is
// mixed into the key
// ("<seed>:<stem>/...") for repeated checks on other data.
Result<std::vector<Tensor>> SynthesiseInputs(const Module& module, std::string_view stem,
                                             const InputSpec& spec, uint64_t seed = 0);

// Fills `constant({...})` in place; returns the names it filled.
Result<std::vector<std::string>> FillElidedConstants(Module& module, std::string_view stem,
                                                     const InputSpec& spec);

// Sampled positions of output leaf k with n elements (all if n <= 512).
std::vector<int64_t> SamplePositions(std::string_view stem, int64_t leaf, int64_t n);

}  // namespace fusemark
