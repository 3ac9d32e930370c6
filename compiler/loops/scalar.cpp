#include "compiler/loops/scalar.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "compiler/loops/scalar_traits.h"

namespace fusemark::loops {
namespace {

using Bits = uint64_t;

// Turns a function of typed values into one of bit patterns.
template <class T, auto Function>
Bits Lift1(Bits a, Bits, Bits) {
  return T::Pack(Function(T::Unpack(a)));
}
template <class T, auto Function>
Bits Lift2(Bits a, Bits b, Bits) {
  return T::Pack(Function(T::Unpack(a), T::Unpack(b)));
}

// ---- floats: F is float or double; f32 transcendentals go through double ----
template <class F, double (*Function)(double)>
F Wide(F x) {
  return static_cast<F>(Function(static_cast<double>(x)));
}

template <class F>
F Sign(F x) {
  if (std::isnan(x) || x == 0) return x;
  return x < 0 ? F(-1) : F(1);
}
double Logistic(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double Rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
template <class F>
F Maximum(F a, F b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  return a > b ? a : b;
}
template <class F>
F Minimum(F a, F b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  return a < b ? a : b;
}

template <class T>
ScalarFunction FloatUnary(Op op) {
  using F = typename T::Value;
  switch (op) {
    case Op::kCopy: return Lift1<T, [](F x) { return x; }>;
    case Op::kNegate: return Lift1<T, [](F x) { return -x; }>;
    case Op::kAbs: return Lift1<T, [](F x) { return std::fabs(x); }>;
    case Op::kSign: return Lift1<T, Sign<F>>;
    case Op::kExponential: return Lift1<T, Wide<F, std::exp>>;
    case Op::kExponentialMinusOne: return Lift1<T, Wide<F, std::expm1>>;
    case Op::kLog: return Lift1<T, Wide<F, std::log>>;
    case Op::kLogPlusOne: return Lift1<T, Wide<F, std::log1p>>;
    case Op::kLogistic: return Lift1<T, Wide<F, Logistic>>;
    case Op::kSqrt: return Lift1<T, [](F x) { return std::sqrt(x); }>;
    case Op::kRsqrt: return Lift1<T, Wide<F, Rsqrt>>;
    case Op::kCbrt: return Lift1<T, Wide<F, std::cbrt>>;
    case Op::kTanh: return Lift1<T, Wide<F, std::tanh>>;
    case Op::kTan: return Lift1<T, Wide<F, std::tan>>;
    case Op::kSine: return Lift1<T, Wide<F, std::sin>>;
    case Op::kCosine: return Lift1<T, Wide<F, std::cos>>;
    case Op::kErf: return Lift1<T, Wide<F, std::erf>>;
    case Op::kFloor: return Lift1<T, [](F x) { return std::floor(x); }>;
    case Op::kCeil: return Lift1<T, [](F x) { return std::ceil(x); }>;
    case Op::kRoundNearestAfz: return Lift1<T, [](F x) { return std::round(x); }>;
    case Op::kRoundNearestEven: return Lift1<T, [](F x) { return std::nearbyint(x); }>;
    case Op::kIsFinite:
      return [](Bits a, Bits, Bits) -> Bits { return std::isfinite(T::Unpack(a)) ? 1 : 0; };
    default: return nullptr;
  }
}

template <class T>
ScalarFunction FloatBinary(Op op) {
  using F = typename T::Value;
  switch (op) {
    case Op::kAdd: return Lift2<T, [](F a, F b) { return a + b; }>;
    case Op::kSubtract: return Lift2<T, [](F a, F b) { return a - b; }>;
    case Op::kMultiply: return Lift2<T, [](F a, F b) { return a * b; }>;
    case Op::kDivide: return Lift2<T, [](F a, F b) { return a / b; }>;
    case Op::kRemainder: return Lift2<T, [](F a, F b) { return std::fmod(a, b); }>;
    case Op::kMaximum: return Lift2<T, Maximum<F>>;
    case Op::kMinimum: return Lift2<T, Minimum<F>>;
    case Op::kPower:
      return Lift2<T, [](F a, F b) {
        return static_cast<F>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }>;
    case Op::kAtan2:
      return Lift2<T, [](F a, F b) {
        return static_cast<F>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
      }>;
    default: return nullptr;
  }
}

// ---- integers: computed on 64 bits and wrapped to the width by Pack ----
template <class I>
I Divide(I a, I b) {
  if (b == 0) return static_cast<I>(-1);
  if constexpr (std::is_signed_v<I>) {
    if (b == -1) return static_cast<I>(0 - static_cast<uint64_t>(a));
  }
  return a / b;
}
template <class I>
I Remainder(I a, I b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<I>) {
    if (b == -1) return 0;
  }
  return a % b;
}
template <class I>
I Power(I base, I exponent) {
  if constexpr (std::is_signed_v<I>) {
    if (exponent < 0) return base == 1 ? 1 : 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<I>(result);
}

template <class T>
Bits ShiftLeft(Bits a, Bits b, Bits) {
  const uint64_t amount = b & T::kMask;
  return amount >= T::kBits ? 0 : T::Wrap(a << amount);
}
template <class T>
Bits ShiftRightLogical(Bits a, Bits b, Bits) {
  const uint64_t amount = b & T::kMask;
  return amount >= T::kBits ? 0 : T::Wrap((a & T::kMask) >> amount);
}
template <class T>
Bits ShiftRightArithmetic(Bits a, Bits b, Bits) {
  constexpr int kUnused = 64 - T::kBits;
  const auto value = static_cast<int64_t>(a << kUnused) >> kUnused;
  const uint64_t amount = b & T::kMask;
  return T::Wrap(static_cast<Bits>(value >> (amount >= T::kBits ? 63 : amount)));
}

template <class T>
ScalarFunction IntegerUnary(Op op) {
  switch (op) {
    case Op::kCopy: return [](Bits a, Bits, Bits) { return a; };
    case Op::kNegate: return [](Bits a, Bits, Bits) { return T::Wrap(0 - a); };
    case Op::kNot: return [](Bits a, Bits, Bits) { return T::Wrap(~a); };
    case Op::kAbs: return [](Bits a, Bits, Bits) { return T::Wrap(T::Unpack(a) < 0 ? 0 - a : a); };
    case Op::kSign:
      return [](Bits a, Bits, Bits) {
        const auto x = T::Unpack(a);
        return T::Wrap(x < 0 ? ~Bits{0} : x > 0 ? 1 : 0);
      };
    case Op::kPopulationCount:
      return [](Bits a, Bits, Bits) {
        return T::Wrap(static_cast<Bits>(std::popcount(a & T::kMask)));
      };
    case Op::kCountLeadingZeros:
      return [](Bits a, Bits, Bits) {
        return T::Wrap(static_cast<Bits>(std::countl_zero(a & T::kMask) - (64 - T::kBits)));
      };
    default: return nullptr;
  }
}

template <class T>
ScalarFunction IntegerBinary(Op op) {
  using I = typename T::Value;
  switch (op) {
    case Op::kAdd: return [](Bits a, Bits b, Bits) { return T::Wrap(a + b); };
    case Op::kSubtract: return [](Bits a, Bits b, Bits) { return T::Wrap(a - b); };
    case Op::kMultiply: return [](Bits a, Bits b, Bits) { return T::Wrap(a * b); };
    case Op::kDivide: return Lift2<T, Divide<I>>;
    case Op::kRemainder: return Lift2<T, Remainder<I>>;
    case Op::kPower: return Lift2<T, Power<I>>;
    case Op::kMaximum: return Lift2<T, [](I a, I b) { return b < a ? a : b; }>;
    case Op::kMinimum: return Lift2<T, [](I a, I b) { return a < b ? a : b; }>;
    case Op::kAnd: return [](Bits a, Bits b, Bits) { return a & b; };
    case Op::kOr: return [](Bits a, Bits b, Bits) { return a | b; };
    case Op::kXor: return [](Bits a, Bits b, Bits) { return a ^ b; };
    case Op::kShiftLeft: return ShiftLeft<T>;
    case Op::kShiftRightLogical: return ShiftRightLogical<T>;
    case Op::kShiftRightArithmetic: return ShiftRightArithmetic<T>;
    default: return nullptr;
  }
}

ScalarFunction PredUnary(Op op) {
  switch (op) {
    case Op::kCopy: return [](Bits a, Bits, Bits) { return a; };
    case Op::kNot: return [](Bits a, Bits, Bits) { return a ^ 1; };
    default: return nullptr;
  }
}

// add is or-like and multiply and-like on pred.
ScalarFunction PredBinary(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMaximum:
    case Op::kOr: return [](Bits a, Bits b, Bits) { return a | b; };
    case Op::kMultiply:
    case Op::kMinimum:
    case Op::kAnd: return [](Bits a, Bits b, Bits) { return a & b; };
    case Op::kXor: return [](Bits a, Bits b, Bits) { return a ^ b; };
    default: return nullptr;
  }
}

template <class T>
ScalarFunction CompareAs(Direction direction) {
  switch (direction) {
    case Direction::kEq:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) == T::Unpack(b); };
    case Direction::kNe:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) != T::Unpack(b); };
    case Direction::kLt:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) < T::Unpack(b); };
    case Direction::kLe:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) <= T::Unpack(b); };
    case Direction::kGt:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) > T::Unpack(b); };
    case Direction::kGe:
      return [](Bits a, Bits b, Bits) -> Bits { return T::Unpack(a) >= T::Unpack(b); };
  }
  return nullptr;
}

