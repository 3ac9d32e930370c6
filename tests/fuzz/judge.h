// May two correct engines differ like this? The rule for results of random modules, whose sums
// cancel and whose comparisons are as close as it gets:
//   1. A leaf is exact when no rounding instruction is among its ancestors (see Rounds() in the
//      .cpp): its bits must be equal; any NaN equals any NaN. Which zero a maximum, minimum or
//      clamp of zeros of both signs gives is left open: below one of these, and no rounding
//      instruction, the runs of rule 3 only exchange its operands.
//   2. Below a rounding instruction an element passes if it differs by at most 8 units in the last
//      place.
//   3. What is left is judged by the condition of the module: the reference runs it again with
//      every operand and result of a rounding instruction moved at random: relatively by up to a
//      few units in the last place (4 for f32 and f64, 1 for narrower types; each part of a complex
//      operand by its own, a complex result as a whole where its parts are not rounded apart), and
//      the result of n terms by the steps of denormals that n products which underflow can lose.
//      The element passes if it is within 8 times the spread of these runs. NaN or an infinity
//      passes, or a number where the reference has one of them, only if a run gave that NaN, that
//      infinity or numbers around it; integers and pred pass if the runs disagree on them. The
//      runs also take what else is left open (freedoms.h): the order of a reduction, f16 and bf16
//      results that overflow only if they are rounded, the steps of batch normalisations and
//      transforms, and sign and payload of NaNs that a rounding instruction makes (those of others
//      are exact). Every third run takes nothing but these choices.
//   4. A result may also be right, by the rules above, for the module with the padding of its f32
//      and bf16 convolutions made explicit: zeros that taps which are not finite turn into NaN.
// The perturbed runs stand for a bound from error analysis: they see cancellation, amplification
// and discontinuities, and need no model of any instruction.
#pragma once

#include <cstdint>
#include <optional>
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

// What rules 1 and 2 ask of a leaf: the most lenient of its ancestors decides.
enum class Exactness : uint8_t { kBits, kZeroSigns, kRounded };
std::vector<Exactness> LeafExactness(const Module& module);

// The module with the perturbations of rule 3, drawn from `seed`.
Module Perturbed(const Module& module, uint64_t seed);

// The other module of rule 4, nothing if there is no such convolution.
std::optional<Module> WithExplicitPadding(const Module& module);

// The reference's results.
Result<std::vector<Tensor>> EvaluateTensors(const Module& module, std::span<const Tensor> inputs);

}  // namespace fusemark
