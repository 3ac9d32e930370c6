// Convolution as matrix products: for every group, the kernel [features][taps x inputs] times the
// input positions that each output position reads [taps x inputs][positions]. Positions outside the
// input contribute nothing: in the products they are zeros, which is the same for finite kernels
// only, so others are summed tap by tap (0 * inf is NaN). So are integers whose sums might leave 64
// bits: the exact sum saturates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "compiler/reference/contract.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

// Positions worked on together: at most kChunk, fewer when each reads much (weight gradients).
constexpr int64_t kChunk = 1024, kGathered = 1 << 22;

__extension__ using Exact = __int128;

struct Geometry {
  const ConvAttrs& attrs;
  Dims taps, output, input_strides;  // per spatial dim
  int64_t tap_count = 1, position_count = 1;
  // offsets[d][tap * output[d] + position]: what the pair adds to the input offset, or kOutside.
  std::vector<std::vector<int64_t>> offsets;

  static constexpr int64_t kOutside = std::numeric_limits<int64_t>::min();

  Geometry(const ConvAttrs& conv, const Shape& lhs, const Shape& rhs, const Shape& result)
      : attrs(conv) {
    const std::vector<int64_t> strides = RowMajorStrides(lhs.dims);
    for (size_t d = 0; d < conv.window.size(); ++d) {
      const auto in_dim = static_cast<size_t>(conv.dims.lhs_spatial[d]);
      taps.push_back(rhs.dims[static_cast<size_t>(conv.dims.rhs_spatial[d])]);
      output.push_back(result.dims[static_cast<size_t>(conv.dims.out_spatial[d])]);
      tap_count *= taps[d];
      position_count *= output[d];
      offsets.emplace_back();
      for (int64_t tap = 0; tap < taps[d]; ++tap)
        for (int64_t position = 0; position < output[d]; ++position)
          offsets[d].push_back(
              InputOffset(conv.window[d], tap, position, lhs.dims[in_dim], strides[in_dim]));
    }
  }

  static int64_t InputOffset(const WindowDim& window, int64_t tap, int64_t position, int64_t size,
                             int64_t stride) {
    const int64_t at = position * window.stride + tap * window.window_dilation - window.pad_low;
    if (at < 0 || at % window.base_dilation != 0 || at / window.base_dilation >= size)
      return kOutside;
    return at / window.base_dilation * stride;
  }
};

// One convolution as a sequence of products over chunks of (batch, output position).
class Convolution {
 public:
  Convolution(const Context& context, const Instr& instr, Operands operands)
      : context_(context),
        attrs_(instr.As<ConvAttrs>()),
        lhs_(*operands[0]),
        rhs_(*operands[1]),
        shape_(instr.shape),
        geometry_(attrs_, lhs_.shape, rhs_.shape, shape_),
        kind_(KindOf(shape_.dtype)),
        groups_(std::max(attrs_.feature_group_count, attrs_.batch_group_count)) {}

  Tensor Run() {
    Tensor result = MakeTensor(shape_, true);
    features_ = Dim(shape_, attrs_.dims.out_feature) / groups_;
    inputs_ = Dim(rhs_.shape, attrs_.dims.rhs_input);
    if (ElementCount(shape_) == 0) return result;
    input_ = DecodeAs(lhs_, kind_);
    const int64_t total = Dim(shape_, attrs_.dims.out_batch) * geometry_.position_count;
    const int64_t depth = geometry_.tap_count * inputs_;
    const int64_t chunk = std::clamp<int64_t>(kGathered / std::max<int64_t>(depth, 1), 8, kChunk);
    gathered_ = LaneBuffer(depth * chunk, kind_);
    product_ = LaneBuffer(features_ * chunk, kind_);
    outside_.resize(static_cast<size_t>(geometry_.tap_count * chunk));
    for (int64_t group = 0; group < groups_; ++group) {
      const LaneBuffer kernel = KernelOf(group);
      const int64_t taps = features_ * depth;
      const bool plain = IsFinite(kernel, taps) && Fits(kernel, taps, depth);
      for (int64_t first = 0; first < total; first += chunk) {
        const int64_t n = std::min(chunk, total - first);
        VisitKind(kind_, [&](auto* type) {
          using T = std::remove_pointer_t<decltype(type)>;
          Gather<T>(group, first, n);
          if (!plain) SumInside(kernel.as<T>(), n);
        });
        if (plain)
          MatrixProduct(kind_, features_, n, depth, kernel.data(), gathered_.data(),
                        product_.data(), context_);
        Store(group, first, n, result);
      }
    }
    return result;
  }

