// Random element values for fuzzing: what literals inside generated modules and their inputs hold.
// Not a statement about distributions: values are chosen to hit corners (zeros of both signs,
// bounds, ties of rounding) among plain small numbers.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"

namespace fusemark {

// kPlain: finite, of moderate size. kSpecial: also NaN, infinities, denormals and the bounds of the
// integer types.
enum class ValueKind : uint8_t { kPlain, kSpecial };

// Fills row-major storage of `dtype` (pred, integers, floats, complex).
void FillRandom(DType dtype, std::span<std::byte> bytes, ValueKind kind, std::mt19937_64& random);
Literal RandomLiteral(const Shape& shape, ValueKind kind, std::mt19937_64& random);
// One tensor per leaf of the entry's parameters.
std::vector<Tensor> RandomInputs(const Module& module, ValueKind kind, uint64_t seed);

}  // namespace fusemark
