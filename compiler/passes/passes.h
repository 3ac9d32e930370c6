// Every graph pass, in pipeline order (the order itself is data: compiler/pipeline.cpp). A pass
// rewrites all computations of a module and returns whether it changed anything. Results stay
// bit-identical, with the exceptions written at ExpandComposites and SimplifyAlgebra.
//
// Not here: fusion and layouts. They are plans beside the module, not rewrites of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace fusemark {

// Signature of EvaluateInstr in compiler/reference/evaluate.h, handed in so that passes do not link
// the interpreter.
using EvaluateFn = Result<std::vector<Tensor>> (*)(const Module& module, ComputationId computation,
                                                   InstrId instr,
                                                   std::span<const Tensor* const> operands);

struct PassContext {
  EvaluateFn evaluate = nullptr;  // null: fold-constants does what needs no arithmetic
  int64_t max_folded_bytes = int64_t{1} << 20;
  int64_t max_inlined_instrs = int64_t{1} << 20;  // a computation that inlining would grow past
                                                  // this keeps its calls
};

// Arrays of bounded size (f32[<=8]) in the entry become arrays of their bounds, with sizes as
// values beside them that set-dimension-size gives and get-dimension-size reads. A parameter is as
// large as its bounds, a result is zero beyond its sizes. Elementwise operations, broadcast,
// transpose and reductions by one commutative operation are known; others are kUnsupported.
Result<bool> ResolveDynamic(Module& module, const PassContext& context);

// Drops instructions that neither the root nor a side effect needs, and computations never called.
Result<bool> RemoveDead(Module& module, const PassContext& context);

// Rewrites what has a plain meaning on one device into primitive operations: bitcast to
// transpose/reshape (after which layouts carry no meaning and are dropped), batch normalisation,
// value identities (copy, opt-barrier, domain, add-dependency, sharding custom calls), async pairs,
// collectives of one participant, reductions over extents of 1. Not bit-exact: batch normalisation,
// whose own definition leaves the order of operations open (computed in f32, centred variance).
Result<bool> ExpandComposites(Module& module, const PassContext& context);

// Rewrites cholesky, triangular-solve, fft, scan and the random instructions into primitive
// operations and loops; kept where the types are not supported. Not bit-exact: linear algebra and
// Fourier transforms, which compute in the type itself (f32 for the narrow ones), running sums and
// products of floats, which round once per element, and normal random numbers. The bits of
// rng-bit-generator are exact; what else the random instructions give is fixed in ir/random.h.
// Before inline-calls, whose copies of an rng would have new names and so other numbers.
Result<bool> ExpandNumerics(Module& module, const PassContext& context);

// Replaces call and fusion by the body they call, and map by its region applied to whole arrays.
Result<bool> InlineCalls(Module& module, const PassContext& context);

// Complex values become pairs of real ones everywhere but at the entry's parameters and results.
// Not bit-exact: products are not rounded as std::complex rounds them. Instructions without a
// meaning on planes keep their complex type. After inline-calls: maps are lifted.
Result<bool> ExpandComplex(Module& module, const PassContext& context);

// Local identities: arithmetic neutral elements, chains of reshape, transpose, broadcast, slice and
// convert, tuples taken apart. Not bit-exact: NaN payloads; power with the exponents 2 and -1
// becomes the correctly rounded multiply or divide.
Result<bool> SimplifyAlgebra(Module& module, const PassContext& context);

// Evaluates instructions whose operands are all constant, unless the result outgrows what it came
// from. Constants with one value everywhere become broadcasts of a scalar.
Result<bool> FoldConstants(Module& module, const PassContext& context);

// While loops that never run become their initial value, constant loop invariants are used as
// constants in condition and body, conditionals on a constant become the branch taken.
Result<bool> SimplifyControl(Module& module, const PassContext& context);

// Equal instructions on equal operands become one, and so do equal computations.
Result<bool> MergeDuplicates(Module& module, const PassContext& context);

// Convolutions without spatial dimensions and those of one tap become dots; window dimensions of
// extent 1 with no effect are dropped.
Result<bool> CanonicaliseConv(Module& module, const PassContext& context);

// Dots take transposes of their operands into their dimension numbers and have at most one
// dimension per role (batch, M, K, N) wherever reshapes that move no data achieve it.
Result<bool> CanonicaliseDot(Module& module, const PassContext& context);

}  // namespace fusemark
