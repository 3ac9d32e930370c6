#include "harness/numerics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "compiler/ir/number.h"

namespace fusemark {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Tensor> Floats(std::initializer_list<float> values) {
  std::vector<Tensor> leaves;
  leaves.push_back(MakeTensor(ArrayShape(DType::kF32, {static_cast<int64_t>(values.size())})));
  std::copy(values.begin(), values.end(), leaves[0].as<float>());
  return leaves;
}

bool Passes(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance = 0) {
  const Result<Comparison> comparison = CompareTensors(got, want, tolerance);
  EXPECT_TRUE(comparison.ok());
  return comparison->pass;
}

TEST(NumericsTest, ErrorsScaleWithTheLeaf) {
  // RMS is about 1000, so 0.5 off a small element is within 1e-3 of it.
  EXPECT_TRUE(Passes(Floats({1000.f, 1000.f, 0.5f}), Floats({1000.f, 1000.f, 0.f})));
  EXPECT_FALSE(Passes(Floats({1000.f, 1000.f, 2.f}), Floats({1000.f, 1000.f, 0.f})));
  EXPECT_TRUE(Passes(Floats({1000.f, 1000.f, 2.f}), Floats({1000.f, 1000.f, 0.f}), 1e-2));
}

TEST(NumericsTest, ZerosHaveAnAbsoluteBound) {
  EXPECT_TRUE(Passes(Floats({1e-5f}), Floats({0.f})));
  EXPECT_FALSE(Passes(Floats({1e-2f}), Floats({0.f})));
}

TEST(NumericsTest, SpecialValuesMustMatch) {
  EXPECT_TRUE(Passes(Floats({kNan, kInf, -kInf, 1}), Floats({kNan, kInf, -kInf, 1})));
  EXPECT_FALSE(Passes(Floats({1}), Floats({kNan})));
  EXPECT_FALSE(Passes(Floats({kNan}), Floats({1})));
  EXPECT_FALSE(Passes(Floats({kInf}), Floats({-kInf})));
  EXPECT_FALSE(Passes(Floats({kInf}), Floats({1})));
  EXPECT_FALSE(Passes(Floats({1e30f}), Floats({kInf})));
}

TEST(NumericsTest, FirstMismatchIsNamed) {
  const auto got = Floats({1, 2, 9, 9}), want = Floats({1, 2, 3, 4});
  const Result<Comparison> comparison = CompareTensors(got, want, 0);
  ASSERT_TRUE(comparison.ok());
  const LeafComparison& leaf = comparison->leaves[0];
  EXPECT_EQ(leaf.mismatches, 2);
  EXPECT_EQ(leaf.first_mismatch, 2);
  EXPECT_EQ(leaf.got, "9");
  EXPECT_EQ(leaf.want, "3");
  EXPECT_DOUBLE_EQ(leaf.max_abs_err, 6);
  EXPECT_DOUBLE_EQ(comparison->max_rel_err, 2);
}

TEST(NumericsTest, IntegersAreExact) {
  for (const DType dtype : {DType::kS8, DType::kU8, DType::kS32, DType::kS64, DType::kPred}) {
    std::vector<Tensor> a, b;
    a.push_back(MakeTensor(ArrayShape(dtype, {3})));
    b.push_back(MakeTensor(ArrayShape(dtype, {3})));
    EXPECT_TRUE(Passes(a, b, 0.5));
    a[0].data.get()[ByteSize(dtype)] = std::byte{1};
    EXPECT_FALSE(Passes(a, b, 0.5));
    const Result<Comparison> comparison = CompareTensors(a, b, 0);
    EXPECT_EQ(comparison->leaves[0].first_mismatch, 1);
    EXPECT_DOUBLE_EQ(comparison->leaves[0].max_abs_err, 1);
  }
}

TEST(NumericsTest, NarrowFloats) {
  std::vector<Tensor> a, b;
  a.push_back(MakeTensor(ArrayShape(DType::kBF16, {2})));
  b.push_back(MakeTensor(ArrayShape(DType::kBF16, {2})));
  for (int i = 0; i < 2; ++i) a[0].as<uint16_t>()[i] = b[0].as<uint16_t>()[i] = F32ToBF16(3.f);
  a[0].as<uint16_t>()[1] = F32ToBF16(3.25f);
  EXPECT_TRUE(Passes(a, b));
  a[0].as<uint16_t>()[1] = F32ToBF16(5.f);
  EXPECT_FALSE(Passes(a, b));
}

TEST(NumericsTest, OtherShapesAreErrors) {
  EXPECT_FALSE(CompareTensors(Floats({1}), Floats({1, 2}), 0).ok());
  EXPECT_FALSE(CompareTensors({}, Floats({1}), 0).ok());
}

TEST(NumericsTest, EmptyLeavesPass) {
  EXPECT_TRUE(Passes(Floats({}), Floats({})));
}

}  // namespace
}  // namespace fusemark