 private:
  static int64_t Dim(const Shape& shape, int64_t d) { return shape.dims[static_cast<size_t>(d)]; }

  // [features of the group][taps][inputs] of the kernel, reversed dims reversed.
  LaneBuffer KernelOf(int64_t group) const {
    const std::vector<int64_t> strides = RowMajorStrides(rhs_.shape.dims);
    const auto stride_of = [&](int64_t d) { return strides[static_cast<size_t>(d)]; };
    std::vector<int64_t> dims = {features_}, from = {stride_of(attrs_.dims.rhs_output)};
    int64_t offset = group * features_ * from[0];
    for (size_t d = 0; d < geometry_.taps.size(); ++d) {
      const int64_t stride = stride_of(attrs_.dims.rhs_spatial[d]);
      const bool reversed = attrs_.window[d].reversal;
      if (reversed) offset += (geometry_.taps[d] - 1) * stride;
      dims.push_back(geometry_.taps[d]);
      from.push_back(reversed ? -stride : stride);
    }
    dims.push_back(inputs_);
    from.push_back(stride_of(attrs_.dims.rhs_input));
    const DType dtype = rhs_.shape.dtype;
    Tensor arranged = MakeTensor(ArrayShape(dtype, dims), false);
    CopyStrided(ByteSize(dtype), dims, rhs_.data.get() + offset * ByteSize(dtype), from,
                arranged.data.get(), RowMajorStrides(dims));
    return DecodeAs(arranged, kind_);
  }

  // gathered_[tap][input][position]: what each of n positions from `first` on reads.
  template <class T>
  void Gather(int64_t group, int64_t first, int64_t n) {
    const std::vector<int64_t> strides = RowMajorStrides(lhs_.shape.dims);
    const int64_t feature_stride = strides[static_cast<size_t>(attrs_.dims.lhs_feature)];
    const int64_t batch_stride = strides[static_cast<size_t>(attrs_.dims.lhs_batch)];
    const int64_t base =
        attrs_.batch_group_count > 1
            ? group * (Dim(lhs_.shape, attrs_.dims.lhs_batch) / groups_) * batch_stride
            : group * inputs_ * feature_stride;
    Dims tap(geometry_.taps.size(), 0);
    const T* input = input_.as<T>() + base;
    T* row = gathered_.as<T>();
    for (int64_t t = 0; t < geometry_.tap_count; ++t) {
      const Dims offsets = OffsetsOf(tap, first, n, batch_stride);
      for (int64_t p = 0; p < n; ++p)
        outside_[static_cast<size_t>(t * n + p)] =
            offsets[static_cast<size_t>(p)] == Geometry::kOutside;
      for (int64_t i = 0; i < inputs_; ++i, row += n)
        for (int64_t p = 0; p < n; ++p) {
          const int64_t at = offsets[static_cast<size_t>(p)];
          row[p] = at == Geometry::kOutside ? T{0} : input[at + i * feature_stride];
        }
      NextIndex(geometry_.taps, tap);
    }
  }

  bool IsFinite(const LaneBuffer& lanes, int64_t count) const {
    if (kind_ != Kind::kFloat && kind_ != Kind::kComplex) return true;
    const int64_t parts = kind_ == Kind::kComplex ? 2 * count : count;
    const auto* first = lanes.as<double>();
    return std::all_of(first, first + parts, [](double x) { return std::isfinite(x); });
  }

  // No sum of `depth` products leaves 64 bits, or the type is as wide and wraps.
  bool Fits(const LaneBuffer& kernel, int64_t count, int64_t depth) const {
    if (!Saturates()) return true;
    const Exact largest = Largest(kernel, count) * Largest(input_, ElementCount(lhs_.shape));
    return largest * depth <= std::numeric_limits<int64_t>::max();
  }

  bool Saturates() const { return IsInteger(shape_.dtype) && BitWidth(shape_.dtype) < 64; }

