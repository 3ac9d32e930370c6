#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/infer.h"
#include "compiler/support/strings.h"

namespace fusemark {
namespace {

bool Contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// lhs and rhs dims pair by position and have equal sizes.
Result<void> CheckPairs(const InferContext& context, std::string_view what, const Dims& lhs,
                        const Dims& rhs) {
  if (lhs.size() != rhs.size()) {
    return context.Fail(fmt::format("found {} lhs and {} rhs {} dimensions, expected as many",
                                    lhs.size(), rhs.size(), what));
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t a = context.shape(0).dims[static_cast<size_t>(lhs[i])];
    const int64_t b = context.shape(1).dims[static_cast<size_t>(rhs[i])];
    if (SizesMatch(a, b)) continue;
    return context.Fail(fmt::format(
        "{} dimension {} of the lhs {} has size {}, but dimension {} "
        "of the rhs {} has size {}",
        what, lhs[i], ToString(context.shape(0)), a, rhs[i], ToString(context.shape(1)), b));
  }
  return Ok();
}

Result<void> CheckSide(const InferContext& context, size_t side, const Dims& batch,
                       const Dims& contracting) {
  const std::string_view name = side == 0 ? "lhs" : "rhs";
  const int64_t rank = context.shape(side).rank();
  Dims all = batch;
  all.insert(all.end(), contracting.begin(), contracting.end());
  return context.ExpectDims(fmt::format("{}_batch_dims and {}_contracting_dims", name, name), all,
                            rank);
}

}  // namespace

// The element type is the written one: bf16 x bf16 may give f32. It is the lhs's if none is
// written.
Inferred InferDot(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const auto& attrs = context.instr.As<DotAttrs>();
  FM_RETURN_IF_ERROR(CheckSide(context, 0, attrs.lhs_batch, attrs.lhs_contracting));
  FM_RETURN_IF_ERROR(CheckSide(context, 1, attrs.rhs_batch, attrs.rhs_contracting));
  FM_RETURN_IF_ERROR(CheckPairs(context, "batch", attrs.lhs_batch, attrs.rhs_batch));
  FM_RETURN_IF_ERROR(
      CheckPairs(context, "contracting", attrs.lhs_contracting, attrs.rhs_contracting));
  const Shape& lhs = context.shape(0);
  const Shape& rhs = context.shape(1);
  Dims result;
  for (int64_t dim : attrs.lhs_batch) result.push_back(lhs.dims[static_cast<size_t>(dim)]);
  for (int64_t dim = 0; dim < lhs.rank(); ++dim) {
    if (!Contains(attrs.lhs_batch, dim) && !Contains(attrs.lhs_contracting, dim))
      result.push_back(lhs.dims[static_cast<size_t>(dim)]);
  }
  for (int64_t dim = 0; dim < rhs.rank(); ++dim) {
    if (!Contains(attrs.rhs_batch, dim) && !Contains(attrs.rhs_contracting, dim))
      result.push_back(rhs.dims[static_cast<size_t>(dim)]);
  }
  return std::optional<Shape>(PlainArray(lhs.dtype, std::move(result)));
}

namespace {

Result<void> CheckConvRanks(const InferContext& context, const ConvAttrs& attrs) {
  const size_t spatial = attrs.window.size();
  const auto rank = static_cast<int64_t>(spatial + 2);
  const ConvDims& dims = attrs.dims;
  if (dims.lhs_spatial.size() != spatial || dims.rhs_spatial.size() != spatial ||
      dims.out_spatial.size() != spatial) {
    return context.Fail(
        fmt::format("the window has {} dimensions, but dim_labels={} has {} "
                    "spatial ones",
                    spatial, attrs.dim_labels, dims.lhs_spatial.size()));
  }
  for (size_t i = 0; i < 2; ++i) {
    if (context.shape(i).rank() != rank)
      return context.BadOperand(i,
                                fmt::format("rank {} as in dim_labels={}", rank, attrs.dim_labels));
  }
  const auto check = [&](int64_t first, int64_t second, Dims all) {
    all.push_back(first);
    all.push_back(second);
    return context.ExpectDims("dim_labels", all, rank);
  };
  FM_RETURN_IF_ERROR(check(dims.lhs_batch, dims.lhs_feature, dims.lhs_spatial));
  FM_RETURN_IF_ERROR(check(dims.rhs_input, dims.rhs_output, dims.rhs_spatial));
  return check(dims.out_batch, dims.out_feature, dims.out_spatial);
}

// lhs features = groups x kernel input features, and both group counts divide what they split.
Result<void> CheckConvGroups(const InferContext& context, const ConvAttrs& attrs) {
  const auto lhs = [&](int64_t dim) { return context.shape(0).dims[static_cast<size_t>(dim)]; };
  const auto rhs = [&](int64_t dim) { return context.shape(1).dims[static_cast<size_t>(dim)]; };
  const int64_t groups = attrs.feature_group_count;
  const int64_t batch_groups = attrs.batch_group_count;
  if (groups < 1 || batch_groups < 1 || (groups > 1 && batch_groups > 1)) {
    return context.Fail(
        fmt::format("feature_group_count={} and batch_group_count={}, expected 1 "
                    "or more and only one of them above 1",
                    groups, batch_groups));
  }
  const int64_t in_features = lhs(attrs.dims.lhs_feature);
  const int64_t kernel_in = rhs(attrs.dims.rhs_input);
  const int64_t kernel_out = rhs(attrs.dims.rhs_output);
  if (in_features % groups != 0 || in_features / groups != kernel_in) {
    return context.Fail(
        fmt::format("the input has {} features in {} groups, but the kernel {} "
                    "takes {} per group",
                    in_features, groups, ToString(context.shape(1)), kernel_in));
  }
  if (kernel_out % groups != 0 || kernel_out % batch_groups != 0 ||
      lhs(attrs.dims.lhs_batch) % batch_groups != 0) {
    return context.Fail(
        fmt::format("{} output features and batch {} cannot be split into {} "
                    "feature groups and {} batch groups",
                    kernel_out, lhs(attrs.dims.lhs_batch), groups, batch_groups));
  }
  return Ok();
}

}  // namespace

Inferred InferConvolution(const InferContext& context) {
  FM_RETURN_IF_ERROR(context.ExpectArrays());
  const auto& attrs = context.instr.As<ConvAttrs>();
  FM_RETURN_IF_ERROR(CheckConvRanks(context, attrs));
  FM_RETURN_IF_ERROR(CheckConvGroups(context, attrs));
  const Shape& lhs = context.shape(0);
  const Shape& rhs = context.shape(1);
  Dims spatial;
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    const int64_t kernel = rhs.dims[static_cast<size_t>(attrs.dims.rhs_spatial[i])];
    if (kernel != attrs.window[i].size) {
      return context.Fail(
          fmt::format("the window has size {} in spatial dimension {}, but the "
                      "kernel {} has {}",
                      attrs.window[i].size, i, ToString(rhs), kernel));
    }
    spatial.push_back(lhs.dims[static_cast<size_t>(attrs.dims.lhs_spatial[i])]);
  }
  FM_TRY(const Dims out, WindowedDims(context, spatial, attrs.window));
  Dims result(lhs.dims.size());
  result[static_cast<size_t>(attrs.dims.out_batch)] =
      lhs.dims[static_cast<size_t>(attrs.dims.lhs_batch)] / attrs.batch_group_count;
  result[static_cast<size_t>(attrs.dims.out_feature)] =
      rhs.dims[static_cast<size_t>(attrs.dims.rhs_output)];
  for (size_t i = 0; i < out.size(); ++i) {
    result[static_cast<size_t>(attrs.dims.out_spatial[i])] = out[i];
  }
  return std::optional<Shape>(PlainArray(lhs.dtype, std::move(result)));
}

}  // namespace fusemark
