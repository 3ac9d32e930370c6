// Convolution of the emitter: window loops outside, channels inside.
#include <limits>

#include "compiler/loops/lower_contraction.h"
#include "compiler/loops/lower_expr.h"
#include "compiler/loops/lower_window.h"

namespace fusemark::loops {
namespace {

size_t At(int64_t dim) {
  return static_cast<size_t>(dim);
}

// Integer convolutions saturate where dots wrap: sum in s64, clamp at the end.
ExprId Saturated(Builder& build, ExprId sum, DType to) {
  const int bits = BitWidth(to);
  const DType held = HeldType(to);
  if (bits == 64) return build.Convert(sum, held);
  const int64_t high = IsSigned(to) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  return build.Convert(build.ClampIndex(sum, IsSigned(to) ? -high - 1 : 0, high), held);
}

}  // namespace

Value Emitter::Convolution(const Instr& in, const Indices& indices) {
  const auto& conv = in.As<ConvAttrs>();
  const ConvDims& dims = conv.dims;
  const Shape &lhs = instr(in.operands[0]).shape, &rhs = instr(in.operands[1]).shape;
  const bool integer = IsInteger(in.shape.dtype);
  const DType type = integer ? DType::kS64 : ContractionType(lhs.dtype, rhs.dtype, in.shape.dtype);
  const BufferId sum = Accumulator(type, builder_.Constant(type, 0));

  const Affine& feature = indices[At(dims.out_feature)];
  Affine batch = indices[At(dims.out_batch)];
  const int64_t features = in.shape.dims[At(dims.out_feature)];
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
                 MultiplyAccumulate(*this, sum, builder_.Convert(Use(a), type),
                                    builder_.Convert(Use(b), type));
               });
             });
  const DType held = HeldType(in.shape.dtype);
  const ExprId total =
      integer ? Saturated(builder_, Read(sum), in.shape.dtype) : builder_.Convert(Read(sum), held);
  return Round(in.name, in.shape.dtype, total);
}

}  // namespace fusemark::loops
