// Operation cases: one instruction (or a few) with all inputs and all expected values written out,
// and how exact each result must be. Used by the conformance tests of every engine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

enum class ToleranceClass : uint8_t { kExact, kUlp, kRelative, kRms };

struct OpTolerance {
  ToleranceClass kind = ToleranceClass::kExact;
  int64_t max_ulp = 0;
  double relative = 0, absolute = 0;  // passes if the error is within the larger of both
  double max_over_rms = 0;
};

struct OpExpectation {
  Tensor values;
  OpTolerance tolerance;
};

struct OpCase {
  std::string name;
  std::vector<std::string> ops;  // the HLO opcodes it uses
  std::vector<Tensor> inputs;    // one per entry parameter
  std::vector<OpExpectation> expected;
};

Result<OpCase> LoadOpCase(const std::string& path);
// Does the file hold an operation case? (Else it may be a golden.)
bool IsOpCaseFile(const std::string& path);

// "" if the outputs pass, else what is wrong and where. `exact` takes any NaN for a NaN, and -0
// for +0 except where the case only moves data or changes signs.
std::string CompareWithOpCase(const OpCase& op_case, std::span<const Tensor> outputs);

}  // namespace fusemark
