#include <string>

#include "compiler/passes/expand_composites.h"

namespace fusemark {
namespace {

// Arithmetic of one batch-norm instruction, in f32 for the narrow types (one rounding at the end,
// as for any reduction).
class Expansion {
 public:
  Expansion(Builder& builder, const Instr& instr, NewRegions& regions)
      : b_(builder), instr_(instr), regions_(regions) {
    const Shape& x = b_[instr.operands[0]].shape;
    dims_ = x.dims;
    result_type_ = x.dtype;
    type_ = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    feature_ = instr.As<BatchNormAttrs>().feature_index;
    count_ = 1;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (d == feature_) continue;
      reduced_.push_back(d);
      count_ *= x.dims[static_cast<size_t>(d)];
    }
  }

  // Every value has its own statement: C++ leaves the order of nested arguments open, and with it
  // the order of the instructions.
  InstrId Training() {
    const InstrId x = Operand(0);
    const InstrId mean = Mean(Sum(x));
    const InstrId centred = Minus(x, Spread(mean));
    const InstrId variance = Mean(Sum(Times(centred, centred)));
    const InstrId y = Normalised(centred, variance);
    return b_.Tuple({Rounded(y), Rounded(mean), Rounded(variance)});
  }

  InstrId Inference() {
    const InstrId x = Operand(0);
    const InstrId centred = Minus(x, Spread(Operand(3)));
    return Rounded(Normalised(centred, Operand(4)));
  }

  // dx = scale * r * (g - mean(g) - (x - mu) * mean(g * (x - mu)) / (var + eps)), with r =
  // rsqrt(var + eps).
  InstrId Gradient() {
    const InstrId x = Operand(0);
    const InstrId scale = Operand(1);
    const InstrId g = Operand(4);
    const InstrId centred = Minus(x, Spread(Operand(2)));
    const InstrId inverse = InverseDeviation(Operand(3));
    const InstrId sum_g = Sum(g);
    const InstrId sum_gx = Sum(Times(g, centred));
    const InstrId slope = Times(Times(Mean(sum_gx), inverse), inverse);
    const InstrId along = Times(centred, Spread(slope));
    const InstrId shifted = Minus(g, Spread(Mean(sum_g)));
    const InstrId difference = Minus(shifted, along);
    const InstrId dx = Times(difference, Spread(Times(scale, inverse)));
    const InstrId dscale = Times(sum_gx, inverse);
    return b_.Tuple({Rounded(dx), Rounded(dscale), Rounded(sum_g)});
  }

 private:
  InstrId Operand(size_t i) { return b_.Convert(instr_.operands[i], type_); }
  InstrId Rounded(InstrId value) { return b_.Convert(value, result_type_); }
  InstrId Scalar(double value) { return b_.Constant(ScalarLiteralOf(type_, value)); }
  InstrId Times(InstrId a, InstrId b) { return b_.Binary(Op::kMultiply, a, b); }
  InstrId Minus(InstrId a, InstrId b) { return b_.Binary(Op::kSubtract, a, b); }
  Dims FeatureDims() const { return {dims_[static_cast<size_t>(feature_)]}; }
  InstrId Spread(InstrId per_feature) { return b_.Broadcast(per_feature, dims_, {feature_}); }

  InstrId Sum(InstrId value) {
    Instr reduce;
    reduce.op = Op::kReduce;
    reduce.shape = ArrayShape(type_, FeatureDims());
    reduce.operands = {value, Scalar(0)};
    reduce.attrs = DimsAttrs{reduced_};
    reduce.called = {regions_.Add(type_)};
    reduce.loc = instr_.loc;
    return b_.Emit(std::move(reduce));
  }
  InstrId Mean(InstrId sum) {
    const InstrId count = b_.Broadcast(Scalar(static_cast<double>(count_)), FeatureDims(), {});
    return b_.Binary(Op::kDivide, sum, count);
  }
  InstrId InverseDeviation(InstrId variance) {
    const double epsilon = instr_.As<BatchNormAttrs>().epsilon;
    const InstrId spread = b_.Broadcast(Scalar(epsilon), FeatureDims(), {});
    return b_.Unary(Op::kRsqrt, b_.Binary(Op::kAdd, variance, spread));
  }
  InstrId Normalised(InstrId centred, InstrId variance) {
    const InstrId inverse = InverseDeviation(variance);
    const InstrId factor = Times(inverse, Operand(1));
    const InstrId scaled = Times(centred, Spread(factor));
    return b_.Binary(Op::kAdd, scaled, Spread(Operand(2)));
  }

  Builder& b_;
  const Instr& instr_;
  NewRegions& regions_;
  Dims dims_, reduced_;
  DType result_type_, type_;
  int64_t feature_ = 0, count_ = 1;
};

}  // namespace

InstrId ExpandBatchNorm(Builder& builder, const Instr& instr, NewRegions& regions) {
  Expansion expansion(builder, instr, regions);
  switch (instr.op) {
    case Op::kBatchNormTraining: return expansion.Training();
    case Op::kBatchNormInference: return expansion.Inference();
    default: return expansion.Gradient();
  }
}

}  // namespace fusemark
