// May two correct engines differ like this? The rule for results of random modules, whose sums
// cancel and whose comparisons are as close as it gets:
//   1. A leaf is exact when no rounding instruction is among its ancestors (see Rounds() in the
//      .cpp): its bits must be equal; any NaN equals any NaN.
//   2. Elsewhere an element passes if it differs by at most 8 units in the last place.
//   3. What is left is judged by the condition of the module: the reference runs it again with
//      every operand and result of a rounding instruction moved by up to a few units in the last
//      place at random (4 for f32 and f64, 1 for narrower types). The element passes if
//      it is within 8 times the spread of these runs, or if they disagree on whether it is NaN or
//      infinite, or (integers, pred) disagree at all: then rounding alone decides about it.
// The perturbed runs stand for a bound from error analysis: they see cancellation, amplification
// and discontinuities, and need no model of any instruction.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// "" if `got` is right, else the leaf, the element and both values.
std::string Judge(const Module& module, std::span<const Tensor> inputs,
                  std::span<const Tensor> want, std::span<const Tensor> got);

// exact[i]: leaf i of the result is exact by rule 1.
std::vector<bool> ExactLeaves(const Module& module);

// The module with the perturbations of rule 3, drawn from `seed`.
Module Perturbed(const Module& module, uint64_t seed);

// The reference's results.
Result<std::vector<Tensor>> EvaluateTensors(const Module& module, std::span<const Tensor> inputs);

}  // namespace fusemark
