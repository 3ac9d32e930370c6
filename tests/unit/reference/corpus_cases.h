// The corpus of test programs (FUSEMARK_CORPUS) as cases any engine can be judged by: operation
// cases (ops/), small modules with goldens (lit/), real programs (hlo/ and jax/ with golden/).
// Here: where cases lie, what they expect, which expectations are known to be inexact. Not here:
// how a module is run; that is the argument.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// "" if FUSEMARK_CORPUS is not set.
std::string Corpus();

// The .hlo files of a directory, sorted.
std::vector<std::filesystem::path> HloFiles(const std::filesystem::path& directory);
// Small modules whose result HLO specifies.
std::vector<std::filesystem::path> SmallModules();

// Runs the module on its inputs (leaves of the entry parameters) and returns the result's leaves.
using RunModule =
    std::function<Result<std::vector<Tensor>>(const Module&, const std::vector<Tensor>& inputs)>;

// "" if the results pass, else what is wrong and where; an error if it could not be run.
Result<std::string> RunOpCase(const std::filesystem::path& hlo, const RunModule& run);
Result<std::string> RunGolden(const std::filesystem::path& hlo,
                              const std::filesystem::path& golden_file, const RunModule& run);

// Counts outcomes. A case the engine does not support is printed by name and reason, everything
// else that is not a pass is a test failure.
struct CaseCount {
  int passed = 0, failed = 0, unsupported = 0;

  void Note(const std::string& name, const Result<std::string>& problem);
  void Print() const;
};

std::vector<const Tensor*> Pointers(const std::vector<Tensor>& tensors);

}  // namespace fusemark
