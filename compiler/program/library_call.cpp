#include "compiler/program/library_call.h"

#include <optional>

#include "compiler/ir/dot.h"

namespace fusemark {
namespace {

// Multiply-adds of one product (of each batch) below which calling the library costs more than the
// product itself; own kernels take those.
constexpr int64_t kFewestLibraryMacs = int64_t{1} << 19;

std::optional<LibraryType> TypeOf(const Shape& a, const Shape& b, const Shape& result) {
  if (a.dtype != b.dtype || a.dtype != result.dtype) return std::nullopt;
  if (a.dtype == DType::kF32) return LibraryType::kF32;
  if (a.dtype == DType::kBF16) return LibraryType::kBF16;
  return std::nullopt;
}

// Several dims walked as one: their product and the stride of the innermost. Nothing if they are
// not adjacent.
struct Run {
  int64_t size = 1;
  int64_t stride = 1;
};
std::optional<Run> Collapse(const Shape& shape, const Dims& dims) {
  const Dims strides = RowMajorStrides(shape.dims);
  Run run;
  bool first = true;
  for (size_t i = dims.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(dims[i]);
    if (shape.dims[dim] == 1) continue;
    if (first) {
      run = {shape.dims[dim], strides[dim]};
      first = false;
    } else if (strides[dim] == run.stride * run.size) {
      run.size *= shape.dims[dim];
    } else {
      return std::nullopt;
    }
  }
  return run;
}

std::unique_ptr<LibraryKernel> Matmul(const Shape& lhs, const Shape& rhs, const Shape& result,
                                      const DotAttrs& dot) {
  const auto type = TypeOf(lhs, rhs, result);
  if (!type || !dot.algorithm.empty()) return nullptr;
  const auto m = Collapse(lhs, FreeDims(lhs.rank(), dot.lhs_batch, dot.lhs_contracting));
  const auto n = Collapse(rhs, FreeDims(rhs.rank(), dot.rhs_batch, dot.rhs_contracting));
  const auto lhs_k = Collapse(lhs, dot.lhs_contracting);
  const auto rhs_k = Collapse(rhs, dot.rhs_contracting);
  if (!m || !n || !lhs_k || !rhs_k || dot.lhs_contracting.empty()) return nullptr;
  int64_t macs = 0;
  if (!__builtin_mul_overflow(m->size, n->size, &macs) &&
      !__builtin_mul_overflow(macs, lhs_k->size, &macs) && macs < kFewestLibraryMacs) {
    return nullptr;
  }
  MatmulSpec spec;
  spec.type = *type;
  const Dims lhs_strides = RowMajorStrides(lhs.dims), rhs_strides = RowMajorStrides(rhs.dims);
  for (size_t i = 0; i < dot.lhs_batch.size(); ++i) {
    const auto left = static_cast<size_t>(dot.lhs_batch[i]);
    if (lhs.dims[left] == 1) continue;
    spec.batch.push_back(lhs.dims[left]);
    spec.lhs_batch_strides.push_back(lhs_strides[left]);
    spec.rhs_batch_strides.push_back(rhs_strides[static_cast<size_t>(dot.rhs_batch[i])]);
  }
  constexpr size_t kMostBatchDims = 10;  // the library's tensors have at most 12 dims
  if (spec.batch.size() > kMostBatchDims) return nullptr;
  spec.m = m->size;
  spec.n = n->size;
  spec.k = lhs_k->size;
  spec.lhs_m_stride = m->stride;
  spec.lhs_k_stride = lhs_k->stride;
  spec.rhs_k_stride = rhs_k->stride;
  spec.rhs_n_stride = n->stride;
  return MakeMatmul(spec);
}

// Dims and strides picked in the library's order: first, second, then the spatial ones.
void Pick(const Shape& shape, int64_t first, int64_t second, const Dims& spatial,
          std::vector<int64_t>& dims, std::vector<int64_t>& strides) {
  const Dims all = RowMajorStrides(shape.dims);
  Dims order{first, second};
  order.insert(order.end(), spatial.begin(), spatial.end());
  for (const int64_t dim : order) {
    dims.push_back(shape.dims[static_cast<size_t>(dim)]);
    strides.push_back(all[static_cast<size_t>(dim)]);
  }
}

std::unique_ptr<LibraryKernel> Convolution(const Shape& lhs, const Shape& rhs, const Shape& result,
                                           const ConvAttrs& conv) {
  const auto type = TypeOf(lhs, rhs, result);
  const size_t spatial = conv.window.size();
  if (!type || spatial < 1 || spatial > 3 || conv.batch_group_count != 1) return nullptr;
  // The library's bf16 kernels multiply the channels of neighbouring groups by zeros: an infinity
  // among them, or among the weights, would come out as NaN.
  const bool depthwise =
      rhs.dims[static_cast<size_t>(conv.dims.rhs_input)] == 1 &&
      rhs.dims[static_cast<size_t>(conv.dims.rhs_output)] == conv.feature_group_count;
  if (*type == LibraryType::kBF16 && conv.feature_group_count != 1 && !depthwise) return nullptr;
  ConvSpec spec;
  spec.type = *type;
  for (const WindowDim& dim : conv.window) {
    if (dim.base_dilation != 1 || dim.reversal || dim.pad_low < 0 || dim.pad_high < 0) {
      return nullptr;
    }
    spec.stride.push_back(dim.stride);
    spec.dilation.push_back(dim.window_dilation);
    spec.pad_low.push_back(dim.pad_low);
    spec.pad_high.push_back(dim.pad_high);
  }
  const ConvDims& dims = conv.dims;
  Pick(lhs, dims.lhs_batch, dims.lhs_feature, dims.lhs_spatial, spec.source_dims,
       spec.source_strides);
  Pick(result, dims.out_batch, dims.out_feature, dims.out_spatial, spec.result_dims,
       spec.result_strides);
  Pick(rhs, dims.rhs_output, dims.rhs_input, dims.rhs_spatial, spec.weight_dims,
       spec.weight_strides);
  // Output features of one group lie together: group g holds outputs [g * O/G, (g + 1) * O/G).
  const int64_t groups = conv.feature_group_count;
  spec.weight_dims[0] /= groups;
  spec.weight_dims.insert(spec.weight_dims.begin(), groups);
  spec.weight_strides.insert(spec.weight_strides.begin(),
                             spec.weight_strides[0] * spec.weight_dims[1]);
  return MakeConvolution(spec);
}

}  // namespace

std::unique_ptr<LibraryKernel> MakeLibraryKernel(const Module& module, ComputationId computation,
                                                 InstrId id) {
  const Computation& owner = module[computation];
  const Instr& instr = owner[id];
  if (ClassOf(instr.op) != OpClass::Contract || instr.operands.size() != 2) return nullptr;
  const Shape& lhs = owner[instr.operands[0]].shape;
  const Shape& rhs = owner[instr.operands[1]].shape;
  if (ElementCount(lhs) == 0 || ElementCount(rhs) == 0 || ElementCount(instr.shape) == 0) {
    return nullptr;
  }
  if (instr.op == Op::kDot) return Matmul(lhs, rhs, instr.shape, instr.As<DotAttrs>());
  if (instr.op == Op::kConvolution) {
    return Convolution(lhs, rhs, instr.shape, instr.As<ConvAttrs>());
  }
  return nullptr;
}

}  // namespace fusemark
