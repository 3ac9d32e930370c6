#include "compiler/reference/lane_ops.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

// Truncates toward zero, saturates at the bounds of the type, NaN becomes 0.
template <class T>
T Saturate(double value, DType to) {
  const int bits = BitWidth(to) - (std::is_signed_v<T> ? 1 : 0);
  if (std::isnan(value)) return 0;
  const double limit = std::ldexp(1.0, bits);
  const T largest = static_cast<T>(std::numeric_limits<T>::max() >>
                                   (std::is_signed_v<T> ? 63 - bits : 64 - bits));
  const T smallest = std::is_signed_v<T> ? static_cast<T>(-largest - 1) : T{0};
  if (value >= limit) return largest;
  if (value <= static_cast<double>(smallest)) return smallest;
  return static_cast<T>(value);
}

template <class From>
void ConvertFrom(DType to, const From* a, int64_t n, void* out) {
  constexpr bool is_float = std::is_same_v<From, double>;
  const auto each = [&](auto* target, auto f) {
    for (int64_t i = 0; i < n; ++i) target[i] = f(a[i]);
  };
  // Integers reach every float type but f64 through one rounding to f32.
  const auto to_double = [to](From x) {
    return is_float || BitWidth(to) == 64 || BitWidth(to) == 128
               ? static_cast<double>(x)
               : static_cast<double>(static_cast<float>(x));
  };
  if (to == DType::kPred)
    return each(static_cast<uint64_t*>(out), [](From x) { return uint64_t{x != From{0}}; });
  switch (KindOf(to)) {
    case Kind::kFloat: return each(static_cast<double*>(out), to_double);
    case Kind::kComplex:
      return each(static_cast<Complex*>(out),
                  [](From x) { return Complex(static_cast<double>(x)); });
    case Kind::kInt:
      return each(static_cast<int64_t*>(out), [=](From x) {
        if constexpr (is_float) return Saturate<int64_t>(x, to);
        return static_cast<int64_t>(x);
      });
    case Kind::kUint:
      return each(static_cast<uint64_t*>(out), [=](From x) {
        if constexpr (is_float) return Saturate<uint64_t>(x, to);
        return static_cast<uint64_t>(x);
      });
  }
}

void SelectLanes(Kind kind, std::span<const void* const> operands, int64_t n, void* out) {
  const auto* pred = static_cast<const uint64_t*>(operands[0]);
  VisitKind(kind, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto* on_true = static_cast<const T*>(operands[1]);
    const auto* on_false = static_cast<const T*>(operands[2]);
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(out)[i] = pred[i] != 0 ? on_true[i] : on_false[i];
  });
}

void CopyLanes(DType dtype, const void* a, int64_t n, void* out) {
  std::memcpy(out, a, static_cast<size_t>(n * LaneSize(dtype)));
}

// Same bits, other type of the same width.
void BitcastLanes(DType from, DType to, const void* a, int64_t n, void* out) {
  alignas(16) std::byte buffer[kBlock * 16];
  FM_CHECK(n <= kBlock);
  Encode(from, a, n, buffer);
  Decode(to, buffer, n, out);
}

bool FloatOnlyOp(Op op) {
  return IsTranscendental(op) || op == Op::kSqrt || op == Op::kRsqrt || op == Op::kFloor ||
         op == Op::kCeil || op == Op::kRoundNearestAfz || op == Op::kRoundNearestEven ||
         op == Op::kIsFinite || op == Op::kReducePrecision || op == Op::kReal || op == Op::kImag ||
         op == Op::kComplex;
}

bool IntegerOnlyOp(Op op) {
  return op == Op::kAnd || op == Op::kOr || op == Op::kXor || op == Op::kNot ||
         op == Op::kShiftLeft || op == Op::kShiftRightArithmetic || op == Op::kShiftRightLogical ||
         op == Op::kPopulationCount || op == Op::kCountLeadingZeros;
}

}  // namespace

bool LaneOpSupported(Op op, Kind kind) {
  if (!IsElementwise(op) || op == Op::kStochasticConvert) return false;
  switch (kind) {
    case Kind::kInt:
    case Kind::kUint: return !FloatOnlyOp(op) || op == Op::kPower || op == Op::kRemainder;
    case Kind::kFloat: return !IntegerOnlyOp(op);
    case Kind::kComplex: break;
  }
  const bool real_only = op == Op::kRemainder || op == Op::kErf || op == Op::kFloor ||
                         op == Op::kCeil || op == Op::kRoundNearestAfz || op == Op::kClamp ||
                         op == Op::kRoundNearestEven || op == Op::kIsFinite ||
                         op == Op::kReducePrecision || op == Op::kComplex;
  return !IntegerOnlyOp(op) && !real_only;
}

