// Conversion between bit patterns and values of every float type: spot values, rounding, specials,
// and for the narrow types every bit pattern.
#include "compiler/ir/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace fusemark {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr DType kNarrow[] = {
    DType::kF4E2M1FN,      DType::kF8E5M2,     DType::kF8E4M3,     DType::kF8E4M3FN,
    DType::kF8E4M3B11FNUZ, DType::kF8E5M2FNUZ, DType::kF8E4M3FNUZ, DType::kF8E3M4,
    DType::kF8E8M0FNU,     DType::kBF16,       DType::kF16,
};

TEST(NumberTest, EncodeInvertsDecode) {
  for (DType dtype : kNarrow) {
    for (uint64_t bits = 0; bits < (1ULL << BitWidth(dtype)); ++bits) {
      const double value = FloatFromBits(dtype, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(FloatFromBits(dtype, FloatToBits(dtype, value))));
      } else {
        ASSERT_EQ(FloatToBits(dtype, value), bits) << DTypeName(dtype) << " " << value;
      }
    }
  }
}

// Between two neighbours the nearer one wins, and half way the even one.
TEST(NumberTest, RoundsToNearestEven) {
  for (DType dtype : kNarrow) {
    if (dtype == DType::kF8E8M0FNU) continue;  // powers of two: no mantissa to be even
    for (uint64_t bits = 0; bits + 1 < (1ULL << (BitWidth(dtype) - 1)); ++bits) {
      const double low = FloatFromBits(dtype, bits);
      const double high = FloatFromBits(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = (low + high) / 2;
      const uint64_t even = bits % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(FloatToBits(dtype, middle), even) << DTypeName(dtype) << " " << middle;
      ASSERT_EQ(FloatToBits(dtype, std::nextafter(middle, low)), bits) << DTypeName(dtype);
      ASSERT_EQ(FloatToBits(dtype, std::nextafter(middle, high)), bits + 1) << DTypeName(dtype);
      ASSERT_EQ(FloatFromBits(dtype, FloatToBits(dtype, -high)), -high) << DTypeName(dtype);
    }
  }
}

struct Largest {
  DType dtype;
  double largest;
  double smallest;  // positive
  bool has_infinity;
};

class LargestTest : public testing::TestWithParam<Largest> {};

TEST_P(LargestTest, RangeAndSpecials) {
  const Largest& p = GetParam();
  const auto through = [&](double value) {
    return FloatFromBits(p.dtype, FloatToBits(p.dtype, value));
  };
  EXPECT_EQ(through(p.largest), p.largest);
  EXPECT_EQ(through(-p.largest), -p.largest);
  EXPECT_EQ(through(p.smallest), p.smallest);
  EXPECT_EQ(through(p.smallest / 2), 0);  // half way to zero, which is even
  EXPECT_EQ(through(p.smallest * 0.75), p.smallest);
  EXPECT_TRUE(std::isnan(through(kNan)));
  if (p.has_infinity) {
    EXPECT_EQ(through(p.largest * 2), kInf);
    EXPECT_EQ(through(-kInf), -kInf);
  } else {
    EXPECT_TRUE(std::isnan(through(p.largest * 2)));
    EXPECT_TRUE(std::isnan(through(-kInf)));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LargestTest,
                         testing::Values(Largest{DType::kF8E5M2, 57344, 0x1p-16, true},
                                         Largest{DType::kF8E4M3, 240, 0x1p-9, true},
                                         Largest{DType::kF8E4M3FN, 448, 0x1p-9, false},
                                         Largest{DType::kF8E4M3B11FNUZ, 30, 0x1p-13, false},
                                         Largest{DType::kF8E5M2FNUZ, 57344, 0x1p-17, false},
                                         Largest{DType::kF8E4M3FNUZ, 240, 0x1p-10, false},
                                         Largest{DType::kF8E3M4, 15.5, 0x1p-6, true},
                                         Largest{DType::kBF16, 0x1.fep127, 0x1p-133, true},
                                         Largest{DType::kF16, 65504, 0x1p-24, true}),
                         [](const auto& info) { return std::string(DTypeName(info.param.dtype)); });

TEST(NumberTest, SpotBits) {
  EXPECT_EQ(FloatToBits(DType::kF8E4M3FN, kNan), 0x7fU);
  EXPECT_EQ(FloatToBits(DType::kF8E4M3FN, 1.0), 0x38U);
  EXPECT_EQ(FloatToBits(DType::kF8E5M2, 1.0), 0x3cU);
  EXPECT_EQ(FloatToBits(DType::kF8E4M3FNUZ, -0.0), 0U);  // no -0: that pattern is the NaN
  EXPECT_EQ(FloatToBits(DType::kF8E4M3FNUZ, kNan), 0x80U);
  EXPECT_EQ(FloatToBits(DType::kF8E5M2FNUZ, -1e-30), 0U);
  EXPECT_EQ(FloatToBits(DType::kF8E8M0FNU, 1.0), 127U);
  EXPECT_EQ(FloatToBits(DType::kF8E8M0FNU, kNan), 255U);
  EXPECT_EQ(FloatToBits(DType::kF8E8M0FNU, -1.0), 255U);
  EXPECT_EQ(FloatToBits(DType::kF4E2M1FN, 100.0), 7U);  // saturates at 6
  EXPECT_EQ(FloatToBits(DType::kF4E2M1FN, -0.5), 9U);
  EXPECT_EQ(FloatToBits(DType::kF16, 1.0), 0x3c00U);
  EXPECT_EQ(FloatToBits(DType::kF16, 65520.0), 0x7c00U);
  EXPECT_EQ(FloatToBits(DType::kF16, 65519.9), 0x7bffU);
  EXPECT_EQ(FloatToBits(DType::kBF16, -kInf), 0xff80U);
}

// f32 -> bf16 in the header and f64 -> bf16 agree, except that the latter rounds once.
TEST(NumberTest, BFloat16) {
  EXPECT_EQ(F32ToBF16(1.0F), 0x3f80);
  EXPECT_EQ(F32ToBF16(std::bit_cast<float>(0x7fffffffU)) & 0x7fff, 0x7fff);  // NaN stays NaN
  EXPECT_EQ(F32ToBF16(std::bit_cast<float>(0x7f7fffffU)), 0x7f80);           // rounds to inf
  for (uint32_t bits = 0; bits < 0x7f800000U; bits += 12345) {
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(F32ToBF16(value), F64ToBF16(value)) << value;
    ASSERT_EQ(F32ToBF16(-value), F64ToBF16(-value)) << value;
  }
  // 1 + 2^-8 is half way; a little more must round up, but f32 would drop the little.
  const double value = 1.0 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(F64ToBF16(value), 0x3f81);
  EXPECT_EQ(F32ToBF16(static_cast<float>(value)), 0x3f80);
}

TEST(NumberTest, HalfRoundsOnceFromDouble) {
  EXPECT_EQ(F64ToF16(1.0 + 0x1p-11 + 0x1p-50), 0x3c01);
  EXPECT_EQ(F64ToF16(1.0 + 0x1p-11), 0x3c00);
  EXPECT_EQ(F16ToF32(0x0001), 0x1p-24F);
  EXPECT_EQ(F16ToF32(0xc000), -2.0F);
}

}  // namespace
}  // namespace fusemark
