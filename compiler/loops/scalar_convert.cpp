#include <cmath>
#include <limits>

#include "compiler/loops/scalar.h"
#include "compiler/loops/scalar_traits.h"

namespace fusemark::loops {
namespace {

// Truncates toward zero, saturates, NaN gives 0.
template <class To>
uint64_t SaturatingInteger(double value) {
  using I = typename To::Value;
  if (std::isnan(value)) return 0;
  constexpr bool kSigned = std::is_signed_v<I>;
  const double high = std::ldexp(1.0, To::kBits - (kSigned ? 1 : 0));  // first value too large
  if (value >= high) return To::Wrap(kSigned ? To::kMask >> 1 : To::kMask);
  if (kSigned && value < -high) return To::Wrap((To::kMask >> 1) + 1);
  if (!kSigned && value < 0) return 0;
  return To::Pack(static_cast<I>(value));
}

template <class From, class To>
uint64_t ConvertBits(uint64_t a, uint64_t, uint64_t) {
  const auto value = From::Unpack(a);
  if constexpr (std::is_same_v<To, PredTraits>) {
    return value != 0 ? 1 : 0;  // NaN and 0.5 are true
  } else if constexpr (To::kIsFloat) {
    return To::Pack(static_cast<typename To::Value>(value));
  } else if constexpr (From::kIsFloat) {
    return SaturatingInteger<To>(static_cast<double>(value));
  } else {
    return To::Wrap(a);  // the source's own extension stands in the upper bits
  }
}

}  // namespace

ScalarFunction ConvertFunction(DType from, DType to) {
  return WithTraits(from, [to](auto source) -> ScalarFunction {
    return WithTraits(to, [](auto target) -> ScalarFunction {
      return ConvertBits<decltype(source), decltype(target)>;
    });
  });
}

// Integers extend by their own sign, floats keep the upper bits zero.
ScalarFunction BitcastFunction(DType from, DType to) {
  if (BitWidth(from) != BitWidth(to) || IsComplex(from) || IsComplex(to)) return nullptr;
  if (IsFloat(to)) {
    switch (BitWidth(to)) {
      case 8: return [](uint64_t a, uint64_t, uint64_t) { return a & 0xff; };
      case 16: return [](uint64_t a, uint64_t, uint64_t) { return a & 0xffff; };
      case 32: return [](uint64_t a, uint64_t, uint64_t) { return a & 0xffffffff; };
      case 64: return [](uint64_t a, uint64_t, uint64_t) { return a; };
      default: return nullptr;
    }
  }
  return WithTraits(to, [](auto target) -> ScalarFunction {
    using To = decltype(target);
    if constexpr (To::kIsFloat) {
      return nullptr;
    } else {
      return [](uint64_t a, uint64_t, uint64_t) { return To::Pack(To::Unpack(a)); };
    }
  });
}

}  // namespace fusemark::loops
