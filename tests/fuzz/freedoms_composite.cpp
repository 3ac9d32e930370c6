// The freedoms of instructions that stand for whole algorithms: batch normalisation and transforms.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/ir/number.h"
#include "tests/fuzz/freedoms.h"

namespace fusemark {
namespace {

// One batch-norm instruction written out from its definition: apart from the engines' expansion, so
// that a mistake there does not become a rule here.
class BatchNormSteps {
 public:
  BatchNormSteps(Builder& builder, const Instr& instr, std::mt19937_64& random)
      : b_(builder), instr_(instr), random_(random), dims_(b_[instr.operands[0]].shape.dims) {
    result_type_ = b_[instr.operands[0]].shape.dtype;
    type_ = result_type_ == DType::kF64 ? DType::kF64 : DType::kF32;
    feature_ = instr.As<BatchNormAttrs>().feature_index;
  }

  InstrId Write() {
    const InstrId x = b_.Convert(instr_.operands[0], type_);
    if (instr_.op == Op::kBatchNormInference) {
      const InstrId centred = Minus(x, Spread(Feature(3)));
      return Rounded(Normalised(centred, InverseDeviation(Feature(4))));
    }
    if (instr_.op == Op::kBatchNormGrad) return Gradient(x);
    const InstrId mean = MeanOf(x);
    const InstrId centred = Minus(x, Spread(mean));
    const InstrId variance = MeanOf(Product({centred, centred}));
    const InstrId y = Normalised(centred, InverseDeviation(variance));
    return b_.Tuple({Rounded(y), Rounded(mean), Rounded(variance)});
  }

 private:
  InstrId Gradient(InstrId x) {
    const InstrId g = b_.Convert(instr_.operands[4], type_);
    const InstrId centred = Minus(x, Spread(Feature(2)));
    const InstrId inverse = InverseDeviation(Feature(3)), inverses = Spread(inverse);
    const InstrId weighted = Product({g, centred});
    const InstrId slope = Product({Spread(MeanOf(weighted)), inverses, inverses, centred});
    const InstrId difference = Minus(Minus(g, Spread(MeanOf(g))), slope);
    const InstrId dx = Product({Spread(Feature(1)), inverses, difference});
    const InstrId dscale = Product({SumOf(weighted), inverse});
    return b_.Tuple({Rounded(dx), Rounded(dscale), Rounded(SumOf(g))});
  }
  InstrId Normalised(InstrId centred, InstrId inverse) {
    const InstrId scaled = Product({centred, Spread(inverse), Spread(Feature(1))});
    return b_.Binary(Op::kAdd, scaled, Spread(Feature(2)));
  }

  // From left to right, in random order.
  InstrId Product(std::vector<InstrId> factors) {
    std::shuffle(factors.begin(), factors.end(), random_);
    InstrId product = factors[0];
    for (size_t i = 1; i < factors.size(); ++i)
      product = b_.Binary(Op::kMultiply, product, factors[i]);
    return product;
  }
  InstrId Minus(InstrId a, InstrId b) { return b_.Binary(Op::kSubtract, a, b); }
  InstrId Feature(size_t operand) { return b_.Convert(instr_.operands[operand], type_); }
  InstrId Rounded(InstrId value) { return b_.Convert(value, result_type_); }
  InstrId Spread(InstrId per_feature) { return b_.Broadcast(per_feature, dims_, {feature_}); }
  InstrId Splat(double value, const Dims& dims) {
    return b_.Broadcast(b_.Constant(ScalarLiteralOf(type_, value)), dims, {});
  }
  Dims FeatureDims() const { return {dims_[static_cast<size_t>(feature_)]}; }

  // As a product with ones, which needs no computation of its own.
  InstrId SumOf(InstrId value) {
    DotAttrs attrs;
    Dims reduced;
    for (int64_t d = 0; d < static_cast<int64_t>(dims_.size()); ++d) {
      if (d == feature_) continue;
      attrs.lhs_contracting.push_back(d);
      attrs.rhs_contracting.push_back(static_cast<int64_t>(reduced.size()));
      reduced.push_back(dims_[static_cast<size_t>(d)]);
    }
    return b_.Emit(Op::kDot, ArrayShape(type_, FeatureDims()), {value, Splat(1, reduced)},
                   std::move(attrs));
  }
  InstrId MeanOf(InstrId value) {
    double count = 1;
    for (size_t d = 0; d < dims_.size(); ++d)
      if (static_cast<int64_t>(d) != feature_) count *= static_cast<double>(dims_[d]);
    return b_.Binary(Op::kDivide, SumOf(value), Splat(count, FeatureDims()));
  }
  InstrId InverseDeviation(InstrId variance) {
    const InstrId epsilon = Splat(instr_.As<BatchNormAttrs>().epsilon, FeatureDims());
    return b_.Unary(Op::kRsqrt, b_.Binary(Op::kAdd, variance, epsilon));
  }