void ConvertLanes(DType from, DType to, const void* a, int64_t n, void* out) {
  switch (KindOf(from)) {
    case Kind::kInt: return ConvertFrom(to, static_cast<const int64_t*>(a), n, out);
    case Kind::kUint: return ConvertFrom(to, static_cast<const uint64_t*>(a), n, out);
    case Kind::kFloat: return ConvertFrom(to, static_cast<const double*>(a), n, out);
    case Kind::kComplex: break;
  }
  FM_CHECK(IsComplex(to), "complex converts to complex only");
  CopyLanes(from, a, n, out);
}

void ReducePrecisionLanes(const ReducePrecisionAttrs& attrs, DType dtype, const void* a, int64_t n,
                          void* out) {
  struct Layout {
    int exponent, mantissa;
  };
  const Layout from = dtype == DType::kF64   ? Layout{11, 52}
                      : dtype == DType::kF32 ? Layout{8, 23}
                      : dtype == DType::kF16 ? Layout{5, 10}
                                             : Layout{8, 7};
  const int64_t width = 1 + from.exponent + from.mantissa;
  const uint64_t sign_mask = uint64_t{1} << (width - 1);
  const uint64_t exponent_mask = ((uint64_t{1} << from.exponent) - 1) << from.mantissa;
  const int64_t drop = from.mantissa - attrs.mantissa_bits;
  const uint64_t bias = (uint64_t{1} << (from.exponent - 1)) - 1;
  const uint64_t reduced_bias = (uint64_t{1} << (attrs.exponent_bits - 1)) - 1;
  alignas(16) std::byte buffer[kBlock * 16];
  FM_CHECK(n <= kBlock);
  Encode(dtype, a, n, buffer);
  const auto size = static_cast<size_t>(width / 8);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, buffer + static_cast<size_t>(i) * size, size);
    const uint64_t sign = bits & sign_mask;
    const bool is_nan = (bits & ~sign_mask) > exponent_mask;
    if (is_nan) {
      if (attrs.mantissa_bits == 0) bits = sign | exponent_mask;
    } else {
      if (drop > 0) {
        const uint64_t last = uint64_t{1} << drop;
        bits = (bits + ((bits & last) >> drop) + (last >> 1) - 1) & ~(last - 1);
      }
      const uint64_t exponent = bits & exponent_mask;
      if (attrs.exponent_bits < from.exponent && exponent > (bias + reduced_bias) << from.mantissa)
        bits = sign | exponent_mask;
      else if (attrs.exponent_bits < from.exponent && exponent <= (bias - reduced_bias)
                                                                      << from.mantissa)
        bits = sign;
    }
    std::memcpy(buffer + static_cast<size_t>(i) * size, &bits, size);
  }
  Decode(dtype, buffer, n, out);
}

void ApplyLanes(const Instr& instr, std::span<const DType> types,
                std::span<const void* const> operands, int64_t n, void* out) {
  const DType result = instr.shape.dtype;
  switch (instr.op) {
    case Op::kConvert:
      return ConvertLanes(types[0], result, operands[0], n, out);  // rounds once, from f64 too
    case Op::kCompare:
      return CompareLanes(instr.As<CompareAttrs>(), types[0], operands[0], operands[1], n, out);
    case Op::kSelect: return SelectLanes(KindOf(result), operands, n, out);
    case Op::kCopy: return CopyLanes(result, operands[0], n, out);
    case Op::kBitcastConvert: return BitcastLanes(types[0], result, operands[0], n, out);
    case Op::kReducePrecision:
      return ReducePrecisionLanes(instr.As<ReducePrecisionAttrs>(), result, operands[0], n, out);
    case Op::kClamp:
      BinaryLanes(Op::kMaximum, result, operands[1], operands[0], n, out);
      return BinaryLanes(Op::kMinimum, result, out, operands[2], n, out);
    default: break;
  }
  if (types.size() == 1)
    UnaryLanes(instr.op, types[0], operands[0], n, out);
  else
    BinaryLanes(instr.op, types[0], operands[0], operands[1], n, out);
  if (IsFloat(result) && BitWidth(result) < 32) {
    auto* lanes = static_cast<double*>(out);
    for (int64_t i = 0; i < n; ++i) lanes[i] = static_cast<double>(static_cast<float>(lanes[i]));
  }
}

}  // namespace fusemark::reference
