#include <algorithm>
#include <utility>

#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

// The only tap reads the input unshifted and undilated: the dimension takes part as a plain one.
bool IsIdle(const WindowDim& dim, int64_t input, int64_t output) {
  return dim.size == 1 && dim.stride == 1 && dim.pad_low == 0 && dim.pad_high == 0 &&
         dim.base_dilation == 1 && input == 1 && output == 1;
}

// Drops `spatial[i]` for each i in `idle` and renumbers what lies behind.
Dims WithoutDims(const Dims& dims, const Dims& dropped) {
  Dims result;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (std::find(dropped.begin(), dropped.end(), static_cast<int64_t>(d)) == dropped.end()) {
      result.push_back(dims[d]);
    }
  }
  return result;
}

int64_t Renumbered(int64_t dim, const Dims& dropped) {
  return dim - std::count_if(dropped.begin(), dropped.end(), [&](int64_t d) { return d < dim; });
}

void Renumber(Dims& spatial, int64_t& a, int64_t& b, const Dims& dropped) {
  std::erase_if(spatial, [&](int64_t d) {
    return std::find(dropped.begin(), dropped.end(), d) != dropped.end();
  });
  for (int64_t& d : spatial) d = Renumbered(d, dropped);
  a = Renumbered(a, dropped);
  b = Renumbered(b, dropped);
}

// "b01f_01io->b01f" for the dims.
std::string LabelsOf(const ConvDims& dims) {
  const auto side = [](char a, int64_t at_a, char b, int64_t at_b, const Dims& spatial) {
    std::string text(spatial.size() + 2, '?');
    text[static_cast<size_t>(at_a)] = a;
    text[static_cast<size_t>(at_b)] = b;
    for (size_t i = 0; i < spatial.size(); ++i) {
      text[static_cast<size_t>(spatial[i])] = static_cast<char>('0' + i);
    }
    return text;
  };
  return side('b', dims.lhs_batch, 'f', dims.lhs_feature, dims.lhs_spatial) + "_" +
         side('i', dims.rhs_input, 'o', dims.rhs_output, dims.rhs_spatial) + "->" +
         side('b', dims.out_batch, 'f', dims.out_feature, dims.out_spatial);
}

// Without its idle spatial dims, between reshapes that drop and restore extents of 1.
std::optional<InstrId> DropIdleDims(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<ConvAttrs>();
  const Shape& lhs = builder[instr.operands[0]].shape;
  const Shape& rhs = builder[instr.operands[1]].shape;
  const auto rank = static_cast<int64_t>(attrs.dims.lhs_spatial.size()) + 2;
  if (lhs.rank() != rank || rhs.rank() != rank || instr.shape.rank() != rank) return std::nullopt;
  ConvAttrs smaller = attrs;
  smaller.window.clear();
  Dims from_lhs, from_rhs, from_out;
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    const int64_t in = attrs.dims.lhs_spatial[i], out = attrs.dims.out_spatial[i];
    const bool idle = IsIdle(attrs.window[i], lhs.dims[static_cast<size_t>(in)],
                             instr.shape.dims[static_cast<size_t>(out)]);
    if (!idle) {
      smaller.window.push_back(attrs.window[i]);
      continue;
    }
    from_lhs.push_back(in);
    from_rhs.push_back(attrs.dims.rhs_spatial[i]);
    from_out.push_back(out);
  }
  if (from_lhs.empty()) return std::nullopt;
  Renumber(smaller.dims.lhs_spatial, smaller.dims.lhs_batch, smaller.dims.lhs_feature, from_lhs);
  Renumber(smaller.dims.rhs_spatial, smaller.dims.rhs_input, smaller.dims.rhs_output, from_rhs);
  Renumber(smaller.dims.out_spatial, smaller.dims.out_batch, smaller.dims.out_feature, from_out);
  smaller.dim_labels = LabelsOf(smaller.dims);
  const Dims lhs_dims = WithoutDims(lhs.dims, from_lhs);
  const Dims rhs_dims = WithoutDims(rhs.dims, from_rhs);
  Instr conv = instr;
  conv.operands = {builder.Reshape(instr.operands[0], lhs_dims),
                   builder.Reshape(instr.operands[1], rhs_dims)};
  conv.shape = ArrayShape(instr.shape.dtype, WithoutDims(instr.shape.dims, from_out));
  conv.attrs = std::move(smaller);
  return builder.Reshape(builder.Emit(std::move(conv)), instr.shape.dims);
}

// No spatial dims left: a matrix product over the features.
std::optional<InstrId> AsDot(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<ConvAttrs>();
  const DType type = instr.shape.dtype;
  const bool plain = attrs.dims.lhs_spatial.empty() && attrs.feature_group_count == 1 &&
                     attrs.batch_group_count == 1 && attrs.dims.out_batch == 0 &&
                     instr.shape.rank() == 2;
  // Integer convolutions saturate, integer dots wrap.
  if (!plain || IsInteger(type)) return std::nullopt;
  DotAttrs dot;
  dot.lhs_contracting = {attrs.dims.lhs_feature};
  dot.rhs_contracting = {attrs.dims.rhs_input};
  return builder.Emit(Op::kDot, instr.shape, instr.operands, std::move(dot));
}

