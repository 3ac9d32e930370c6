// Attributes of an instruction: one small struct per family of opcodes, held in a variant.
// All others (sharding, frontend_attributes, backend_config, ...) are kept as text in Instr::extra
// so that printing gives them back; FindExtra() reads the few that matter to one opcode.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/literal.h"

namespace fusemark {

using Dims = std::vector<int64_t>;

struct ParameterAttrs {
  int64_t number = 0;
  bool operator==(const ParameterAttrs&) const = default;
};

// `elided`: the text said constant({...}); the literal is empty until the workload loader fills it
// by the input rule.
struct ConstantAttrs {
  Literal literal;
  bool elided = false;
  bool operator==(const ConstantAttrs&) const = default;
};

// broadcast (operand dim -> result dim), transpose (result dim i = operand dim dims[i]), reverse,
// reduce, map, concatenate (one), iota (one: iota_dimension), get-dimension-size (one),
// dynamic-slice (dynamic_slice_sizes).
struct DimsAttrs {
  Dims dims;
  bool operator==(const DimsAttrs&) const = default;
};

struct TupleIndexAttrs {
  int64_t index = 0;
  bool operator==(const TupleIndexAttrs&) const = default;
};

enum class Direction : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
enum class CompareType : uint8_t { kFloat, kTotalOrder, kSigned, kUnsigned };
struct CompareAttrs {
  Direction direction = Direction::kEq;
  CompareType type = CompareType::kFloat;
  bool operator==(const CompareAttrs&) const = default;
};

struct SliceAttrs {
  Dims start, limit, stride;
  bool operator==(const SliceAttrs&) const = default;
};

struct PadAttrs {
  Dims low, high, interior;  // low and high may be negative (crop)
  bool operator==(const PadAttrs&) const = default;
};

struct DotAttrs {
  Dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  std::string algorithm;  // "" or e.g. "dot_bf16_bf16_f32"
  bool operator==(const DotAttrs&) const = default;
};

struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, base_dilation = 1, window_dilation = 1;
  bool reversal = false;
  bool operator==(const WindowDim&) const = default;
};
using Window = std::vector<WindowDim>;

// reduce-window (one entry per dim of the operand), select-and-scatter.
struct WindowAttrs {
  Window window;
  bool operator==(const WindowAttrs&) const = default;
};

// Which tensor dimension plays which role; spatial[i] is the tensor dim of spatial dim i.
struct ConvDims {
  int64_t lhs_batch = 0, lhs_feature = 0, rhs_input = 0, rhs_output = 0, out_batch = 0,
          out_feature = 0;
  Dims lhs_spatial, rhs_spatial, out_spatial;
  bool operator==(const ConvDims&) const = default;
};

struct ConvAttrs {
  Window window;  // spatial dims only
  ConvDims dims;
  std::string dim_labels;  // as written, for printing
  int64_t feature_group_count = 1, batch_group_count = 1;
  bool operator==(const ConvAttrs&) const = default;
};

struct GatherAttrs {
  Dims offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims,
      start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  bool operator==(const GatherAttrs&) const = default;
};

struct ScatterAttrs {
  Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  bool operator==(const ScatterAttrs&) const = default;
};

struct SortAttrs {
  int64_t dim = 0;
  bool is_stable = false;
  bool operator==(const SortAttrs&) const = default;
};

struct TopKAttrs {
  int64_t k = 0;
  bool largest = true;
  bool operator==(const TopKAttrs&) const = default;
};

struct ReducePrecisionAttrs {
  int64_t exponent_bits = 0, mantissa_bits = 0;
  bool operator==(const ReducePrecisionAttrs&) const = default;
};

struct BatchNormAttrs {
  double epsilon = 0;
  int64_t feature_index = 0;
  bool operator==(const BatchNormAttrs&) const = default;
};

struct RngAttrs {
  std::string kind;   // rng: distribution; rng-bit-generator: algorithm
  int64_t delta = 0;  // rng-get-and-update-state
  bool operator==(const RngAttrs&) const = default;
};

struct FftAttrs {
  std::string type;  // FFT IFFT RFFT IRFFT
  Dims length;
  bool operator==(const FftAttrs&) const = default;
};

struct TriangularAttrs {  // cholesky reads `lower` only
  bool left_side = false, lower = false, unit_diagonal = false;
  std::string transpose_a;  // NO_TRANSPOSE TRANSPOSE ADJOINT, "" for cholesky
  bool operator==(const TriangularAttrs&) const = default;
};

struct FusionAttrs {
  std::string kind;  // kLoop kInput kOutput kCustom
  bool operator==(const FusionAttrs&) const = default;
};

struct CustomCallAttrs {
  std::string target;
  bool has_side_effect = false;
  bool operator==(const CustomCallAttrs&) const = default;
};

// all-gather, all-to-all, reduce-scatter and friends: the dimension they work along.
struct CollectiveAttrs {
  Dims dims;
  bool operator==(const CollectiveAttrs&) const = default;
};

using Attrs =
    std::variant<std::monostate, ParameterAttrs, ConstantAttrs, DimsAttrs, TupleIndexAttrs,
                 CompareAttrs, SliceAttrs, PadAttrs, DotAttrs, WindowAttrs, ConvAttrs, GatherAttrs,
                 ScatterAttrs, SortAttrs, TopKAttrs, ReducePrecisionAttrs, BatchNormAttrs, RngAttrs,
                 FftAttrs, TriangularAttrs, FusionAttrs, CustomCallAttrs, CollectiveAttrs>;

}  // namespace fusemark
