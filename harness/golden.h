// Goldens: expected results as JSON, in the format of the corpus of test programs. `fusemark check
// --golden` and the conformance tests judge by the rule here.
//
// The rule, per leaf: integers and pred equal; floats |got - want| <= tol * RMS(leaf) with
// tol = max(4 x the error of an established compiler on the same leaf, 16 epsilon), NaN and inf in
// the same places, and NRMSE over the sampled values <= max(3 x that compiler's, 4 epsilon).
// Exact truths of f64 and f8 are met within 4 epsilon of the element; an f64 sum that cancels may
// use the bound of its leaf. Epsilon is half a unit in the last place of the leaf's type. Not here:
// comparing two of our own engines (numerics.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// Error of a run against the truth, relative to the leaf's scale.
struct GoldenError {
  double max_over_rms = 0;
  double nrmse = 0;
};

struct GoldenLeaf {
  Shape shape;
  int64_t nan = 0, inf = 0;  // counts over the whole leaf
  double l2 = 0;             // over its finite values
  Tensor values;  // the sampled values: f64 for floats, c128 for complex, else the leaf's type
  std::optional<GoldenError> error;      // of the established compiler
  std::optional<GoldenError> perturbed;  // how far rounding the inputs differently moves the result
};

// f64: computed with every float widened; native: integers and f64, exact; f32: another compiler's.
enum class GoldenTruth : uint8_t { kF64, kNative, kF32 };

struct Golden {
  std::string module;  // the stem that keys the sampled positions
  GoldenTruth truth = GoldenTruth::kF64;
  GoldenError error;  // of the worst leaf
  std::vector<GoldenLeaf> leaves;
};

struct GoldenLeafReport {
  bool pass = true;
  bool skipped = false;  // the leaf is rounding noise by its own account
  double max_over_rms = 0, nrmse = 0;
  double tolerance = 0;  // on max_over_rms
  std::string message;   // what is wrong and where, "" if it passes
};

struct GoldenReport {
  bool pass = true;
  double max_over_rms = 0, nrmse = 0;  // of the worst leaf that was judged
  std::vector<GoldenLeafReport> leaves;
  std::string message;  // of the first leaf that fails
};

Result<Golden> ParseGolden(std::string_view json, std::string_view source_name);
Result<Golden> LoadGolden(const std::string& path);
GoldenReport CompareWithGolden(const Golden& golden, std::span<const Tensor> outputs);

// 2^-24 for f32, 2^-8 for bf16, ...; 0 for types without rounding.
double GoldenEpsilon(DType dtype);

}  // namespace fusemark
