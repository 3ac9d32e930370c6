// One SPEC of the input rule (INPUTS.md, "Overrides"): how the values of one array are made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/inputs.h"

namespace fusemark {

enum class SpecKind : uint8_t { kScale, kRange, kInt, kConst, kValues, kLinspace };

// A number as written: exact for integers of 64 bits as well as for floats.
struct SpecNumber {
  double real = 0;
  int64_t integer = 0;
};

struct InputSpec::Entry {
  SpecKind kind = SpecKind::kScale;
  std::optional<double> scale;     // kScale; absent: the file's scale
  std::optional<double> diag;      // added where the last two indices are equal
  SpecNumber low, high;            // kRange, kInt, kLinspace
  std::vector<SpecNumber> values;  // kConst: one; kValues: all elements, row-major
};

}  // namespace fusemark
