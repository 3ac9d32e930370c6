// NumPy archives (.npz): arrays in and out of the program. Reads stored and deflated members, also
// zip64 as numpy writes it; writes stored members.
//
// Types numpy does not have travel as raw bytes ("|V2" for bf16, "|V1" for f8 and sub-byte
// integers), as numpy itself saves such arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// `raw` marks bytes whose type the archive does not say; the dtype then only gives the width.
struct NamedTensor {
  std::string name;
  Tensor tensor;
  bool raw = false;
};

Result<std::vector<NamedTensor>> ReadNpz(const std::string& path);
Result<std::vector<NamedTensor>> ParseNpz(std::string_view archive, std::string_view source_name);

// Replaces the file as a whole: a failed write leaves the old one.
Result<void> WriteNpz(const std::string& path, std::span<const std::string> names,
                      std::span<const Tensor* const> tensors);

// One tensor per leaf of the entry parameters, found by name: "<number>" or "<number>/<leaf>", the
// parameter's name, or numpy's "arr_<leaf counted over all parameters>". Missing, surplus and
// ill-shaped arrays are errors that say what was expected.
Result<std::vector<Tensor>> MatchInputs(const Module& module, std::vector<NamedTensor> arrays,
                                        std::string_view source_name);
Result<std::vector<Tensor>> LoadInputsNpz(const std::string& path, const Module& module);

}  // namespace fusemark
