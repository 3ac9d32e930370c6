#include "compiler/reference/contract.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/number.h"
#include "compiler/reference/lane_ops.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

constexpr int64_t kRows = 4, kColumns = 8;

// One vector of kColumns lanes; the compiler maps it to whatever the machine has.
template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(kColumns * sizeof(T))));
};

// kRows x kColumns results from packed panels a[k][kRows], b[k][kColumns].
template <class T>
void Tile(int64_t k, const T* a, const T* b, T* out) {
  using V = typename Vector<T>::Type;
  V sum[kRows] = {};
  for (int64_t i = 0; i < k; ++i) {
    V row;
    std::memcpy(&row, b + i * kColumns, sizeof row);
    for (int64_t r = 0; r < kRows; ++r) sum[r] += row * a[i * kRows + r];
  }
  std::memcpy(out, sum, sizeof sum);
}

void TileComplex(int64_t k, const Complex* a, const Complex* b, Complex* out) {
  std::fill(out, out + kRows * kColumns, Complex(0));
  for (int64_t i = 0; i < k; ++i)
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kColumns; ++c) {
        // Written out: operator* checks for NaN and is many times slower.
        const Complex x = a[i * kRows + r], y = b[i * kColumns + c];
        out[r * kColumns + c] += Complex(x.real() * y.real() - x.imag() * y.imag(),
                                         x.real() * y.imag() + x.imag() * y.real());
      }
}

template <class T>
void Product(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c,
             const Context& context) {
  const int64_t panels = (m + kRows - 1) / kRows;
  std::vector<T> packed_a(static_cast<size_t>(panels * kRows * k));
  for (int64_t row = 0; row < m; ++row)
    for (int64_t i = 0; i < k; ++i)
      packed_a[static_cast<size_t>(((row / kRows) * k + i) * kRows + row % kRows)] = a[row * k + i];
  std::vector<T> packed_b(static_cast<size_t>(k * kColumns));
  T out[kRows * kColumns];
  for (int64_t column = 0; column < n; column += kColumns) {
    context.poll();
    const int64_t columns = std::min(kColumns, n - column);
    for (int64_t i = 0; i < k; ++i)
      std::copy_n(b + i * n + column, columns, packed_b.data() + i * kColumns);
    for (int64_t panel = 0; panel < panels; ++panel) {
      const T* panel_a = packed_a.data() + panel * kRows * k;
      if constexpr (std::is_same_v<T, Complex>)
        TileComplex(k, panel_a, packed_b.data(), out);
      else
        Tile(k, panel_a, packed_b.data(), out);
      for (int64_t r = 0; r < std::min(kRows, m - panel * kRows); ++r)
        std::copy_n(out + r * kColumns, columns, c + (panel * kRows + r) * n + column);
    }
  }
}

int64_t ProductOf(const std::vector<int64_t>& dims, const Dims& chosen) {
  int64_t product = 1;
  for (int64_t d : chosen) product *= dims[static_cast<size_t>(d)];
  return product;
}

// The dims that are neither batch nor contracting.
Dims FreeDims(const Shape& shape, const Dims& batch, const Dims& contracting) {
  Dims free;
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      free.push_back(d);
  return free;
}

// Lanes of `tensor` with its dims in the order a, b, c.
LaneBuffer Arrange(const Tensor& tensor, const Dims& a, const Dims& b, const Dims& c, Kind kind) {
  std::vector<int64_t> dims, strides;
  const std::vector<int64_t> from = RowMajorStrides(tensor.shape.dims);
  for (const Dims* part : {&a, &b, &c}) {
    for (int64_t d : *part) {
      dims.push_back(tensor.shape.dims[static_cast<size_t>(d)]);
      strides.push_back(from[static_cast<size_t>(d)]);
    }
  }
  const DType dtype = tensor.shape.dtype;
  Tensor arranged = MakeTensor(ArrayShape(dtype, dims), false);
  CopyStrided(ByteSize(dtype), dims, tensor.data.get(), strides, arranged.data.get(),
              RowMajorStrides(dims));
  return DecodeAs(arranged, kind);
}

}  // namespace

LaneBuffer DecodeAs(const Tensor& tensor, Kind kind) {
  const DType dtype = tensor.shape.dtype;
  const Kind from = KindOf(dtype);
  const int64_t count = ElementCount(tensor.shape);
  LaneBuffer lanes(count, kind);
  if (from == kind) {
    Decode(dtype, tensor.data.get(), count, lanes.data());
    return lanes;
  }
  constexpr DType kWidest[] = {DType::kS64, DType::kU64, DType::kF64, DType::kC128};
  LaneBuffer block;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    Decode(dtype, tensor.data.get() + first * ByteSize(dtype), n, block.data());
    ConvertLanes(dtype, kWidest[static_cast<size_t>(kind)], block.data(), n,
                 lanes.as<std::byte>() + first * LaneSize(kind));
  }
  return lanes;
}

void MatrixProduct(Kind kind, int64_t m, int64_t n, int64_t k, const void* a, const void* b,
                   void* c, const Context& context) {
  const auto run = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    Product(m, n, k, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c),
            context);
  };
  // Signed sums wrap: done in unsigned arithmetic on the same bits.
  if (kind == Kind::kFloat) return run(static_cast<double*>(nullptr));
  if (kind == Kind::kComplex) return run(static_cast<Complex*>(nullptr));
  run(static_cast<uint64_t*>(nullptr));
}

Tensor EvalDot(const Context& context, const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<DotAttrs>();
  const Shape &lhs = operands[0]->shape, &rhs = operands[1]->shape;
  const DType dtype = instr.shape.dtype;
  const Kind kind = KindOf(dtype);
  const Dims lhs_free = FreeDims(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const Dims rhs_free = FreeDims(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  const int64_t batch = ProductOf(lhs.dims, attrs.lhs_batch);
  const int64_t m = ProductOf(lhs.dims, lhs_free), n = ProductOf(rhs.dims, rhs_free);
  const int64_t k = ProductOf(lhs.dims, attrs.lhs_contracting);
  LaneBuffer a = Arrange(*operands[0], attrs.lhs_batch, lhs_free, attrs.lhs_contracting, kind);
  LaneBuffer b = Arrange(*operands[1], attrs.rhs_batch, attrs.rhs_contracting, rhs_free, kind);
  if (attrs.algorithm == "dot_bf16_bf16_f32" && kind == Kind::kFloat) {
    RoundLanes(DType::kBF16, a.data(), ElementCount(lhs));
    RoundLanes(DType::kBF16, b.data(), ElementCount(rhs));
  }
  LaneBuffer c(m * n, kind);
  Tensor result = MakeTensor(instr.shape, false);
  const int64_t lane = LaneSize(kind);
  for (int64_t i = 0; i < batch; ++i) {
    MatrixProduct(kind, m, n, k, a.as<std::byte>() + i * m * k * lane,
                  b.as<std::byte>() + i * k * n * lane, c.data(), context);
    Encode(dtype, c.data(), m * n, result.data.get() + i * m * n * ByteSize(dtype));
  }
  return result;
}

}  // namespace fusemark::reference