  Builder& b_;
  const Instr& instr_;
  std::mt19937_64& random_;
  const Dims dims_;
  DType result_type_, type_;
  int64_t feature_;
};

// Some of them, or all.
InstrId RandomPred(Builder& builder, const Dims& dims, std::mt19937_64& random) {
  const Shape shape = ArrayShape(DType::kPred, dims);
  std::vector<std::byte> bytes(static_cast<size_t>(ByteSizeOf(shape)));
  const bool all = random() % 2 == 0;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(all || random() % 2 == 0);
  return builder.Constant(MakeLiteral(shape, std::move(bytes)));
}

// Each NaN or an infinity; half of the time all the same, which sums of them keep.
InstrId RandomUndecided(Builder& builder, const Shape& shape, std::mt19937_64& random) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double kinds[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  std::vector<std::byte> bytes(static_cast<size_t>(ByteSizeOf(shape)));
  const auto size = static_cast<size_t>(ByteSize(shape.dtype));
  const bool same = random() % 2 == 0;
  size_t kind = random() % std::size(kinds);
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    if (!same) kind = random() % std::size(kinds);
    const uint64_t bits = FloatToBits(shape.dtype, kinds[kind]);
    std::memcpy(&bytes[at], &bits, size);
  }
  return builder.Constant(MakeLiteral(shape, std::move(bytes)));
}

}  // namespace

InstrId ProductByParts(Builder& builder, const Instr& instr) {
  const Shape part = ArrayShape(ComponentOf(instr.shape.dtype), instr.shape.dims);
  const auto of = [&](Op which, size_t operand) {
    return builder.Emit(which, part, {instr.operands[operand]});
  };
  const InstrId a = of(Op::kReal, 0), b = of(Op::kImag, 0);
  const InstrId c = of(Op::kReal, 1), d = of(Op::kImag, 1);
  const InstrId ac = builder.Binary(Op::kMultiply, a, c);
  const InstrId bd = builder.Binary(Op::kMultiply, b, d);
  const InstrId ad = builder.Binary(Op::kMultiply, a, d);
  const InstrId bc = builder.Binary(Op::kMultiply, b, c);
  const InstrId re = builder.Binary(Op::kSubtract, ac, bd);
  const InstrId im = builder.Binary(Op::kAdd, ad, bc);
  return builder.Emit(Op::kComplex, ArrayShape(instr.shape.dtype, instr.shape.dims), {re, im});
}

InstrId QuotientByParts(Builder& builder, const Instr& instr) {
  const Shape part = ArrayShape(ComponentOf(instr.shape.dtype), instr.shape.dims);
  const Shape whole = ArrayShape(instr.shape.dtype, instr.shape.dims);
  const InstrId re = builder.Emit(Op::kReal, part, {instr.operands[1]});
  const InstrId im = builder.Unary(Op::kNegate, builder.Emit(Op::kImag, part, {instr.operands[1]}));
  Instr product = instr;
  product.operands[1] = builder.Emit(Op::kComplex, whole, {re, im});
  const InstrId direct = ProductByParts(builder, product);
  const InstrId quotient = builder.Emit(Op::kDivide, whole, {instr.operands[0], instr.operands[1]});
  const InstrId infinite = HasSize(builder, quotient, std::numeric_limits<double>::infinity());
  const auto of = [&](Op which) {
    const InstrId own = builder.Emit(which, part, {quotient});
    const InstrId lost = builder.Emit(which, part, {direct});
    const InstrId is_nan = builder.Emit(Op::kCompare, ArrayShape(DType::kPred, instr.shape.dims),
                                        {lost, lost}, CompareAttrs{Direction::kNe});
    const InstrId replace = builder.Binary(Op::kAnd, infinite, is_nan);
    return builder.Emit(Op::kSelect, part, {replace, lost, own});
  };
  const InstrId new_re = of(Op::kReal), new_im = of(Op::kImag);
  return builder.Emit(Op::kComplex, whole, {new_re, new_im});
}

InstrId PowerByParts(Builder& builder, const Instr& instr) {
  Instr product = instr;
  product.operands = {instr.operands[1], builder.Unary(Op::kLog, instr.operands[0])};
  return builder.Unary(Op::kExponential, ProductByParts(builder, product));
}

