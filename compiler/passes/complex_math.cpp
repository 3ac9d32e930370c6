#include "compiler/passes/complex_math.h"

#include <limits>

namespace fusemark {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A real array value with the arithmetic of its builder.
struct Real {
  Builder* builder;
  InstrId id;

  DType dtype() const { return (*builder)[id].shape.dtype; }
  Real Wrap(InstrId other) const { return {builder, other}; }
  // The value everywhere, in the type and shape of this one.
  Real Splat(double value) const {
    const Dims dims = (*builder)[id].shape.dims;
    const InstrId scalar = builder->Constant(ScalarLiteralOf(dtype(), value));
    return Wrap(builder->Broadcast(scalar, dims, {}));
  }
  Real As(DType type) const { return Wrap(builder->Convert(id, type)); }
  Real Unary(Op op) const { return Wrap(builder->Unary(op, id)); }
  Real Binary(Op op, Real other) const { return Wrap(builder->Binary(op, id, other.id)); }

  Real operator+(Real o) const { return Binary(Op::kAdd, o); }
  Real operator-(Real o) const { return Binary(Op::kSubtract, o); }
  Real operator*(Real o) const { return Binary(Op::kMultiply, o); }
  Real operator/(Real o) const { return Binary(Op::kDivide, o); }
  Real operator-() const { return Unary(Op::kNegate); }
  Real operator+(double o) const { return *this + Splat(o); }
  Real operator-(double o) const { return *this - Splat(o); }
  Real operator*(double o) const { return *this * Splat(o); }
  Real operator/(double o) const { return *this / Splat(o); }

