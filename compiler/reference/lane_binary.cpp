#include <bit>
#include <cmath>
#include <limits>

#include "compiler/reference/lane_ops.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

template <class T, class R = T, class F>
void Map2(const void* a, const void* b, int64_t n, void* out, F f) {
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  auto* to = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = f(left[i], right[i]);
}

void BinaryFloat(Op op, const void* a, const void* b, int64_t n, void* out) {
  const auto map = [&](auto f) { Map2<double>(a, b, n, out, f); };
  switch (op) {
    case Op::kAdd: return map([](double x, double y) { return x + y; });
    case Op::kSubtract: return map([](double x, double y) { return x - y; });
    case Op::kMultiply: return map([](double x, double y) { return x * y; });
    case Op::kDivide: return map([](double x, double y) { return x / y; });
    case Op::kRemainder: return map([](double x, double y) { return std::fmod(x, y); });
    case Op::kMaximum: return map(MaximumOf<double>);
    case Op::kMinimum: return map(MinimumOf<double>);
    case Op::kPower: return map([](double x, double y) { return std::pow(x, y); });
    case Op::kAtan2: return map([](double x, double y) { return std::atan2(x, y); });
    case Op::kComplex:
      return Map2<double, Complex>(a, b, n, out, [](double x, double y) { return Complex(x, y); });
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

int64_t Divide(int64_t x, int64_t y) {
  if (y == 0) return -1;
  return y == -1 ? static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(x)) : x / y;
}
uint64_t Divide(uint64_t x, uint64_t y) {
  return y == 0 ? ~uint64_t{0} : x / y;
}
int64_t Remainder(int64_t x, int64_t y) {
  return y == 0 ? x : y == -1 ? 0 : x % y;
}
uint64_t Remainder(uint64_t x, uint64_t y) {
  return y == 0 ? x : x % y;
}

template <class T>
T Power(T base, T exponent) {
  if (exponent < T{0}) return base == T{1} ? T{1} : T{0};
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t bits = static_cast<uint64_t>(exponent); bits != 0; bits >>= 1) {
    if ((bits & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

// Shift amounts count as unsigned, so negative ones are as large as can be.
template <class T>
void Shift(Op op, int width, const void* a, const void* b, int64_t n, void* out) {
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const auto extend = [width](uint64_t x) {
    return static_cast<int64_t>(x << (64 - width)) >> (64 - width);
  };
  Map2<T>(a, b, n, out, [=](T x, T y) -> T {
    const uint64_t value = static_cast<uint64_t>(x) & mask;
    const uint64_t amount = static_cast<uint64_t>(y) & mask;
    const bool too_far = amount >= static_cast<uint64_t>(width);
    if (op == Op::kShiftRightArithmetic)
      return static_cast<T>(extend(value) >> (too_far ? 63 : amount));
    if (too_far) return T{0};
    // Back through sign extension: lanes hold the value, not the bits.
    const uint64_t shifted = op == Op::kShiftLeft ? (value << amount) & mask : value >> amount;
    return std::is_signed_v<T> ? static_cast<T>(extend(shifted)) : static_cast<T>(shifted);
  });
}

template <class T>
void BinaryInteger(Op op, DType dtype, const void* a, const void* b, int64_t n, void* out) {
  const auto map = [&](auto f) { Map2<T>(a, b, n, out, f); };
  using U = uint64_t;  // wraps instead of being undefined
  switch (op) {
    case Op::kAdd: return map([](T x, T y) { return static_cast<T>(U(x) + U(y)); });
    case Op::kSubtract: return map([](T x, T y) { return static_cast<T>(U(x) - U(y)); });
    case Op::kMultiply: return map([](T x, T y) { return static_cast<T>(U(x) * U(y)); });
    case Op::kDivide: return map([](T x, T y) { return Divide(x, y); });
    case Op::kRemainder: return map([](T x, T y) { return Remainder(x, y); });
    case Op::kMaximum: return map([](T x, T y) { return std::max(x, y); });
    case Op::kMinimum: return map([](T x, T y) { return std::min(x, y); });
    case Op::kPower: return map(Power<T>);
    case Op::kAnd: return map([](T x, T y) { return x & y; });
    case Op::kOr: return map([](T x, T y) { return x | y; });
    case Op::kXor: return map([](T x, T y) { return x ^ y; });
    case Op::kShiftLeft:
    case Op::kShiftRightArithmetic:
    case Op::kShiftRightLogical: return Shift<T>(op, BitWidth(dtype), a, b, n, out);
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

// Lexicographic, as NumPy orders complex numbers; NaN in any part wins.
Complex Extreme(Complex x, Complex y, bool largest) {
  if (std::isnan(x.real()) || std::isnan(x.imag())) return x;
  if (std::isnan(y.real()) || std::isnan(y.imag())) return y;
  const bool x_less = x.real() != y.real() ? x.real() < y.real() : x.imag() < y.imag();
  return x_less == largest ? y : x;
}

Complex PowerOf(Complex x, Complex y) {
  if (y == Complex(0)) return 1;
  if (x == Complex(0)) return y.real() > 0 ? Complex(0) : std::pow(x, y);
  return std::pow(x, y);
}

void BinaryComplex(Op op, const void* a, const void* b, int64_t n, void* out) {
  const auto map = [&](auto f) { Map2<Complex>(a, b, n, out, f); };
  switch (op) {
    case Op::kAdd: return map([](Complex x, Complex y) { return x + y; });
    case Op::kSubtract: return map([](Complex x, Complex y) { return x - y; });
    case Op::kMultiply: return map([](Complex x, Complex y) { return x * y; });
    case Op::kDivide: return map([](Complex x, Complex y) { return x / y; });
    case Op::kPower: return map(PowerOf);
    case Op::kMaximum: return map([](Complex x, Complex y) { return Extreme(x, y, true); });
    case Op::kMinimum: return map([](Complex x, Complex y) { return Extreme(x, y, false); });
    case Op::kAtan2:
      // -i log((y + i x) / sqrt(x^2 + y^2)) with x = second operand.
      return map([](Complex y, Complex x) {
        const Complex i(0, 1);
        return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
      });
    default: FM_CHECK(false, std::string(OpName(op)));
  }
}

// Bits in an order that is the total order of the floats: -NaN < -inf < ... < +inf < +NaN.
int64_t TotalOrderKey(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? std::numeric_limits<int64_t>::max() ^ bits : bits;
}

template <class T, class Key>
void CompareBy(Direction direction, const void* a, const void* b, int64_t n, void* out, Key key) {
  const auto map = [&](auto f) {
    Map2<T, uint64_t>(a, b, n, out, [&](T x, T y) { return uint64_t{f(key(x), key(y))}; });
  };
  switch (direction) {
    case Direction::kEq: return map([](auto x, auto y) { return x == y; });
    case Direction::kNe: return map([](auto x, auto y) { return x != y; });
    case Direction::kLt: return map([](auto x, auto y) { return x < y; });
    case Direction::kLe: return map([](auto x, auto y) { return x <= y; });
    case Direction::kGt: return map([](auto x, auto y) { return x > y; });
    case Direction::kGe: return map([](auto x, auto y) { return x >= y; });
  }
}

}  // namespace

void BinaryLanes(Op op, DType dtype, const void* a, const void* b, int64_t n, void* out) {
  switch (KindOf(dtype)) {
    case Kind::kInt: return BinaryInteger<int64_t>(op, dtype, a, b, n, out);
    case Kind::kUint: return BinaryInteger<uint64_t>(op, dtype, a, b, n, out);
    case Kind::kFloat: return BinaryFloat(op, a, b, n, out);
    case Kind::kComplex: return BinaryComplex(op, a, b, n, out);
  }
}

void CompareLanes(const CompareAttrs& attrs, DType dtype, const void* a, const void* b, int64_t n,
                  void* out) {
  const auto same = [](auto x) { return x; };
  switch (KindOf(dtype)) {
    case Kind::kInt: return CompareBy<int64_t>(attrs.direction, a, b, n, out, same);
    case Kind::kUint: return CompareBy<uint64_t>(attrs.direction, a, b, n, out, same);
    case Kind::kFloat:
      if (attrs.type == CompareType::kTotalOrder)
        return CompareBy<double>(attrs.direction, a, b, n, out, TotalOrderKey);
      return CompareBy<double>(attrs.direction, a, b, n, out, same);
    case Kind::kComplex: break;
  }
  const bool equal_wanted = attrs.direction == Direction::kEq;
  Map2<Complex, uint64_t>(a, b, n, out, [equal_wanted](Complex x, Complex y) {
    return uint64_t{(x == y) == equal_wanted};
  });
}

}  // namespace fusemark::reference
