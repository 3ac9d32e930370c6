// What HLO and the README leave open to an engine, as rewrites of a module for the reference: the
// order of a reduction, f16 and bf16 values that stay wider between operations of one kernel, the
// steps of a batch normalisation, and what a transform makes of infinities.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <vector>

#include "compiler/ir/rewrite.h"

namespace fusemark {

// Where |value| is `size`, as pred. Of a complex number that is an infinity where one part is.
InstrId HasSize(Builder& builder, InstrId value, double size);

// A random order of the elements along `dims`.
InstrId Shuffled(Builder& builder, InstrId operand, const Dims& dims, std::mt19937_64& random);

// A product of complex numbers by its parts, which does not recover an infinity from two NaNs as
// the reference does.
InstrId ProductByParts(Builder& builder, const Instr& instr);

// A quotient whose infinities become NaN where the numerator times the conjugate of the denominator
// is NaN by its parts: the reference recovers them.
InstrId QuotientByParts(Builder& builder, const Instr& instr);

// A power as what it means, exp(y log x), with the product by its parts.
InstrId PowerByParts(Builder& builder, const Instr& instr);

// A reduce-window that walks its windows from their ends; nothing where they have strides or holes.
std::optional<InstrId> ReducedBackwards(Builder& builder, const Instr& instr);

// A batch normalisation written out in its type (f32 for f16 and bf16) with the factors of each
// product in random order: one order may overflow or underflow where another one, or f64, does not.
InstrId BatchNormInSteps(Builder& builder, const Instr& instr, std::mt19937_64& random);

// Which NaNs and infinities a transform makes of such elements depends on how it splits its length,
// and HLO leaves that open. A result of which a part is not finite gets others at random, but stays
// what it is: a finite number there is wrong.
InstrId WithOpenInfinities(Builder& builder, InstrId value, std::mt19937_64& random);

// A transform whose values were added to one as large as all of a line together, and freed from it:
// what cancels but for rounding comes out as zero.
InstrId WithCancelledSums(Builder& builder, InstrId fft);

// For one computation after the other: instructions on f16 and bf16 calculated in f32. A result is
// rounded as ever, except to an infinity or to zero: its readers may then see it unrounded.
class ExcessPrecision {
 public:
  // New computations come after the `count` that there are.
  explicit ExcessPrecision(const Module& module) : module_(module) {}

  void StartComputation() { wide_.clear(); }
  // The instruction with wider operands, at random; nothing where the rule has no say.
  std::optional<InstrId> Widened(Builder& builder, const Instr& instr, std::mt19937_64& random);
  // `value` stands for `from`, which Widened() gave.
  void Renamed(InstrId from, InstrId value);
  void AppendRegions(Module& module);

 private:
  InstrId Wide(Builder& builder, InstrId operand);
  std::optional<InstrId> WidenedReduce(Builder& builder, const Instr& instr);
  std::optional<ComputationId> WideRegion(ComputationId region);

  const Module& module_;
  std::map<uint32_t, InstrId> wide_;  // value -> what its readers may see
  std::vector<Computation> regions_;
};

}  // namespace fusemark
