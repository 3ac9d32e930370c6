// Library kernels: matrix products and convolutions by oneDNN. Off uses them as TensorFlow and
// PyTorch do; on may choose them per kernel. Plain numbers in, no HLO here: the caller (program/)
// translates instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

// Both factors and the result; of bytes: s8 or u8 times s8, the result s32 (products only).
enum class LibraryType : uint8_t { kF32, kBF16, kS8, kU8 };

// result[b..., m, n] = sum over k of lhs[b..., m, k] * rhs[b..., k, n]; strides in elements, result
// dense row-major.
struct MatmulSpec {
  LibraryType type = LibraryType::kF32;
  std::vector<int64_t> batch;
  int64_t m = 1, n = 1, k = 1;
  std::vector<int64_t> lhs_batch_strides, rhs_batch_strides;
  int64_t lhs_m_stride = 0, lhs_k_stride = 1, rhs_k_stride = 0, rhs_n_stride = 1;
};

// Forward convolution; spatial rank 1 to 3. Dims and strides are (N, C, spatial...) for activations
// and (groups, O/groups, I/groups, spatial...) for weights, whatever the memory order.
struct ConvSpec {
  LibraryType type = LibraryType::kF32;
  std::vector<int64_t> source_dims, source_strides, weight_dims, weight_strides, result_dims,
      result_strides;
  std::vector<int64_t> stride, dilation, pad_low, pad_high;  // dilation 1 = dense
};

class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  // `scratch` holds scratch_bytes(), 64-byte aligned. kLaunchFailed with the library's text.
  virtual Result<void> Run(const void* lhs, const void* rhs, void* result, void* scratch) = 0;
  // Keeps the right operand in the library's own layout: later runs take it from there and read
  // `rhs` no more. kLaunchFailed also when there is no memory.
  virtual Result<void> Pack(const void* rhs) = 0;
  virtual int64_t scratch_bytes() const = 0;
  virtual const char* implementation() const = 0;  // the library's own name of what it chose
};

// Nothing if the library has no implementation for the spec on this machine (or only its slow
// reference one, or one that suits the spec as badly).
std::unique_ptr<LibraryKernel> MakeMatmul(const MatmulSpec& spec);
std::unique_ptr<LibraryKernel> MakeConvolution(const ConvSpec& spec);

const char* LibraryVersion();

}  // namespace fusemark
