// Are two results the same? Compares leaf by leaf, in double. The bound scales with the leaf, not
// with each element: |got - want| <= tolerance * RMS(want leaf), NaN and inf in the same places,
// integers and pred equal. Goldens have their own rule (golden.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// Used where the workload declares none. By type: how far two correct evaluation orders may differ.
double DefaultTolerance(DType dtype);

struct LeafComparison {
  int64_t leaf = 0;
  Shape shape;
  double tolerance = 0;
  double max_abs_err = 0;
  double max_rel_err = 0;  // largest |got - want| / max(|want|, RMS)
  double max_over_rms = 0;
  int64_t mismatches = 0;       // elements beyond the bound, NaN or inf in other places
  int64_t first_mismatch = -1;  // flat index
  std::string got, want;        // there
  bool pass() const { return mismatches == 0; }
};

struct Comparison {
  std::vector<LeafComparison> leaves;
  double max_rel_err = 0;
  bool pass = true;
};

// `tolerance` 0 = by type. kWrongResult when leaf counts, dtypes or dims differ.
Result<Comparison> CompareTensors(std::span<const Tensor> got, std::span<const Tensor> want,
                                  double tolerance);

}  // namespace fusemark
