// Neutral elements against what the operations mean: every value of the narrow types, the edges
// and some values between of the wide ones.
#include "compiler/ir/identity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "compiler/ir/number.h"

namespace fusemark {
namespace {

constexpr DType kIntegers[] = {DType::kPred, DType::kS2,  DType::kS4, DType::kS8, DType::kS16,
                               DType::kS32,  DType::kS64, DType::kU2, DType::kU4, DType::kU8,
                               DType::kU16,  DType::kU32, DType::kU64};
constexpr DType kFloats[] = {DType::kBF16, DType::kF16, DType::kF32, DType::kF64};
constexpr Op kOfIntegers[] = {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum,
                              Op::kAnd, Op::kOr,       Op::kXor};
constexpr Op kOfFloats[] = {Op::kAdd, Op::kMultiply, Op::kMaximum, Op::kMinimum};

int WidthOf(DType dtype) {
  return dtype == DType::kPred ? 1 : BitWidth(dtype);
}

// The low bits of `value` as 64 bits, by the sign of the type.
uint64_t Extended(DType dtype, uint64_t value) {
  const int unused = 64 - WidthOf(dtype);
  value <<= unused;
  return IsSigned(dtype) ? static_cast<uint64_t>(static_cast<int64_t>(value) >> unused)
                         : value >> unused;
}

// All bit patterns up to 16 bits; else both ends of the range, of each sign's range, and others.
std::vector<uint64_t> PatternsOf(DType dtype) {
  const int width = WidthOf(dtype);
  std::vector<uint64_t> patterns;
  if (width <= 16) {
    for (uint64_t bits = 0; bits >> width == 0; ++bits) patterns.push_back(bits);
    return patterns;
  }
  const uint64_t sign = uint64_t{1} << (width - 1);
  for (const uint64_t base : {uint64_t{0}, sign})
    for (const uint64_t step : {uint64_t{0}, uint64_t{1}, uint64_t{2}, ~uint64_t{0}})
      patterns.push_back(base + step);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) patterns.push_back(random());
  for (uint64_t& bits : patterns) bits &= ~uint64_t{0} >> (64 - width);
  return patterns;
}

uint64_t OfIntegers(Op op, DType dtype, uint64_t a, uint64_t b) {
  const bool less = IsSigned(dtype) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  switch (op) {
    case Op::kAdd: return dtype == DType::kPred ? a | b : a + b;
    case Op::kMultiply: return a * b;
    case Op::kMaximum: return less ? b : a;
    case Op::kMinimum: return less ? a : b;
    case Op::kAnd: return a & b;
    case Op::kOr: return a | b;
    default: return a ^ b;
  }
}

double OfFloats(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd: return a + b;
    case Op::kMultiply: return a * b;
    case Op::kMaximum: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}

TEST(Identity, LeavesEveryInteger) {
  for (const DType dtype : kIntegers) {
    for (const Op op : kOfIntegers) {
      const auto identity = IdentityBits(op, dtype);
      ASSERT_TRUE(identity) << OpName(op) << " " << DTypeName(dtype);
      EXPECT_EQ(*identity, Extended(dtype, *identity)) << OpName(op) << " " << DTypeName(dtype);
      for (const uint64_t bits : PatternsOf(dtype)) {
        const uint64_t value = Extended(dtype, bits);
        ASSERT_EQ(Extended(dtype, OfIntegers(op, dtype, *identity, value)), value)
            << OpName(op) << " " << DTypeName(dtype);
      }
    }
  }
}

// Zeros keep their signs and infinities stay: all but NaNs, whose payload is nobody's promise.
TEST(Identity, LeavesEveryFloat) {
  for (const DType dtype : kFloats) {
    for (const Op op : kOfFloats) {
      const auto identity = IdentityBits(op, dtype);
      ASSERT_TRUE(identity) << OpName(op) << " " << DTypeName(dtype);
      const double neutral = FloatFromBits(dtype, *identity);
      for (const uint64_t bits : PatternsOf(dtype)) {
        const double value = FloatFromBits(dtype, bits);
        if (std::isnan(value)) continue;
        ASSERT_EQ(FloatToBits(dtype, OfFloats(op, neutral, value)), bits)
            << OpName(op) << " " << DTypeName(dtype);
      }
    }
  }
}

TEST(Identity, NothingWhereThereIsNone) {
  EXPECT_FALSE(IdentityBits(Op::kSubtract, DType::kF32));
  EXPECT_FALSE(IdentityBits(Op::kDivide, DType::kS32));
  for (const Op op : {Op::kAnd, Op::kOr, Op::kXor}) EXPECT_FALSE(IdentityBits(op, DType::kF32));
  for (const DType dtype : {DType::kC64, DType::kF8E5M2, DType::kF4E2M1FN, DType::kToken})
    EXPECT_FALSE(IdentityBits(Op::kAdd, dtype)) << DTypeName(dtype);
}

}  // namespace
}  // namespace fusemark