  Real Compare(Direction direction, Real other, CompareType type = CompareType::kFloat) const {
    const Dims dims = (*builder)[id].shape.dims;
    return Wrap(builder->Emit(Op::kCompare, ArrayShape(DType::kPred, dims), {id, other.id},
                              CompareAttrs{direction, type}));
  }
  Real Is(Direction direction, double value) const { return Compare(direction, Splat(value)); }
  // -0 and negative NaNs count.
  Real HasSign() const { return Compare(Direction::kLt, Splat(0), CompareType::kTotalOrder); }
  Real Pick(Real then, Real otherwise) const {  // of a pred
    const Shape shape = (*builder)[then.id].shape;
    return Wrap(builder->Emit(Op::kSelect, shape, {id, then.id, otherwise.id}));
  }
};

struct Complex {
  Real re, im;
};

Real Abs(Real x) {
  return x.Unary(Op::kAbs);
}
Real Sqrt(Real x) {
  return x.Unary(Op::kSqrt);
}
Complex Pick(Real condition, Complex then, Complex otherwise) {
  return {condition.Pick(then.re, otherwise.re), condition.Pick(then.im, otherwise.im)};
}
Complex Plus(Complex x, Complex y) {
  return {x.re + y.re, x.im + y.im};
}
Complex Minus(Complex x, Complex y) {
  return {x.re - y.re, x.im - y.im};
}
Complex Times(Complex x, Complex y) {
  // One statement each: C++ leaves the order of operands open, and with it that of instructions.
  const Real ac = x.re * y.re, bd = x.im * y.im;
  const Real ad = x.re * y.im, bc = x.im * y.re;
  return {ac - bd, ad + bc};
}
Complex One(Real like) {
  return {like.Splat(1), like.Splat(0)};
}
Real IsInfinite(Real x) {
  return Abs(x).Is(Direction::kEq, kInfinity);
}
// Neither NaN nor infinite.
Real IsFinite(Real x) {
  return Abs(x).Is(Direction::kLt, kInfinity);
}
Real IsZero(Complex z) {
  return Abs(z.re).Binary(Op::kMaximum, Abs(z.im)).Is(Direction::kEq, 0);
}

// The larger and the smaller modulus of the parts, and their ratio (0 where it has none). Infinity
// is larger than NaN: such a number is infinite whatever its other part.
struct Parts {
  Real large, small, ratio;
};
Parts PartsOf(Complex z) {
  const Real a = Abs(z.re), b = Abs(z.im);
  const Real infinite = IsInfinite(z.re).Binary(Op::kOr, IsInfinite(z.im));
  const Real larger = a.Binary(Op::kMaximum, b), small = a.Binary(Op::kMinimum, b);
  const Real large = infinite.Pick(larger.Splat(kInfinity), larger);
  const Real plain = large.Is(Direction::kGt, 0);
  const Real finite = large.Is(Direction::kLt, kInfinity);
  const Real usable = plain.Binary(Op::kAnd, finite);
  return {large, small, usable.Pick(small / large, large.Splat(0))};
}

Real Modulus(Complex z) {
  const Parts parts = PartsOf(z);
  return parts.large * Sqrt(parts.ratio * parts.ratio + 1);
}

Real Argument(Complex z) {
  return z.im.Binary(Op::kAtan2, z.re);
}

// Infinite parts as +-1, finite ones as 0: the direction of an infinite number (C11, G.5.1).
Real DirectionOf(Real part) {
  return IsInfinite(part).Pick(part.Unary(Op::kSign), part.Splat(0));
}

// Smith's method: scaled by the larger part of the divisor. A zero divisor divides each part, an
// infinite one gives zeros. Where the ratio of its parts underflows, the larger one divides first
// (Baudin and Smith, "A robust complex division in Scilab", 2012).
Complex Divide(Complex x, Complex divisor) {
  // Even beside a NaN.
  const Real infinite = IsInfinite(divisor.re).Binary(Op::kOr, IsInfinite(divisor.im));
  const Complex direction = {DirectionOf(divisor.re), DirectionOf(divisor.im)};
  const Complex y = Pick(infinite, direction, divisor);
  const Real wide = Abs(y.re).Compare(Direction::kGe, Abs(y.im));
  const Real large = wide.Pick(y.re, y.im), small = wide.Pick(y.im, y.re);
  const Real ratio = small / large;
  const Real scale = large + small * ratio;
  const Complex by_zero = {x.re / large, x.im / large};
  const Real lost = Abs(ratio).Is(Direction::kLt, std::numeric_limits<double>::min());
  const Complex late = {x.re * ratio, x.im * ratio};
  const Complex early = {by_zero.re * small, by_zero.im * small};
  const Complex share = Pick(lost, early, late);
  const Complex mostly_real = {(x.re + share.im) / scale, (x.im - share.re) / scale};
  const Complex mostly_imag = {(share.re + x.im) / scale, (share.im - x.re) / scale};
  const Complex quotient = Pick(IsZero(y), by_zero, Pick(wide, mostly_real, mostly_imag));
  return Pick(infinite, {quotient.re * 0, quotient.im * 0}, quotient);
}

// x * e with 0 * infinity = 0: for angles and signs that are exactly zero.
Real ZeroTimes(Real x, Real e) {
  return x.Is(Direction::kEq, 0).Pick(x, x * e);
}

// An infinite exponent decides even where there is no angle (C11, G.6.3.1).
Complex Exp(Complex z) {
  const Real e = z.re.Unary(Op::kExponential);
  const Complex plain = {ZeroTimes(z.im.Unary(Op::kCosine), e),
                         ZeroTimes(z.im.Unary(Op::kSine), e)};
  const Real lost = IsFinite(z.im).Unary(Op::kNot);
  const Real decided = lost.Binary(Op::kAnd, IsInfinite(z.re));
  const Real vanishes = decided.Binary(Op::kAnd, z.re.Is(Direction::kLt, 0));
  return {decided.Pick(e, plain.re), vanishes.Pick(e, plain.im)};
}

// expm1(a) cos(b) - 2 sin^2(b / 2): no cancellation near 0. Of an infinite exponent, exp(z) - 1.
Complex ExpMinusOne(Complex z) {
  const Real half = (z.im * 0.5).Unary(Op::kSine);
  const Real shifted = z.re.Unary(Op::kExponentialMinusOne) * z.im.Unary(Op::kCosine);
  const Complex power = Exp(z);
  return {IsInfinite(z.re).Pick(power.re - 1, shifted - half * half * 2), power.im};
}

// log |z|: near the unit circle from |z|^2 - 1 = (m - 1)(m + 1) + n^2.
Complex Log(Complex z) {
  const Parts parts = PartsOf(z);
  const Real m = parts.large, n = parts.small;
  const Real far = m.Unary(Op::kLog) + (parts.ratio * parts.ratio).Unary(Op::kLogPlusOne) * 0.5;
  const Real near = ((m - 1) * (m + 1) + n * n).Unary(Op::kLogPlusOne) * 0.5;
  const Real is_near = m.Is(Direction::kGt, 0.5).Binary(Op::kAnd, m.Is(Direction::kLt, 2));
  return {is_near.Pick(near, far), Argument(z)};
}

// log |1 + z| from |1 + z|^2 - 1 = a (2 + a) + b^2, which is exact near 0; near -1 and far away
// 1 + z itself is.
Complex LogPlusOne(Complex z) {
  const Real square = z.re * (z.re + 2);
  const Real excess = square + z.im * z.im;
  const Real near = excess.Unary(Op::kLogPlusOne) * 0.5;
  const Real is_near =
      excess.Is(Direction::kGt, -0.5).Binary(Op::kAnd, PartsOf(z).large.Is(Direction::kLt, 1e10));
  const Complex far = Log({z.re + 1, z.im});
  return {is_near.Pick(near, far.re), far.im};
}

// t = sqrt((|a| + |z|) / 2), which adds and never cancels; the other part is b / 2t.
Complex SquareRoot(Complex z) {
  // Denormal parts are lifted by an even power of two first.
  const Real tiny = PartsOf(z).large.Is(Direction::kLt, 0x1p-900);
  const Real lift = tiny.Pick(z.re.Splat(0x1p200), z.re.Splat(1));
  const Real a = Abs(z.re) * lift, b = Abs(z.im) * lift;
  const Real t = Sqrt(a * 0.125 + Modulus({a, b}) * 0.125) * 2;
  const Real zero = t.Is(Direction::kEq, 0);
  const Real other = zero.Pick(t, b / t * 0.5);
  const Real right = z.re.Is(Direction::kGe, 0);
  const Real back = tiny.Pick(z.re.Splat(0x1p-100), z.re.Splat(1));
  // Along the imaginary axis both parts are infinite (C11, G.6.4.2).
  const Real steep = IsInfinite(z.im);
  const Real re = steep.Pick(b, right.Pick(t, other) * back);
  const Real im = steep.Pick(b, right.Pick(other, t) * back);
  return {re, z.im.HasSign().Pick(-im, im)};
}

Complex CubeRoot(Complex z) {
  const Real radius = Modulus(z).Unary(Op::kCbrt), angle = Argument(z) / 3;
  const Complex root = {radius * angle.Unary(Op::kCosine), radius * angle.Unary(Op::kSine)};
  return Pick(IsZero(z), z, root);
}

// sinh |x| and cosh x from expm1, exact near 0.
struct Hyperbolic {
  Real sinh, cosh;
};
Hyperbolic HyperbolicOf(Real x) {
  const Real grown = Abs(x).Unary(Op::kExponentialMinusOne);
  const Real shrunk = grown / (grown + 1);
  const Real large = grown.Is(Direction::kEq, kInfinity);
  const Real sinh = large.Pick(grown, (grown + shrunk) * 0.5);
  const Real cosh = large.Pick(grown, (grown - shrunk) * 0.5 + 1);
  return {x.HasSign().Pick(-sinh, sinh), cosh};
}

// Of a real part that gives no angle, sin(z) = -i sinh(i z) and cos(z) = cosh(i z) keep one part if
// the imaginary part is zero or infinite (C11, G.6.2.4 and G.6.2.5); its sign is unspecified.
struct Angleless {
  Real infinite, zero;
};
Angleless WithoutAngle(Complex z) {
  const Real lost = IsFinite(z.re).Unary(Op::kNot);
  return {lost.Binary(Op::kAnd, IsInfinite(z.im)),
          lost.Binary(Op::kAnd, z.im.Is(Direction::kEq, 0))};
}

Complex Sine(Complex z) {
  const Hyperbolic h = HyperbolicOf(z.im);
  const Angleless without = WithoutAngle(z);
  const Real re = ZeroTimes(z.re.Unary(Op::kSine), h.cosh);
  const Real im = h.sinh * z.re.Unary(Op::kCosine);
  return {re, without.infinite.Pick(h.cosh, without.zero.Pick(z.im, im))};
}

Complex Cosine(Complex z) {
  const Hyperbolic h = HyperbolicOf(z.im);
  const Angleless without = WithoutAngle(z);
  const Real re = z.re.Unary(Op::kCosine) * h.cosh;
  const Real im = -ZeroTimes(z.re.Unary(Op::kSine), h.sinh);
  return {without.infinite.Pick(h.cosh, re), without.zero.Pick(z.im, im)};
}

// Kahan, "Branch cuts for complex elementary functions" (1987), CTANH; for |a| > 20 the real part
// is 1 to the last bit.
Complex HyperbolicTangent(Complex z) {
  const Real t = z.im.Unary(Op::kTan);
  const Real beta = t * t + 1;
  const Real s = HyperbolicOf(z.re).sinh;
  const Real rho = Sqrt(s * s + 1);
  const Real scale = beta * s * s + 1;
  const Complex middle = {beta * rho * s / scale, t / scale};
  const Real far = Abs(z.re).Is(Direction::kGt, 20);
  const Real fall = (Abs(z.re) * -2).Unary(Op::kExponential);
  const Real swing = z.im.Unary(Op::kSine) * z.im.Unary(Op::kCosine) * 4;
  // Zero parts stay zero, and an infinite real part leaves no imaginary one (C11, G.6.2.6).
  const Real lost = IsInfinite(z.re).Binary(Op::kAnd, IsFinite(z.im).Unary(Op::kNot));
  const Complex outer = {z.re.Unary(Op::kSign), lost.Pick(fall, swing * fall)};
  const Complex inner = {z.re.Is(Direction::kEq, 0).Pick(z.re, middle.re),
                         z.im.Is(Direction::kEq, 0).Pick(z.im, middle.im)};
  return Pick(far, outer, inner);
}

// tan(z) = -i tanh(i z).
Complex Tangent(Complex z) {
  const Complex turned = HyperbolicTangent({-z.im, z.re});
  return {turned.im, -turned.re};
}

// 1 / (1 + exp(-z)), from exp(-|a|) so that nothing overflows.
Complex Logistic(Complex z) {
  const Real negative = z.re.HasSign();
  const Complex e = Exp({-Abs(z.re), negative.Pick(z.im, -z.im)});
  const Complex one = One(z.re);
  return Divide(Pick(negative, e, one), Plus(one, e));
}

Complex Sign(Complex z) {
  const Real modulus = Modulus(z);
  const Complex unit = {z.re / modulus, z.im / modulus};
  return Pick(IsZero(z), z, unit);
}

// exp(y log x); x^0 is 1, 0^y is 0 for Re y > 0.
Complex Power(Complex x, Complex y) {
  const Complex power = Exp(Times(y, Log(x)));
  const Real vanishes = IsZero(x).Binary(Op::kAnd, y.re.Is(Direction::kGt, 0));
  const Complex zero = {x.re.Splat(0), x.re.Splat(0)};
  return Pick(IsZero(y), One(x.re), Pick(vanishes, zero, power));
}

// -i log((x + i y) / sqrt(x^2 + y^2)).
Complex ArcTangent2(Complex y, Complex x) {
  const Complex turned = {-y.im, y.re};
  const Complex length = SquareRoot(Plus(Times(x, x), Times(y, y)));
  const Complex log = Log(Divide(Plus(x, turned), length));
  return {log.im, -log.re};
}

// Lexicographic, as NumPy orders complex numbers; a NaN in any part wins, the first one first.
Complex Extreme(Complex x, Complex y, bool largest) {
  const Direction before = largest ? Direction::kGt : Direction::kLt;
  const auto is_nan = [](Complex z) {
    const Real re = z.re.Compare(Direction::kNe, z.re);
    return re.Binary(Op::kOr, z.im.Compare(Direction::kNe, z.im));
  };
  const Real tie = x.re.Compare(Direction::kEq, y.re);
  const Real im_before = y.im.Compare(before, x.im);
  const Real y_wins = y.re.Compare(before, x.re).Binary(Op::kOr, tie.Binary(Op::kAnd, im_before));
  const Real second = is_nan(y).Binary(Op::kOr, y_wins);
  return Pick(is_nan(x), x, Pick(second, y, x));
}

Complex Lift(Builder& builder, ComplexPair x, DType type) {
  const Real re{&builder, x.re}, im{&builder, x.im};
  return {re.As(type), im.As(type)};
}

ComplexPair Rounded(Complex z, DType type) {
  const Real re = z.re.As(type), im = z.im.As(type);
  return {re.id, im.id};
}

std::optional<Complex> UnaryOf(Op op, Complex z) {
  switch (op) {
    case Op::kSign: return Sign(z);
    case Op::kExponential: return Exp(z);
    case Op::kExponentialMinusOne: return ExpMinusOne(z);
    case Op::kLog: return Log(z);
    case Op::kLogPlusOne: return LogPlusOne(z);
    case Op::kLogistic: return Logistic(z);
    case Op::kSqrt: return SquareRoot(z);
    case Op::kRsqrt: return Divide(One(z.re), SquareRoot(z));
    case Op::kCbrt: return CubeRoot(z);
    case Op::kTanh: return HyperbolicTangent(z);
    case Op::kTan: return Tangent(z);
    case Op::kSine: return Sine(z);
    case Op::kCosine: return Cosine(z);
    default: return std::nullopt;
  }
}

std::optional<Complex> BinaryOf(Op op, Complex x, Complex y) {
  switch (op) {
    case Op::kDivide: return Divide(x, y);
    case Op::kPower: return Power(x, y);
    case Op::kAtan2: return ArcTangent2(x, y);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ComplexPair> ComplexUnary(Builder& builder, Op op, ComplexPair x) {
  const DType type = builder[x.re].shape.dtype;
  if (op == Op::kNegate) {
    const Complex z = Lift(builder, x, type);
    return Rounded({-z.re, -z.im}, type);
  }
  const auto result = UnaryOf(op, Lift(builder, x, DType::kF64));
  if (!result) return std::nullopt;
  return Rounded(*result, type);
}

std::optional<ComplexPair> ComplexBinary(Builder& builder, Op op, ComplexPair x, ComplexPair y) {
  const DType type = builder[x.re].shape.dtype;
  const Complex a = Lift(builder, x, type), b = Lift(builder, y, type);
  switch (op) {
    case Op::kAdd: return Rounded(Plus(a, b), type);
    case Op::kSubtract: return Rounded(Minus(a, b), type);
    case Op::kMultiply: return Rounded(Times(a, b), type);
    case Op::kMaximum: return Rounded(Extreme(a, b, true), type);
    case Op::kMinimum: return Rounded(Extreme(a, b, false), type);
    default: break;
  }
  const auto result = BinaryOf(op, Lift(builder, x, DType::kF64), Lift(builder, y, DType::kF64));
  if (!result) return std::nullopt;
  return Rounded(*result, type);
}

InstrId ComplexAbs(Builder& builder, ComplexPair x) {
  const DType type = builder[x.re].shape.dtype;
  return Modulus(Lift(builder, x, DType::kF64)).As(type).id;
}

}  // namespace fusemark