std::optional<InstrId> ReducedBackwards(Builder& builder, const Instr& instr) {
  Instr mirrored = instr;
  auto attrs = instr.As<WindowAttrs>();
  DimsAttrs along;
  for (size_t d = 0; d < attrs.window.size(); ++d) {
    WindowDim& dim = attrs.window[d];
    if (dim.stride != 1 || dim.base_dilation != 1) return std::nullopt;
    std::swap(dim.pad_low, dim.pad_high);
    along.dims.push_back(static_cast<int64_t>(d));
  }
  mirrored.attrs = attrs;
  const auto reversed = [&](InstrId id) {
    return builder.Emit(Op::kReverse, ArrayShape(builder[id].shape.dtype, builder[id].shape.dims),
                        {id}, along);
  };
  const size_t inputs = instr.operands.size() / 2;
  for (size_t i = 0; i < inputs; ++i) mirrored.operands[i] = reversed(instr.operands[i]);
  const InstrId result = builder.Emit(std::move(mirrored));
  if (!instr.shape.is_tuple) return reversed(result);
  std::vector<InstrId> results;
  for (size_t i = 0; i < inputs; ++i)
    results.push_back(reversed(builder.TupleElement(result, static_cast<int64_t>(i))));
  return builder.Tuple(std::move(results));
}

InstrId BatchNormInSteps(Builder& builder, const Instr& instr, std::mt19937_64& random) {
  return BatchNormSteps(builder, instr, random).Write();
}

InstrId WithCancelledSums(Builder& builder, InstrId fft) {
  const InstrId operand = builder[fft].operands[0];
  const auto attrs = builder[fft].As<FftAttrs>();
  const Dims dims = builder[fft].shape.dims, given = builder[operand].shape.dims;
  const DType dtype = builder[fft].shape.dtype;
  const Shape part = ArrayShape(IsComplex(dtype) ? ComponentOf(dtype) : dtype, dims);
  const InstrId sizes = builder.Emit(Op::kAbs, ArrayShape(part.dtype, given), {operand});
  const auto kept = static_cast<int64_t>(given.size() - attrs.length.size());
  const Dims transformed(given.begin() + kept, given.end());
  DotAttrs dot;
  dot.rhs_contracting = IdentityDims(static_cast<int64_t>(transformed.size()));
  for (const int64_t dim : dot.rhs_contracting) dot.lhs_contracting.push_back(kept + dim);
  double scale = 1;
  if (attrs.type == "IFFT" || attrs.type == "IRFFT")
    for (const int64_t n : attrs.length) scale /= static_cast<double>(n);
  const InstrId weight = builder.Constant(ScalarLiteralOf(part.dtype, scale));
  const InstrId sums =
      builder.Emit(Op::kDot, ArrayShape(part.dtype, {given.begin(), given.begin() + kept}),
                   {sizes, builder.Broadcast(weight, transformed, {})}, std::move(dot));
  const InstrId whole = builder.Broadcast(sums, dims, IdentityDims(kept));
  const InstrId usable = builder.Emit(Op::kIsFinite, ArrayShape(DType::kPred, dims), {whole});
  const auto freed = [&](InstrId id) {
    const InstrId sum = builder.Binary(Op::kAdd, id, whole);
    const InstrId rest = builder.Binary(Op::kSubtract, sum, whole);
    return builder.Emit(Op::kSelect, part, {usable, rest, id});
  };
  if (!IsComplex(dtype)) return freed(fft);
  const InstrId re = freed(builder.Emit(Op::kReal, part, {fft}));
  const InstrId im = freed(builder.Emit(Op::kImag, part, {fft}));
  return builder.Emit(Op::kComplex, ArrayShape(dtype, dims), {re, im});
}

InstrId WithOpenInfinities(Builder& builder, InstrId value, std::mt19937_64& random) {
  const Dims dims = builder[value].shape.dims;
  const DType dtype = builder[value].shape.dtype;
  const Shape part = ArrayShape(IsComplex(dtype) ? ComponentOf(dtype) : dtype, dims);
  const auto is_finite = [&](InstrId id) {
    return builder.Emit(Op::kIsFinite, ArrayShape(DType::kPred, dims), {id});
  };
  const auto opened = [&](InstrId finite, InstrId id) {
    const InstrId replace = builder.Binary(Op::kAnd, builder.Unary(Op::kNot, finite),
                                           RandomPred(builder, dims, random));
    const InstrId other = RandomUndecided(builder, part, random);
    return builder.Emit(Op::kSelect, part, {replace, other, id});
  };
  if (!IsComplex(dtype)) return opened(is_finite(value), value);
  const InstrId re = builder.Emit(Op::kReal, part, {value});
  const InstrId im = builder.Emit(Op::kImag, part, {value});
  const InstrId re_finite = is_finite(re), im_finite = is_finite(im);
  const InstrId finite = builder.Binary(Op::kAnd, re_finite, im_finite);
  const InstrId new_re = opened(finite, re), new_im = opened(finite, im);
  return builder.Emit(Op::kComplex, ArrayShape(dtype, dims), {new_re, new_im});
}

}  // namespace fusemark
