// Spelling out arithmetic in HLO: one function per operation, shapes inferred. What the expansions
// of linear algebra, Fourier transforms, random numbers and scans are written with.
//
// Not here: any knowledge of what is computed.
#pragma once

#include <functional>
#include <vector>

#include "compiler/passes/new_regions.h"

namespace fusemark {

using InstrIds = std::vector<InstrId>;

class Emitter {
 public:
  explicit Emitter(Builder& builder) : b_(builder) {}

  Builder& builder() { return b_; }
  const Shape& shape(InstrId id) const { return b_[id].shape; }
  // A copy: references into the builder die with the next instruction.
  Dims dims(InstrId id) const { return b_[id].shape.dims; }
  DType dtype(InstrId id) const { return b_[id].shape.dtype; }

  InstrId Scalar(DType dtype, double value) { return b_.Constant(ScalarLiteralOf(dtype, value)); }
  InstrId Bits(DType dtype, uint64_t bits) { return b_.Constant(ScalarLiteral(dtype, bits)); }
  // A scalar everywhere.
  InstrId Fill(InstrId scalar, const Dims& dims) { return b_.Broadcast(scalar, dims, {}); }
  InstrId Zeros(DType dtype, const Dims& dims) { return Fill(Scalar(dtype, 0), dims); }
  InstrId Iota(DType dtype, const Dims& dims, int64_t dim);
  // Stretches dims of extent 1 to those of `dims`.
  InstrId Stretch(InstrId value, const Dims& dims);

  InstrId Add(InstrId a, InstrId b) { return b_.Binary(Op::kAdd, a, b); }
  InstrId Minus(InstrId a, InstrId b) { return b_.Binary(Op::kSubtract, a, b); }
  InstrId Times(InstrId a, InstrId b) { return b_.Binary(Op::kMultiply, a, b); }
  InstrId Over(InstrId a, InstrId b) { return b_.Binary(Op::kDivide, a, b); }
  InstrId Compare(Direction direction, InstrId a, InstrId b);
  InstrId Select(InstrId condition, InstrId yes, InstrId no);
  // Real values pass through Real and Conjugate.
  InstrId Real(InstrId value);
  InstrId Conjugate(InstrId value);
  // value / divisor for a real divisor, which for complex values divides both parts.
  InstrId OverReal(InstrId value, InstrId divisor);

  // [low, high) of one dimension.
  InstrId Slice(InstrId value, int64_t dim, int64_t low, int64_t high);
  InstrId DynamicSlice(InstrId value, InstrIds starts, Dims sizes);
  InstrId DynamicUpdate(InstrId value, InstrId update, InstrIds starts);
  // `part` at a fixed place of `whole`; `part` itself where it has the same dims.
  InstrId Place(InstrId whole, InstrId part, const Dims& starts);
  InstrId Concatenate(InstrIds parts, int64_t dim);
  InstrId Reverse(InstrId value, Dims dims);
  // Swaps the last two dimensions.
  InstrId TransposeLast(InstrId value);
  // [b, m, k] x [b, k, n], or [b, m, k] x [b, n, k] if `transposed`.
  InstrId BatchDot(InstrId lhs, InstrId rhs, bool transposed);

 private:
  Builder& b_;
};

// Gives the next state for step `index` (an s32 scalar).
using LoopBody = std::function<InstrIds(Emitter&, InstrId index, const InstrIds& state)>;

// Steps up to this many are written out one after the other.
constexpr int64_t kUnrolledSteps = 4;

// state = body(index, state) for index = 0, ..., steps - 1; returns the last state. Values that the
// body needs from outside must be part of the state.
InstrIds EmitLoop(Emitter& emit, NewRegions& regions, const Effects& effects, int64_t steps,
                  InstrIds state, const LoopBody& body);

}  // namespace fusemark
