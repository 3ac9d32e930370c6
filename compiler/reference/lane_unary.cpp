#include <bit>
#include <cmath>
#include <numbers>

#include "compiler/reference/lane_ops.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

template <class T, class R = T, class F>
void Map(const void* a, int64_t n, void* out, F f) {
  const auto* from = static_cast<const T*>(a);
  auto* to = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
}

double SignOf(double x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
}

void UnaryFloat(Op op, const void* a, int64_t n, void* out) {
  const auto map = [&](auto f) { Map<double>(a, n, out, f); };
  switch (op) {
    case Op::kNegate: return map([](double x) { return -x; });
    case Op::kAbs: return map([](double x) { return std::fabs(x); });
    case Op::kSign: return map(SignOf);
    case Op::kExponential: return map([](double x) { return std::exp(x); });
    case Op::kExponentialMinusOne: return map([](double x) { return std::expm1(x); });
    case Op::kLog: return map([](double x) { return std::log(x); });
    case Op::kLogPlusOne: return map([](double x) { return std::log1p(x); });
    case Op::kLogistic: return map([](double x) { return 1 / (1 + std::exp(-x)); });
    case Op::kSqrt: return map([](double x) { return std::sqrt(x); });
    case Op::kRsqrt: return map([](double x) { return 1 / std::sqrt(x); });
    case Op::kCbrt: return map([](double x) { return std::cbrt(x); });
    case Op::kTanh: return map([](double x) { return std::tanh(x); });
    case Op::kTan: return map([](double x) { return std::tan(x); });
    case Op::kSine: return map([](double x) { return std::sin(x); });
    case Op::kCosine: return map([](double x) { return std::cos(x); });
    case Op::kErf: return map([](double x) { return std::erf(x); });
    case Op::kFloor: return map([](double x) { return std::floor(x); });
    case Op::kCeil: return map([](double x) { return std::ceil(x); });
    case Op::kRoundNearestAfz: return map([](double x) { return std::round(x); });
    case Op::kRoundNearestEven: return map([](double x) { return std::nearbyint(x); });
    case Op::kReal: return map([](double x) { return x; });
    case Op::kImag: return map([](double) { return 0.0; });
    case Op::kIsFinite:
      return Map<double, uint64_t>(a, n, out, [](double x) { return uint64_t{std::isfinite(x)}; });
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

uint64_t WidthMask(int width) {
  return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

template <class T>
void UnaryInteger(Op op, DType dtype, const void* a, int64_t n, void* out) {
  const bool is_pred = dtype == DType::kPred;
  const int width = BitWidth(dtype);
  const uint64_t mask = WidthMask(width);
  const auto map = [&](auto f) { Map<T>(a, n, out, f); };
  // Through unsigned arithmetic: negating the smallest integer must wrap, not be undefined.
  const auto negative = [](T x) { return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)); };
  const auto popcount = [mask](T x) { return std::popcount(static_cast<uint64_t>(x) & mask); };
  const auto zeros = [mask, width](T x) {
    return std::countl_zero(static_cast<uint64_t>(x) & mask) - (64 - width);
  };
  switch (op) {
    case Op::kNegate: return map(negative);
    case Op::kAbs: return map([negative](T x) { return x < T{0} ? negative(x) : x; });
    case Op::kSign: return map([](T x) { return static_cast<T>((x > T{0}) - (x < T{0})); });
    case Op::kNot: return map([is_pred](T x) { return is_pred ? static_cast<T>(x == 0) : ~x; });
    case Op::kPopulationCount: return map([&](T x) { return static_cast<T>(popcount(x)); });
    case Op::kCountLeadingZeros: return map([&](T x) { return static_cast<T>(zeros(x)); });
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

Complex LogPlusOne(Complex z) {
  // |1+z|^2 - 1 without cancellation: x(2+x) + y^2; long double keeps c128 accurate near the unit
  // circle around -1.
  const long double x = z.real(), y = z.imag();
  const long double square = x * (2 + x) + y * y;
  // Near -1 it is the sum that cancels, and 1 + z is exact. A NaN beside an infinity is left to
  // log.
  if (!(square >= -0.5L)) return std::log(Complex(1 + z.real(), z.imag()));
  return {static_cast<double>(std::log1p(square) / 2), static_cast<double>(std::atan2(y, 1 + x))};
}

Complex ExponentialMinusOne(Complex z) {
  const Complex power = std::exp(z);
  if (std::isinf(z.real())) return power - 1.0;
  const double half = std::sin(z.imag() / 2);
  const double real = std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half;
  return {real, power.imag()};
}

Complex CubeRoot(Complex z) {
  if (z == Complex(0)) return z;
  return std::polar(std::cbrt(std::abs(z)), std::arg(z) / 3);
}

void UnaryComplex(Op op, const void* a, int64_t n, void* out) {
  const auto map = [&](auto f) { Map<Complex>(a, n, out, f); };
  const auto to_real = [&](auto f) { Map<Complex, double>(a, n, out, f); };
  switch (op) {
    case Op::kNegate: return map([](Complex z) { return -z; });
    case Op::kSign: return map([](Complex z) { return z == Complex(0) ? z : z / std::abs(z); });
    case Op::kExponential: return map([](Complex z) { return std::exp(z); });
    case Op::kExponentialMinusOne: return map(ExponentialMinusOne);
    case Op::kLog: return map([](Complex z) { return std::log(z); });
    case Op::kLogPlusOne: return map(LogPlusOne);
    case Op::kLogistic:
      return map([](Complex z) { return Complex(1) / (Complex(1) + std::exp(-z)); });
    case Op::kSqrt: return map([](Complex z) { return std::sqrt(z); });
    case Op::kRsqrt: return map([](Complex z) { return Complex(1) / std::sqrt(z); });
    case Op::kCbrt: return map(CubeRoot);
    case Op::kTanh: return map([](Complex z) { return std::tanh(z); });
    case Op::kTan: return map([](Complex z) { return std::tan(z); });
    case Op::kSine: return map([](Complex z) { return std::sin(z); });
    case Op::kCosine: return map([](Complex z) { return std::cos(z); });
    case Op::kAbs: return to_real([](Complex z) { return std::abs(z); });
    case Op::kReal: return to_real([](Complex z) { return z.real(); });
    case Op::kImag: return to_real([](Complex z) { return z.imag(); });
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

}  // namespace

void UnaryLanes(Op op, DType dtype, const void* a, int64_t n, void* out) {
  switch (KindOf(dtype)) {
    case Kind::kInt: return UnaryInteger<int64_t>(op, dtype, a, n, out);
    case Kind::kUint: return UnaryInteger<uint64_t>(op, dtype, a, n, out);
    case Kind::kFloat: return UnaryFloat(op, a, n, out);
    case Kind::kComplex: return UnaryComplex(op, a, n, out);
  }
}

}  // namespace fusemark::reference
