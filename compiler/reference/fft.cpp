// fft: one dimension after the other, each by splitting off the smallest prime factor of its length
// (the definition itself for primes), in complex<double>.
#include <cmath>
#include <numbers>

#include "compiler/reference/context.h"
#include "compiler/reference/contract.h"

namespace fusemark::reference {
namespace {

using Line = std::vector<Complex>;

// e^(sign * 2 pi i k / n) for k < n: exact angles, reduced to the first eighth of the circle.
Complex Root(int64_t k, int64_t n, double sign) {
  const auto angle = [n](int64_t part) {
    return 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(n);
  };
  k %= n;
  if (2 * k > n) return std::conj(Root(n - k, n, sign));
  if (4 * k > n) {
    const Complex half = Root(n - 2 * k, 2 * n, sign);  // the angle pi - 2 pi k / n
    return {-half.real(), half.imag()};
  }
  if (8 * k > n)  // cos and sin of the complement, pi / 2 - 2 pi k / n
    return {std::sin(angle(n - 4 * k) / 4), sign * std::cos(angle(n - 4 * k) / 4)};
  return {std::cos(angle(k)), sign * std::sin(angle(k))};
}

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

class Transform {
 public:
  Transform(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
    for (int64_t k = 0; k < n; ++k) roots_.push_back(Root(k, n, inverse ? 1 : -1));
  }

  Line Run(const Line& x) const {
    Line y = Split(x);
    if (inverse_)
      for (Complex& value : y) value /= static_cast<double>(n_);
    return y;
  }

 private:
  // Written out: operator* checks for NaN and is many times slower.
  static Complex Times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  // y[k] = sum over j of x[j] w^(jk): for length p * m, of p transforms of length m over the
  // elements j, j + p, ....
  Line Split(const Line& x) const {
    const auto length = static_cast<int64_t>(x.size());
    if (length <= 1) return x;
    const int64_t p = SmallestFactor(length), m = length / p, stride = n_ / length;
    std::vector<Line> parts(static_cast<size_t>(p));
    for (int64_t j = 0; j < p; ++j) {
      Line part(static_cast<size_t>(m));
      for (int64_t i = 0; i < m; ++i)
        part[static_cast<size_t>(i)] = x[static_cast<size_t>(i * p + j)];
      parts[static_cast<size_t>(j)] = Split(part);
    }
    Line y(x.size());
    for (int64_t k = 0; k < length; ++k)
      for (int64_t j = 0; j < p; ++j)
        y[static_cast<size_t>(k)] +=
            Times(parts[static_cast<size_t>(j)][static_cast<size_t>(k % m)],
                  roots_[static_cast<size_t>(j * k % length * stride)]);
    return y;
  }

  int64_t n_;
  bool inverse_;
  std::vector<Complex> roots_;
};

// A dense array of complex numbers on its way through the dimensions.
struct Field {
  Dims dims;
  std::vector<Complex> values;

  // Applies `f` to every line along `dim` and gives that dimension the length of what it returns.
  template <class F>
  void MapLines(const Context& context, size_t dim, int64_t length, F f) {
    Dims target = dims;
    target[dim] = length;
    int64_t outer = 1, inner = 1;
    for (size_t d = 0; d < dims.size(); ++d)
      if (d != dim) (d < dim ? outer : inner) *= dims[d];
    std::vector<Complex> mapped(static_cast<size_t>(outer * length * inner));
    Line line(static_cast<size_t>(dims[dim]));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        context.poll();
        for (int64_t k = 0; k < dims[dim]; ++k)
          line[static_cast<size_t>(k)] =
              values[static_cast<size_t>((o * dims[dim] + k) * inner + i)];
        const Line result = f(line);
        for (int64_t k = 0; k < length; ++k)
          mapped[static_cast<size_t>((o * length + k) * inner + i)] =
              result[static_cast<size_t>(k)];
      }
    dims = std::move(target);
    values = std::move(mapped);
  }
};

// The whole spectrum of a real signal of n values from its first half.
Line Mirrored(const Line& half, int64_t n) {
  Line whole = half;
  whole.resize(static_cast<size_t>(n));
  for (int64_t k = n / 2 + 1; k < n; ++k)
    whole[static_cast<size_t>(k)] = std::conj(half[static_cast<size_t>(n - k)]);
  return whole;
}

}  // namespace

Tensor EvalFft(const Context& context, const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape);
  const int64_t count = ElementCount(instr.shape);
  if (count == 0) return result;
  const auto& attrs = instr.As<FftAttrs>();
  const bool inverse = attrs.type == "IFFT" || attrs.type == "IRFFT";
  const bool to_half = attrs.type == "RFFT", from_half = attrs.type == "IRFFT";
  const LaneBuffer source = DecodeAs(*operands[0], Kind::kComplex);
  const Complex* first = source.as<Complex>();
  Field field{operands[0]->shape.dims, {first, first + ElementCount(operands[0]->shape)}};
  // A real spectrum is whole only once the other dimensions are back: its own comes last, and that
  // of a real signal first.
  const size_t rank = field.dims.size(), transformed = attrs.length.size();
  for (size_t i = 0; i < transformed; ++i) {
    const size_t k = to_half ? transformed - 1 - i : i;
    const bool innermost = k + 1 == transformed;
    const int64_t n = attrs.length[k], kept = innermost && to_half ? n / 2 + 1 : n;
    const Transform transform(n, inverse);
    field.MapLines(context, rank - transformed + k, kept, [&](const Line& line) {
      return transform.Run(innermost && from_half ? Mirrored(line, n) : line);
    });
  }
  if (from_half) {
    std::vector<double> real;
    for (const Complex& value : field.values) real.push_back(value.real());
    Encode(instr.shape.dtype, real.data(), count, result.data.get());
  } else {
    Encode(instr.shape.dtype, field.values.data(), count, result.data.get());
  }
  return result;
}

}  // namespace fusemark::reference
