#include "harness/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "compiler/ir/number.h"

namespace fusemark {
namespace {

uint64_t BitsAt(const Tensor& tensor, int64_t index) {
  const int64_t size = ByteSize(tensor.shape.dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.get() + index * size, static_cast<size_t>(size));
  return bits;
}

// Components of an element: one number, or two for complex types.
std::complex<double> FloatAt(const Tensor& tensor, int64_t index) {
  switch (tensor.shape.dtype) {
    case DType::kC64: return {tensor.as<float>()[2 * index], tensor.as<float>()[2 * index + 1]};
    case DType::kC128: return {tensor.as<double>()[2 * index], tensor.as<double>()[2 * index + 1]};
    default: return FloatFromBits(tensor.shape.dtype, BitsAt(tensor, index));
  }
}

int64_t IntAt(const Tensor& tensor, int64_t index) {
  const int bits = 8 * static_cast<int>(ByteSize(tensor.shape.dtype));
  const uint64_t raw = BitsAt(tensor, index);
  if (!IsSigned(tensor.shape.dtype)) return static_cast<int64_t>(raw);
  return static_cast<int64_t>(raw << (64 - bits)) >> (64 - bits);
}

std::string FloatText(std::complex<double> value, bool complex) {
  return complex ? fmt::format("({:.9g},{:.9g})", value.real(), value.imag())
                 : fmt::format("{:.9g}", value.real());
}

// NaN and inf (with its sign) must be in the same places.
bool SameSpecial(double got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got);
  return got == want;
}

double RmsOf(const Tensor& tensor, int64_t count) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const std::complex<double> value = FloatAt(tensor, i);
    if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) continue;
    sum += std::norm(value);
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

void NoteMismatch(LeafComparison& leaf, int64_t index, std::string got, std::string want) {
  if (leaf.mismatches++ > 0) return;
  leaf.first_mismatch = index;
  leaf.got = std::move(got);
  leaf.want = std::move(want);
}

void CompareFloats(const Tensor& got, const Tensor& want, int64_t count, LeafComparison& leaf) {
  const bool complex = IsComplex(want.shape.dtype);
  const double rms = RmsOf(want, count);
  // A leaf of zeros has no scale: the tolerance then is absolute.
  const double bound = leaf.tolerance * (rms > 0 ? rms : 1);
  for (int64_t i = 0; i < count; ++i) {
    const std::complex<double> g = FloatAt(got, i), w = FloatAt(want, i);
    const std::complex<double> difference = g - w;
    const double error = std::abs(difference);
    bool wrong = error > bound;
    if (!std::isfinite(error)) {
      wrong = !SameSpecial(g.real(), w.real()) || !SameSpecial(g.imag(), w.imag());
    } else {
      leaf.max_abs_err = std::max(leaf.max_abs_err, error);
      if (error > 0) {
        leaf.max_rel_err = std::max(leaf.max_rel_err, error / std::max(std::abs(w), rms));
      }
    }
    if (wrong) NoteMismatch(leaf, i, FloatText(g, complex), FloatText(w, complex));
  }
  leaf.max_over_rms = rms > 0 ? leaf.max_abs_err / rms : leaf.max_abs_err;
}

void CompareIntegers(const Tensor& got, const Tensor& want, int64_t count, LeafComparison& leaf) {
  const auto bytes = static_cast<size_t>(ByteSizeOf(want.shape));
  if (bytes == 0 || std::memcmp(got.data.get(), want.data.get(), bytes) == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t g = IntAt(got, i), w = IntAt(want, i);
    if (g == w) continue;
    const double error = std::abs(static_cast<double>(g) - static_cast<double>(w));
    leaf.max_abs_err = std::max(leaf.max_abs_err, error);
    leaf.max_rel_err =
        std::max(leaf.max_rel_err, error / std::max(1.0, std::abs(static_cast<double>(w))));
    NoteMismatch(leaf, i, std::to_string(g), std::to_string(w));
  }
}

}  // namespace

// Sums of thousands of terms in another order: some hundred units in the last place of the leaf's
// scale for f32; narrow types round every intermediate, which one engine may do where another does
// not.
double DefaultTolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128: return 1e-9;
    case DType::kF32:
    case DType::kC64: return 1e-3;
    case DType::kF16: return 3e-2;
    case DType::kBF16: return 2e-1;
    default: return IsFloat(dtype) ? 5e-1 : 0;
  }
}

Result<Comparison> CompareTensors(std::span<const Tensor> got, std::span<const Tensor> want,
                                  double tolerance) {
  const auto wrong = [](std::string message) {
    return Error{Code::kWrongResult, std::move(message)};
  };
  if (got.size() != want.size()) {
    return wrong(fmt::format("result has {} leaves, expected {}", got.size(), want.size()));
  }
  Comparison comparison;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!SameType(got[i].shape, want[i].shape)) {
      return wrong(fmt::format("leaf {} is {}, expected {}", i, ToString(got[i].shape),
                               ToString(want[i].shape)));
    }
    LeafComparison& leaf = comparison.leaves.emplace_back();
    leaf.leaf = static_cast<int64_t>(i);
    leaf.shape = want[i].shape;
    if (!want[i].shape.is_array()) continue;  // tokens carry no data
    const DType dtype = want[i].shape.dtype;
    leaf.tolerance = tolerance > 0 ? tolerance : DefaultTolerance(dtype);
    const int64_t count = ElementCount(want[i].shape);
    if (IsFloat(dtype) || IsComplex(dtype)) {
      CompareFloats(got[i], want[i], count, leaf);
    } else {
      CompareIntegers(got[i], want[i], count, leaf);
    }
    comparison.max_rel_err = std::max(comparison.max_rel_err, leaf.max_rel_err);
    comparison.pass = comparison.pass && leaf.pass();
  }
  return comparison;
}

}  // namespace fusemark