  Exact Largest(const LaneBuffer& lanes, int64_t count) const {
    Exact largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Exact value =
          kind_ == Kind::kUint ? Exact{lanes.as<uint64_t>()[i]} : Exact{lanes.as<int64_t>()[i]};
      largest = std::max(largest, value < 0 ? -value : value);
    }
    return largest;
  }

  // product_ without MatrixProduct: slow, but skips what is outside and sums integers exactly.
  template <class T>
  void SumInside(const T* kernel, int64_t n) {
    const int64_t depth = geometry_.tap_count * inputs_;
    const T* gathered = gathered_.as<T>();
    T* product = product_.as<T>();
    for (int64_t f = 0; f < features_; ++f, kernel += depth) {
      context_.poll();
      for (int64_t p = 0; p < n; ++p) {
        using Sum = std::conditional_t<std::is_integral_v<T>, Exact, T>;
        Sum sum{0};
        for (int64_t k = 0; k < depth; ++k)
          if (!outside_[static_cast<size_t>(k / inputs_ * n + p)])
            sum += Times<Sum>(kernel[k], gathered[k * n + p]);
        if constexpr (std::is_integral_v<T>)
          sum = std::clamp<Sum>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
        *product++ = static_cast<T>(sum);
      }
    }
  }

  template <class T>
  static T Times(T x, T y) {
    // As in MatrixProduct, without the recovery of infinities that operator* has.
    if constexpr (std::is_same_v<T, Complex>)
      return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
    else
      return x * y;
  }

  // Input offset (without feature) that each position reads for one tap.
  Dims OffsetsOf(const Dims& tap, int64_t first, int64_t n, int64_t batch_stride) const {
    Dims result;
    for (int64_t p = first; p < first + n; ++p) {
      int64_t offset = p / geometry_.position_count * batch_stride;
      int64_t rest = p % geometry_.position_count;
      for (size_t d = tap.size(); d-- > 0;) {
        const int64_t size = geometry_.output[d];
        const int64_t part = geometry_.offsets[d][static_cast<size_t>(tap[d] * size + rest % size)];
        rest /= size;
        if (part == Geometry::kOutside) {
          offset = part;
          break;
        }
        offset += part;
      }
      result.push_back(offset);
    }
    return result;
  }

  void Store(int64_t group, int64_t first, int64_t n, Tensor& result) {
    const DType dtype = shape_.dtype;
    if (Saturates()) Saturate(features_ * n);
    Tensor block = MakeTensor(ArrayShape(dtype, {features_, n}), false);
    Encode(dtype, product_.data(), features_ * n, block.data.get());
    const std::vector<int64_t> strides = RowMajorStrides(shape_.dims);
    const int64_t feature_stride = strides[static_cast<size_t>(attrs_.dims.out_feature)];
    const int64_t size = ByteSize(dtype);
    for (int64_t p = 0; p < n; ++p) {
      int64_t offset = (first + p) / geometry_.position_count *
                       strides[static_cast<size_t>(attrs_.dims.out_batch)];
      int64_t rest = (first + p) % geometry_.position_count;
      for (size_t d = geometry_.output.size(); d-- > 0;) {
        offset +=
            rest % geometry_.output[d] * strides[static_cast<size_t>(attrs_.dims.out_spatial[d])];
        rest /= geometry_.output[d];
      }
      offset += group * features_ * feature_stride;
      const int64_t dims[] = {features_}, from[] = {n}, to[] = {feature_stride};
      CopyStrided(size, dims, block.data.get() + p * size, from, result.data.get() + offset * size,
                  to);
    }
  }

  // Integer convolutions saturate (dots wrap), but for those of 64 bits.
  void Saturate(int64_t count) {
    const int bits = BitWidth(shape_.dtype);
    if (IsUnsigned(shape_.dtype)) {
      for (int64_t i = 0; i < count; ++i)
        product_.as<uint64_t>()[i] =
            std::min(product_.as<uint64_t>()[i], (uint64_t{1} << bits) - 1);
      return;
    }
    const int64_t largest = (int64_t{1} << (bits - 1)) - 1;
    for (int64_t i = 0; i < count; ++i)
      product_.as<int64_t>()[i] = std::clamp(product_.as<int64_t>()[i], -largest - 1, largest);
  }

  const Context& context_;
  const ConvAttrs& attrs_;
  const Tensor &lhs_, &rhs_;
  const Shape& shape_;
  Geometry geometry_;
  Kind kind_;
  int64_t groups_, features_ = 0, inputs_ = 0;
  LaneBuffer input_, gathered_, product_;
  std::vector<bool> outside_;  // [tap][position] of the chunk
};

}  // namespace

Tensor EvalConvolution(const Context& context, const Instr& instr, Operands operands) {
  return Convolution(context, instr, operands).Run();
}

}  // namespace fusemark::reference