struct Find {
  Op op;
  bool unary;
  template <class T>
  ScalarFunction operator()(T) const {
    if constexpr (std::is_same_v<T, PredTraits>) {
      return unary ? PredUnary(op) : PredBinary(op);
    } else if constexpr (T::kIsFloat && !T::kIsNarrow) {
      return unary ? FloatUnary<T>(op) : FloatBinary<T>(op);
    } else if constexpr (!T::kIsFloat) {
      return unary ? IntegerUnary<T>(op) : IntegerBinary<T>(op);
    } else {
      if (!unary || op != Op::kCopy) return nullptr;
      return [](Bits a, Bits, Bits) { return a; };
    }
  }
};

}  // namespace

ScalarFunction UnaryFunction(Op op, DType dtype) {
  return WithTraits(dtype, Find{op, true});
}

ScalarFunction BinaryFunction(Op op, DType dtype) {
  return WithTraits(dtype, Find{op, false});
}

ScalarFunction CompareFunction(Direction direction, DType dtype) {
  return WithTraits(dtype, [direction](auto traits) -> ScalarFunction {
    return CompareAs<decltype(traits)>(direction);
  });
}

ScalarFunction FmaFunction(DType dtype) {
  if (dtype == DType::kF32)
    return [](Bits a, Bits b, Bits c) {
      return F32Traits::Pack(
          std::fmaf(F32Traits::Unpack(a), F32Traits::Unpack(b), F32Traits::Unpack(c)));
    };
  if (dtype == DType::kF64)
    return [](Bits a, Bits b, Bits c) {
      return F64Traits::Pack(
          std::fma(F64Traits::Unpack(a), F64Traits::Unpack(b), F64Traits::Unpack(c)));
    };
  return nullptr;
}

ScalarFunction SelectFunction() {
  return [](Bits condition, Bits a, Bits b) { return condition != 0 ? a : b; };
}

}  // namespace fusemark::loops
