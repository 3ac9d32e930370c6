// Reading index tensors of any integer type.
#pragma once

#include <vector>

#include "compiler/ir/tensor.h"

namespace fusemark::reference {

// Elements of an integer tensor; u64 values beyond int64 saturate (they are out of any range).
std::vector<int64_t> ReadIndices(const Tensor& tensor);

}  // namespace fusemark::reference
