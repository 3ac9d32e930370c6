// Discrete Fourier transforms as products with small matrices. A length n1 * n2 is transformed as
// n2 transforms of length n1, a twist of each element by a root of unity, and n1 transforms of
// length n2; short lengths and primes of moderate size multiply with their DFT matrix; large primes
// become a convolution of a power of two (Bluestein). All roots come from exact angles in f64 and
// are rounded once.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

using Complex = std::complex<double>;

constexpr int64_t kLongestStep = 32;     // of a composite length
constexpr int64_t kLongestMatrix = 256;  // of a prime

// e^(2 pi i k / n), from an angle in the first eighth of the circle.
Complex UnitRoot(int64_t k, int64_t n) {
  k %= n;
  const int64_t eighth = 8 * k / n;  // 0..7
  // Mirrored at a multiple of a quarter turn where the eighth is odd: k = quarter * n / 4 +- rest.
  const int64_t quarter = (eighth + 1) / 2;
  const double rest = static_cast<double>(4 * k - quarter * n) / (4 * static_cast<double>(n));
  const double angle = 2 * std::numbers::pi * rest;
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

Literal ComplexLiteral(DType dtype, Dims dims, const std::vector<Complex>& values) {
  const DType part = ComponentOf(dtype);
  const auto size = static_cast<size_t>(ByteSize(part));
  std::vector<std::byte> bytes(2 * size * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double parts[2] = {values[i].real(), values[i].imag()};
    for (size_t k = 0; k < 2; ++k) {
      const Literal scalar = ScalarLiteralOf(part, parts[k]);
      std::copy_n(scalar.bytes().data(), size, bytes.data() + (2 * i + k) * size);
    }
  }
  return MakeLiteral(ArrayShape(dtype, std::move(dims)), std::move(bytes));
}

// Powers of two only, in place; for the constants of Bluestein's algorithm.
void TransformOnHost(std::vector<Complex>& x) {
  const size_t n = x.size();
  if (n == 1) return;
  std::vector<Complex> even, odd;
  for (size_t i = 0; i < n; i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  TransformOnHost(even);
  TransformOnHost(odd);
  for (size_t k = 0; k < n / 2; ++k) {
    const Complex root = std::conj(UnitRoot(static_cast<int64_t>(k), static_cast<int64_t>(n)));
    x[k] = even[k] + root * odd[k];
    x[k + n / 2] = even[k] - root * odd[k];
  }
}

// The longest step of at most kLongestStep by which n divides, or the smallest prime factor.
int64_t StepOf(int64_t n) {
  for (int64_t step = kLongestStep; step > 1; --step) {
    if (n % step == 0) return step;
  }
  for (int64_t factor = kLongestStep + 1; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

class Transform {
 public:
  Transform(Emitter& emit, DType type, bool inverse)
      : emit_(emit), b_(emit.builder()), type_(type), inverse_(inverse) {}

  // Along the middle of [outer, n, inner], real or complex; the result is complex and multiplied by
  // `scale`.
  InstrId Run(InstrId x, double scale) {
    const Dims dims = emit_.dims(x);
    const int64_t n = dims[1];
    const int64_t step = n <= kLongestStep ? n : StepOf(n);
    if (step < n) return RunInTwo(x, step, scale);
    return n <= kLongestMatrix ? ByMatrix(x, scale) : ByConvolution(x, scale);
  }

 private:
  // e^(-+ 2 pi i k / n) of this direction.
  Complex Root(int64_t k, int64_t n) const {
    return inverse_ ? UnitRoot(k, n) : std::conj(UnitRoot(k, n));
  }
  InstrId Constant(Dims dims, const std::vector<Complex>& values) {
    return b_.Constant(ComplexLiteral(type_, std::move(dims), values));
  }

  InstrId ByMatrix(InstrId x, double scale) {
    const Dims dims = emit_.dims(x);
    const int64_t n = dims[1];
    if (n == 1 && scale == 1) return b_.Convert(x, type_);
    std::vector<Complex> matrix;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < n; ++k) matrix.push_back(scale * Root(j * k, n));
    const InstrId roots = Constant({n, n}, matrix);
    DotAttrs attrs;
    attrs.lhs_contracting = {1};
    attrs.rhs_contracting = {0};
    const Dims product = {dims[0], dims[2], n};
    const InstrId y = b_.Emit(Op::kDot, ArrayShape(type_, product), {x, roots}, std::move(attrs));
    return b_.Reshape(dims[2] == 1 ? y : emit_.TransposeLast(y), dims);
  }

  // With j = j1 * n2 + j2 and k = k1 + n1 * k2:
  // y[k] = sum over j2 of w^(j2 k1) w2^(j2 k2) (sum over j1 of w1^(j1 k1) x[j]).
  InstrId RunInTwo(InstrId x, int64_t n1, double scale) {
    const Dims dims = emit_.dims(x);
    const int64_t outer = dims[0], n = dims[1], inner = dims[2], n2 = n / n1;
    InstrId y = Run(b_.Reshape(x, {outer, n1, n2 * inner}), scale);
    std::vector<Complex> twists;
    for (int64_t k1 = 0; k1 < n1; ++k1)
      for (int64_t j2 = 0; j2 < n2; ++j2) twists.push_back(Root(k1 * j2, n));
    const Dims split = {outer, n1, n2, inner};
    y = b_.Reshape(y, split);
    const InstrId twist = Constant({n1, n2}, twists);
    y = emit_.Times(y, b_.Broadcast(twist, split, {1, 2}));
    y = Run(b_.Reshape(y, {outer * n1, n2, inner}), 1);
    y = b_.Transpose(b_.Reshape(y, split), {0, 2, 1, 3});
    return b_.Reshape(y, dims);
  }

  // jk = (j^2 + k^2 - (k - j)^2) / 2, so y[k] = c[k] * sum over j of (x[j] c[j]) conj(c[k - j])
  // with the chirp c[j] = w^(j^2 / 2): a cyclic convolution of any length from 2n - 1 on.
  InstrId ByConvolution(InstrId x, double scale) {
    const Dims dims = emit_.dims(x);
    const int64_t n = dims[1];
    int64_t padded = 1;
    while (padded < 2 * n - 1) padded *= 2;
    std::vector<Complex> chirp;
    for (int64_t j = 0; j < n; ++j) chirp.push_back(Root(j * j % (2 * n), 2 * n));
    std::vector<Complex> kernel(static_cast<size_t>(padded));
    for (int64_t j = 0; j < n; ++j) {
      const Complex value = std::conj(chirp[static_cast<size_t>(j)]);
      kernel[static_cast<size_t>(j)] = value;
      kernel[static_cast<size_t>((padded - j) % padded)] = value;
    }
    TransformOnHost(kernel);

    const Dims whole = {dims[0], padded, dims[2]};
    const InstrId in_chirp = Constant({n}, chirp);
    InstrId y = emit_.Times(b_.Convert(x, type_), b_.Broadcast(in_chirp, dims, {1}));
    const InstrId padding = emit_.Zeros(type_, {dims[0], padded - n, dims[2]});
    y = Transform(emit_, type_, false).Run(emit_.Concatenate({y, padding}, 1), 1);
    const InstrId spectrum = Constant({padded}, kernel);
    y = emit_.Times(y, b_.Broadcast(spectrum, whole, {1}));
    y = Transform(emit_, type_, true).Run(y, 1 / static_cast<double>(padded));
    y = emit_.Slice(y, 1, 0, n);
    for (Complex& value : chirp) value *= scale;
    const InstrId out_chirp = Constant({n}, chirp);
    return emit_.Times(y, b_.Broadcast(out_chirp, dims, {1}));
  }

  Emitter& emit_;
  Builder& b_;
  DType type_;  // complex
  bool inverse_;
};

// The whole spectrum of a real signal of n values from its first half, along the last dimension.
InstrId Mirrored(Emitter& emit, InstrId half, int64_t n) {
  const int64_t last = emit.shape(half).rank() - 1;
  if (n < 3) return half;
  const InstrId tail = emit.Slice(half, last, 1, (n + 1) / 2);
  return emit.Concatenate({half, emit.Conjugate(emit.Reverse(tail, {last}))}, last);
}

}  // namespace

std::optional<InstrId> ExpandFft(const ExpandContext& context, const Instr& instr) {
  Emitter& emit = context.emit;
  Builder& builder = emit.builder();
  const auto attrs = instr.As<FftAttrs>();
  const Shape result = instr.shape;
  if (ElementCount(result) == 0) return emit.Zeros(result.dtype, result.dims);
  const bool inverse = attrs.type == "IFFT" || attrs.type == "IRFFT";
  const bool to_half = attrs.type == "RFFT", from_half = attrs.type == "IRFFT";
  const DType given = emit.dtype(instr.operands[0]);
  const DType type = given == DType::kF64 || given == DType::kC128 ? DType::kC128 : DType::kC64;
  InstrId value = instr.operands[0];
  const size_t rank = emit.dims(value).size(), transformed = attrs.length.size();
  // A real spectrum is whole only once the other dimensions are back: its own comes last, and that
  // of a real signal first.
  for (size_t i = 0; i < transformed; ++i) {
    const size_t k = to_half ? transformed - 1 - i : i, dim = rank - transformed + k;
    const int64_t n = attrs.length[k];
    const bool innermost = k + 1 == transformed;
    if (innermost && from_half) value = Mirrored(emit, value, n);
    Dims dims = emit.dims(value);
    int64_t outer = 1, inner = 1;
    for (size_t d = 0; d < rank; ++d)
      if (d != dim) (d < dim ? outer : inner) *= dims[d];
    value = builder.Reshape(value, {outer, n, inner});
    Transform transform(emit, type, inverse);
    value = transform.Run(value, inverse ? 1 / static_cast<double>(n) : 1);
    value = builder.Reshape(value, dims);
    if (innermost && to_half) value = emit.Slice(value, static_cast<int64_t>(dim), 0, n / 2 + 1);
  }
  return from_half ? emit.Real(value) : value;
}

}  // namespace fusemark
