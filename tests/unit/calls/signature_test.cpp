// Binding of sizes to the signature of a library routine (compiler/calls/signature.h).
#include "compiler/calls/signature.h"

#include <gtest/gtest.h>

namespace fusemark {
namespace {

constexpr std::string_view kLu = "T:mn -> T:mn=0 I:k I:";

Shape F32(std::vector<int64_t> dims) {
  return ArrayShape(DType::kF32, {dims.begin(), dims.end()});
}
Shape S32(std::vector<int64_t> dims) {
  return ArrayShape(DType::kS32, {dims.begin(), dims.end()});
}

TEST(Signature, BindsSizesOfABatch) {
  const auto bound = BindSignature(kLu, DType::kF32, {F32({2, 3, 4, 5})},
                                   {F32({2, 3, 4, 5}), S32({2, 3, 4}), S32({2, 3})});
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(bound->batch, 6);
  EXPECT_EQ((*bound)['m'], 4);
  EXPECT_EQ((*bound)['n'], 5);
  EXPECT_EQ(bound->results[0].starts_as, 0);
  EXPECT_TRUE(bound->results[0].matrix);
  EXPECT_EQ(bound->results[1].rows, 4);
  EXPECT_FALSE(bound->results[1].matrix);
  EXPECT_EQ(bound->results[2].elements(), 1);
}

TEST(Signature, KnowsTheTypesThatFollowFromTheElement) {
  const auto bound =
      BindSignature("T:nn -> R:n C:nn", DType::kC128, {ArrayShape(DType::kC128, {3, 3})},
                    {ArrayShape(DType::kF64, {3}), ArrayShape(DType::kC128, {3, 3})});
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const auto real = BindSignature("T:nn -> R:n C:nn", DType::kF32, {F32({3, 3})},
                                  {F32({3}), ArrayShape(DType::kC64, {3, 3})});
  ASSERT_TRUE(real.ok()) << real.error().message;
}

struct BadCase {
  const char* name;
  std::vector<Shape> operands, results;
  const char* message;
};

class BadSignature : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadSignature, SaysWhichArrayIsWrong) {
  const auto bound = BindSignature(kLu, DType::kF32, GetParam().operands, GetParam().results);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().code, Code::kInvalidInput);
  EXPECT_EQ(bound.error().message, GetParam().message);
}

const BadCase kBadCases[] = {
    {"NoOperand", {}, {}, "has 0 operands instead of 1"},
    {"Vector", {F32({4})}, {}, "operand 0 is f32[4], expected an array of rank 2 or more"},
    {"OtherType", {S32({4, 5})}, {}, "operand 0 is s32[4,5], expected f32[m,n]"},
    {"FewResults", {F32({4, 5})}, {F32({4, 5})}, "has 1 results instead of 3"},
    {"OtherSize",
     {F32({4, 5})},
     {F32({4, 5}), S32({5}), S32({})},
     "result 1 is s32[5], expected s32[4]"},
    {"OtherBatch",
     {F32({2, 4, 5})},
     {F32({2, 4, 5}), S32({3, 4}), S32({2})},
     "result 1 is s32[3,4], expected s32[2,4]"},
    {"TooLarge",
     {F32({int64_t{1} << 31, 1})},
     {},
     "operand 0 is f32[2147483648,1], expected f32[m,n]"},
};

INSTANTIATE_TEST_SUITE_P(Signature, BadSignature, ::testing::ValuesIn(kBadCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fusemark