// The left operand without the positions that strides skip.
InstrId ReadPositions(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<ConvAttrs>();
  const Shape from = builder[instr.operands[0]].shape;
  SliceAttrs slice{Dims(from.dims.size(), 0), from.dims, Dims(from.dims.size(), 1)};
  Shape shape = ArrayShape(from.dtype, from.dims);
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    const auto dim = static_cast<size_t>(attrs.dims.lhs_spatial[i]);
    slice.stride[dim] = attrs.window[i].stride;
    shape.dims[dim] = instr.shape.dims[static_cast<size_t>(attrs.dims.out_spatial[i])];
  }
  if (shape.dims == from.dims) return instr.operands[0];
  return builder.Emit(Op::kSlice, std::move(shape), {instr.operands[0]}, std::move(slice));
}

// A filter of one tap at every position: a matrix product over the features, with the positions as
// further rows. Only where the result's dims come in the order in which a dot gives them.
std::optional<InstrId> AsPointwiseDot(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<ConvAttrs>();
  const ConvDims& dims = attrs.dims;
  const bool one_tap = std::all_of(attrs.window.begin(), attrs.window.end(), [](const auto& dim) {
    return dim.size == 1 && dim.pad_low == 0 && dim.pad_high == 0 && dim.base_dilation == 1;
  });
  const auto rank = static_cast<int64_t>(attrs.window.size()) + 2;
  const bool plain = one_tap && attrs.feature_group_count == 1 && attrs.batch_group_count == 1 &&
                     dims.out_feature == rank - 1 && !IsInteger(instr.shape.dtype);
  if (!plain) return std::nullopt;
  const auto place = [](int64_t dim, int64_t feature) { return dim < feature ? dim : dim - 1; };
  bool in_order = place(dims.lhs_batch, dims.lhs_feature) == dims.out_batch;
  for (size_t i = 0; i < attrs.window.size(); ++i)
    in_order = in_order && place(dims.lhs_spatial[i], dims.lhs_feature) == dims.out_spatial[i];
  if (!in_order) return std::nullopt;
  const Shape& filter = builder[instr.operands[1]].shape;
  const int64_t inputs = filter.dims[static_cast<size_t>(dims.rhs_input)];
  const int64_t outputs = filter.dims[static_cast<size_t>(dims.rhs_output)];
  const bool inputs_first = dims.rhs_input < dims.rhs_output;
  const InstrId matrix = builder.Reshape(
      instr.operands[1], inputs_first ? Dims{inputs, outputs} : Dims{outputs, inputs});
  DotAttrs dot;
  dot.lhs_contracting = {dims.lhs_feature};
  dot.rhs_contracting = {inputs_first ? 0 : 1};
  return builder.Emit(Op::kDot, ArrayShape(instr.shape.dtype, instr.shape.dims),
                      {ReadPositions(builder, instr), matrix}, std::move(dot));
}

// Padding as an instruction of its own, which the producer of the image computes on the way:
// without it every tap of every position would have to ask whether it is inside. For the
// convolutions that own code computes (SuitsOwnCode in loops/load_analysis.h): channels last on
// both sides, filters of a few taps, no deep sums. A library pads while it reads.
std::optional<InstrId> PadBefore(Builder& builder, const Instr& instr) {
  constexpr int64_t kMostTaps = 9, kFewestChannels = 16, kDeepestSum = 2048;
  const auto& attrs = instr.As<ConvAttrs>();
  const Shape image = builder[instr.operands[0]].shape, filter = builder[instr.operands[1]].shape;
  const bool floats =
      image.dtype == DType::kF32 && filter.dtype == DType::kF32 && instr.shape.dtype == DType::kF32;
  if (attrs.dim_labels != "b01f_01io->b01f" || !floats ||
      attrs.feature_group_count * attrs.batch_group_count != 1) {
    return std::nullopt;
  }
  bool padded = false;
  bool plain = filter.dims[2] >= kFewestChannels && filter.dims[3] >= kFewestChannels;
  int64_t depth = filter.dims[2];
  for (const WindowDim& dim : attrs.window) {
    depth *= dim.size;
    padded = padded || dim.pad_low > 0 || dim.pad_high > 0;
    plain = plain && dim.size <= kMostTaps && dim.base_dilation == 1 && !dim.reversal &&
            dim.pad_low >= 0 && dim.pad_high >= 0;
  }
  if (!padded || !plain || depth > kDeepestSum) return std::nullopt;
  PadAttrs pad{Dims(4, 0), Dims(4, 0), Dims(4, 0)};
  ConvAttrs unpadded = attrs;
  Shape shape = ArrayShape(image.dtype, image.dims);
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    pad.low[i + 1] = std::exchange(unpadded.window[i].pad_low, 0);
    pad.high[i + 1] = std::exchange(unpadded.window[i].pad_high, 0);
    shape.dims[i + 1] += pad.low[i + 1] + pad.high[i + 1];
  }
  const InstrId zero = builder.Constant(ScalarLiteral(image.dtype, 0));
  Instr conv = instr;
  conv.operands[0] =
      builder.Emit(Op::kPad, std::move(shape), {instr.operands[0], zero}, std::move(pad));
  conv.attrs = std::move(unpadded);
  return builder.Emit(std::move(conv));
}

}  // namespace

Result<bool> CanonicaliseConv(Module& module, const PassContext&) {
  bool changed = false;
  changed |= RewriteModule(module, [&](Builder& builder, Instr&& instr) {
    if (instr.op == Op::kConvolution) {
      std::optional<InstrId> simpler = DropIdleDims(builder, instr);
      if (!simpler) simpler = AsDot(builder, instr);
      if (!simpler) simpler = AsPointwiseDot(builder, instr);
      if (!simpler) simpler = PadBefore(builder, instr);
      if (simpler) {
        changed = true;
        return *simpler;
      }
    }
    return builder.Keep(std::move(instr));
  });
  return changed;
}

}  // namespace fusemark
