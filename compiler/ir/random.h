// What the random instructions leave open in HLO and Fusemark fixes, for the reference and for the
// pass that expands them alike. The bit generators themselves are written twice, once in each.
//
// rng-bit-generator: rng_default is Philox. Its bits are those of the named algorithm.
//
// rng: a pure function of its instruction. Element i (row-major) is made of block i of Philox-4x32
// (counter i, key = SeedOf: from the names of computation and instruction), words w0..w3:
//   uniform float  a + u * (b - a), u = the top bits of w0 as a fraction, as many as the type has
//                  with the hidden one (24 for f32); 53 of w1:w0 for f64. What rounds up to b
//                  becomes a.
//   uniform int    a + (w1:w0 mod (b - a)), wrapping; a where b = a. pred is an integer of one bit.
//   normal         mean + deviation * sqrt(-2 log(1 - u)) * cos(2 pi v), u and v with 24 bits of w0
//                  and w1 (f64: 53 bits of w1:w0 and w3:w2)
// Types below f32 compute in f32 and round once. So running twice, or in a loop, gives equal
// numbers; different instructions give independent ones.
//
// rng-get-and-update-state: the 128-bit counter starts at 0 in every run; the instruction gives its
// value (low word first), then advances it by delta.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ir/module.h"

namespace fusemark {

enum class BitAlgorithm : uint8_t { kThreeFry, kPhilox };

// Of an rng-bit-generator; nothing if the algorithm, the state (u64[2]; u64[3] for Philox only) or
// the type of the bits (integers and real floats of whole bytes) is not supported.
std::optional<BitAlgorithm> AlgorithmOf(const Instr& instr, const Shape& state);
// rng with a supported type: real numbers and pred, normal ones only of floats with a sign.
bool IsSupportedRng(const Instr& instr);
// rng-get-and-update-state of type u64[2].
bool IsRandomState(const Instr& instr);
uint64_t SeedOf(std::string_view computation, std::string_view instr);
// How many random bits a uniform float of this type is made of.
int FractionBits(DType dtype);

// Three-fry makes two words per block and pairs them along one dimension: the first of even size,
// else the first of the largest. Element 2j and 2j+1 of it are the words of one block.
size_t PairedDim(const Dims& dims);

}  // namespace fusemark
