// Convolution of the emitter: window loops outside, channels inside.
#include <algorithm>
#include <bit>

#include "compiler/loops/lower_contraction.h"
#include "compiler/loops/lower_expr.h"
#include "compiler/loops/lower_window.h"

namespace fusemark::loops {
namespace {

size_t At(int64_t dim) {
  return static_cast<size_t>(dim);
}

// Sums the products of a convolution. Floats like dots. Integers of up to 32 bits saturate where
// dots wrap, so their sum must be exact: where products of 32 bits could leave s64, their lower and
// upper halves are summed apart. 64-bit integers wrap, as no wider type holds their sums.
class ProductSum {
 public:
  ProductSum(Emitter& emitter, const Shape& lhs, const Shape& rhs, DType result, int64_t terms)
      : emitter_(emitter), build_(emitter.builder()), result_(result) {
    const bool integer = IsInteger(result);
    type_ = integer ? DType::kS64 : ContractionType(lhs.dtype, rhs.dtype, result);
    saturates_ = integer && BitWidth(result) < 64;
    const int bits = BitWidth(lhs.dtype) + BitWidth(rhs.dtype);
    split_ = saturates_ && bits <= 64 && bits + std::bit_width(uint64_t(terms)) > 63;
    is_unsigned_ = IsUnsigned(lhs.dtype) && IsUnsigned(rhs.dtype);
    sum_ = emitter.Accumulator(type_, build_.Constant(type_, 0));
    if (split_) high_ = emitter.Accumulator(type_, build_.Constant(type_, 0));
  }

  void Add(ExprId a, ExprId b) {
    a = build_.Convert(a, type_);
    b = build_.Convert(b, type_);
    if (!split_) return MultiplyAccumulate(emitter_, sum_, a, b);
    const ExprId product = build_.Binary(Op::kMultiply, a, b);
    AddTo(sum_, build_.Binary(Op::kAnd, product, build_.Index(kLowHalf)));
    const Op shift = is_unsigned_ ? Op::kShiftRightLogical : Op::kShiftRightArithmetic;
    AddTo(high_, build_.Binary(shift, product, build_.Index(32)));
  }

  ExprId Total() {
    ExprId sum = emitter_.Read(sum_);
    if (split_) sum = Joined(sum, emitter_.Read(high_));
    const DType held = HeldType(result_);
    if (!saturates_) return build_.Convert(sum, held);
    const int bits = BitWidth(result_);
    const int64_t high = (int64_t{1} << (IsSigned(result_) ? bits - 1 : bits)) - 1;
    return build_.Convert(build_.ClampIndex(sum, IsSigned(result_) ? -high - 1 : 0, high), held);
  }

 private:
  static constexpr int64_t kLowHalf = 0xffffffff;

  void AddTo(BufferId sum, ExprId value) {
    emitter_.Assign(sum, build_.Binary(Op::kAdd, emitter_.Read(sum), value));
  }

  // A sum outside s64 becomes one at its end: either is outside every narrower type.
  ExprId Joined(ExprId low, ExprId high) {
    const ExprId bits = build_.Index(32);
    const ExprId carry = build_.Binary(Op::kShiftRightLogical, low, bits);
    const ExprId upper =
        build_.ClampIndex(build_.Add(high, carry), -(int64_t{1} << 31), (int64_t{1} << 31) - 1);
    const ExprId rest = build_.Binary(Op::kAnd, low, build_.Index(kLowHalf));
    return build_.Binary(Op::kOr, build_.Binary(Op::kShiftLeft, upper, bits), rest);
  }

  Emitter& emitter_;
  Builder& build_;
  DType result_, type_;
  bool saturates_, split_, is_unsigned_;
  BufferId sum_{}, high_{};
};

}  // namespace

Value Emitter::Convolution(const Instr& in, const Indices& indices) {
  const auto& conv = in.As<ConvAttrs>();
  const ConvDims& dims = conv.dims;
  const Shape &lhs = instr(in.operands[0]).shape, &rhs = instr(in.operands[1]).shape;
  const int64_t features = in.shape.dims[At(dims.out_feature)];
  const int64_t terms = ElementCount(rhs) / std::max<int64_t>(features, 1);
  ProductSum sum(*this, lhs, rhs, in.shape.dtype, terms);

  const Affine& feature = indices[At(dims.out_feature)];
  Affine batch = indices[At(dims.out_batch)];
  const int64_t channels = rhs.dims[At(dims.rhs_input)];
  Affine first_channel = ConstantIndex(0);
  if (conv.feature_group_count > 1)
    first_channel = Div(feature, features / conv.feature_group_count) * channels;
  if (conv.batch_group_count > 1)
    batch = batch + Div(feature, features / conv.batch_group_count) *
                        (lhs.dims[At(dims.lhs_batch)] / conv.batch_group_count);

  Indices outputs;
  std::vector<int64_t> base;
  for (size_t i = 0; i < conv.window.size(); ++i) {
    outputs.push_back(indices[At(dims.out_spatial[i])]);
    base.push_back(lhs.dims[At(dims.lhs_spatial[i])]);
  }
  WindowNest(*this, conv.window, outputs, base, 'k', true,
             [&](const Indices& element, const Indices& tap) {
               Nest('k', {channels}, true, [&](const Indices& channel) {
                 Indices lhs_at(lhs.dims.size()), rhs_at(rhs.dims.size());
                 lhs_at[At(dims.lhs_batch)] = batch;
                 lhs_at[At(dims.lhs_feature)] = first_channel + channel[0];
                 rhs_at[At(dims.rhs_input)] = channel[0];
                 rhs_at[At(dims.rhs_output)] = feature;
                 for (size_t i = 0; i < element.size(); ++i) {
                   const WindowDim& window = conv.window[i];
                   lhs_at[At(dims.lhs_spatial[i])] = element[i];
                   rhs_at[At(dims.rhs_spatial[i])] =
                       window.reversal ? ConstantIndex(window.size - 1) - tap[i] : tap[i];
                 }
                 const Value a = Emit(in.operands[0], lhs_at), b = Emit(in.operands[1], rhs_at);
                 sum.Add(Use(a), Use(b));
               });
             });
  return Round(in.name, in.shape.dtype, sum.Total());
}

}  // namespace fusemark::loops
