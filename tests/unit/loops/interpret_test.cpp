// The interpreter: results of small kernels computed by hand, GPU semantics, checked accesses.
#include "compiler/loops/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "compiler/ir/number.h"
#include "compiler/loops/scalar.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

using testing::ElementsAre;

std::vector<float> RunF32(const Kernel& kernel, const std::vector<std::vector<float>>& inputs,
                          size_t outputs) {
  std::vector<float> result(outputs, -777.0F);
  std::vector<const void*> operands;
  for (const auto& input : inputs) operands.push_back(input.data());
  std::array<void*, 1> results = {result.data()};
  const auto status = Interpret(kernel, operands, results);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return result;
}

TEST(LoopsInterpret, ReductionWithAccumulator) {
  const Kernel kernel = MustParse(R"(kernel @sum class=reduce
  operand %a: f32[2,3]
  result %r: f32[2]
{
  for i0 in 2 parallel {
    alloc %acc: f32[] register
    %acc[] = 0:f32
    for k0 in 3 reduces {
      %acc[] = %acc[] + %a[i0, k0]
    }
    %r[i0] = %acc[]
  }
})");
  EXPECT_THAT(RunF32(kernel, {{1, 2, 3, 4, 5, 6}}, 2), ElementsAre(6, 15));
}

TEST(LoopsInterpret, PhasesShareScratch) {
  const Kernel kernel = MustParse(R"(kernel @k class=reduce
  operand %a: f32[4]
  result %r: f32[4]
  scratch %s: f32[4]
  scratch %t: f32[]
{
  for i0 in 4 parallel { %s[i0] = %a[i0] * 2:f32 }
  %t[] = %s[0] + %s[3]
  for i0 in 4 parallel { %r[i0] = %s[i0] + %t[] }
})");
  EXPECT_EQ(PhasesOf(kernel).size(), 3U);
  EXPECT_THAT(RunF32(kernel, {{1, 2, 3, 4}}, 4), ElementsAre(12, 14, 16, 18));
  std::vector<int64_t> offsets;
  EXPECT_EQ(ScratchBytes(kernel, &offsets), 128);
  EXPECT_THAT(offsets, ElementsAre(0, 64));
}

TEST(LoopsInterpret, RangesOfThePhaseLoop) {
  const Kernel kernel = MustParse(R"(kernel @k class=loop
  result %r: f32[4]
{
  for i0 in 4 parallel { %r[i0] = f32(i0) }
})");
  const auto interpreter = Interpreter::Prepare(kernel);
  ASSERT_TRUE(interpreter.ok());
  std::vector<float> result(4, -1);
  std::array<void*, 1> results = {result.data()};
  ASSERT_TRUE(interpreter->RunPhase(0, {}, results, nullptr, 1, 3).ok());
  EXPECT_THAT(result, ElementsAre(-1, 1, 2, -1));
}

// A block-wide reversal and sum through shared memory: wrong if a thread runs past a barrier early.
TEST(LoopsInterpret, BlocksThreadsSharedMemoryAndBarriers) {
  const Kernel kernel = MustParse(R"(kernel @gpu class=reduce
  operand %a: f32[3,8]
  result %r: f32[3,8]
{
  for b in 3 block {
    alloc %tile: f32[8] shared
    for t in 8 thread {
      alloc %mine: f32[] register
      %mine[] = %a[b, t]
      %tile[7 - t] = %mine[]
      barrier
      for s in 3 {
        let other: f32 = %tile[(t + 1) % 8]
        barrier
        %tile[t] = %tile[t] + other
        barrier
      }
      %r[b, t] = %tile[t] + %mine[]
    }
  }
})");
  std::vector<float> a(24);
  for (size_t i = 0; i < 24; ++i) a[i] = static_cast<float>(i);
  const std::vector<float> result = RunF32(kernel, {a}, 24);
  for (size_t b = 0; b < 3; ++b) {
    std::array<float, 8> tile;
    for (size_t t = 0; t < 8; ++t) tile[7 - t] = a[b * 8 + t];
    for (int s = 0; s < 3; ++s) {
      const auto before = tile;
      for (size_t t = 0; t < 8; ++t) tile[t] = before[t] + before[(t + 1) % 8];
    }
    for (size_t t = 0; t < 8; ++t) EXPECT_EQ(result[b * 8 + t], tile[t] + a[b * 8 + t]);
  }
}

TEST(LoopsInterpret, DivergentBarrierIsAnError) {
  const Kernel kernel = MustParse(R"(kernel @gpu class=loop
  result %r: f32[4]
{
  for b in 1 block {
    for t in 4 thread {
      if (t < 2) { barrier }
      %r[t] = 1:f32
    }
  }
})");
  const auto result = RunKernel(kernel);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "kernel @gpu: a barrier stands under a condition on which the threads of a block "
            "disagree");
}

TEST(LoopsInterpret, OutOfBoundsIsAnError) {
  const auto result = RunKernel(MustParse(R"(kernel @k class=loop
  operand %a: f32[2,3]
  result %r: f32[4]
{
  for i in 4 { %r[i] = %a[1, i] }
})"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "kernel @k: index 1 of %a is 3, its extent is 3");
}

TEST(LoopsInterpret, UnsupportedOperationIsNamed) {
  const auto result = RunKernel(MustParse(R"(kernel @k class=loop
  result %r: pred[1]
{
  %r[0] = tanh(true)
})"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_EQ(result.error().message, "kernel @k: no operation tanh(true) -> pred on pred");
}

TEST(LoopsInterpret, FreshLocalBuffersAreNotZero) {
  const auto result = RunKernel(MustParse(R"(kernel @k class=loop
  result %r: f32[1]
{
  alloc %t: f32[4] stack
  %r[0] = %t[2]
})"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(std::isnan(As<float>(result->front())[0]));
}

// ---- scalar semantics ----
uint64_t F(float x) {
  return FloatToBits(DType::kF32, static_cast<double>(x));
}
uint64_t S(int64_t x) {
  return static_cast<uint64_t>(x);
}
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(LoopsScalar, IntegerDivisionAndRemainder) {
  const auto divide = BinaryFunction(Op::kDivide, DType::kS32);
  const auto remainder = BinaryFunction(Op::kRemainder, DType::kS32);
  EXPECT_EQ(divide(S(7), S(0), 0), S(-1));
  EXPECT_EQ(divide(S(-7), S(2), 0), S(-3));
  EXPECT_EQ(divide(S(INT32_MIN), S(-1), 0), S(INT32_MIN));
  EXPECT_EQ(remainder(S(7), S(0), 0), S(7));
  EXPECT_EQ(remainder(S(-7), S(2), 0), S(-1));
  EXPECT_EQ(remainder(S(INT32_MIN), S(-1), 0), S(0));
  EXPECT_EQ(BinaryFunction(Op::kDivide, DType::kU8)(7, 0, 0), 255U);
}

TEST(LoopsScalar, IntegersWrapAtTheirWidth) {
  EXPECT_EQ(BinaryFunction(Op::kAdd, DType::kS8)(S(127), S(1), 0), S(-128));
  EXPECT_EQ(BinaryFunction(Op::kAdd, DType::kU8)(255, 2, 0), 1U);
  EXPECT_EQ(BinaryFunction(Op::kMultiply, DType::kS4)(S(7), S(3), 0), S(5));
  EXPECT_EQ(UnaryFunction(Op::kAbs, DType::kS8)(S(-128), 0, 0), S(-128));
  EXPECT_EQ(BinaryFunction(Op::kPower, DType::kS32)(S(3), S(-1), 0), S(0));
  EXPECT_EQ(BinaryFunction(Op::kPower, DType::kS32)(S(3), S(4), 0), S(81));
  EXPECT_EQ(UnaryFunction(Op::kCountLeadingZeros, DType::kU16)(0, 0, 0), 16U);
  EXPECT_EQ(UnaryFunction(Op::kPopulationCount, DType::kS8)(S(-1), 0, 0), 8U);
}

TEST(LoopsScalar, ShiftsByTheWidthOrMore) {
  EXPECT_EQ(BinaryFunction(Op::kShiftLeft, DType::kU32)(1, 32, 0), 0U);
  EXPECT_EQ(BinaryFunction(Op::kShiftLeft, DType::kS32)(S(1), S(-1), 0), 0U);
  EXPECT_EQ(BinaryFunction(Op::kShiftRightArithmetic, DType::kS8)(S(-128), S(100), 0), S(-1));
  EXPECT_EQ(BinaryFunction(Op::kShiftRightArithmetic, DType::kU8)(0x80, 7, 0), 0xffU);
  EXPECT_EQ(BinaryFunction(Op::kShiftRightLogical, DType::kS8)(S(-128), S(7), 0), 1U);
}

TEST(LoopsScalar, FloatToIntegerSaturates) {
  const auto to = [](float x, DType dtype) {
    return ConvertFunction(DType::kF32, dtype)(F(x), 0, 0);
  };
  EXPECT_EQ(to(kNan, DType::kS32), 0U);
  EXPECT_EQ(to(-3.9F, DType::kS32), S(-3));
  EXPECT_EQ(to(1e20F, DType::kS32), S(INT32_MAX));
  EXPECT_EQ(to(-kInf, DType::kS64), S(INT64_MIN));
  EXPECT_EQ(to(300.0F, DType::kU8), 255U);
  EXPECT_EQ(to(-1.0F, DType::kU8), 0U);
  EXPECT_EQ(to(-129.0F, DType::kS8), S(-128));
  EXPECT_EQ(to(0.5F, DType::kPred), 1U);
  EXPECT_EQ(to(kNan, DType::kPred), 1U);
}

TEST(LoopsScalar, IntegerConversionsFollowTheSourceSign) {
  EXPECT_EQ(ConvertFunction(DType::kS8, DType::kU32)(S(-1), 0, 0), 0xffffffffU);
  EXPECT_EQ(ConvertFunction(DType::kU8, DType::kS32)(255, 0, 0), 255U);
  EXPECT_EQ(ConvertFunction(DType::kS64, DType::kF32)(S(16777217), 0, 0), F(16777216.0F));
  EXPECT_EQ(BitcastFunction(DType::kF32, DType::kS32)(F(-0.0F), 0, 0), S(INT32_MIN));
  EXPECT_EQ(BitcastFunction(DType::kS32, DType::kF32)(S(INT32_MIN), 0, 0), F(-0.0F));
}

TEST(LoopsScalar, NanInMaximumAndCompare) {
  const auto maximum = BinaryFunction(Op::kMaximum, DType::kF32);
  EXPECT_EQ(maximum(F(kNan), F(1), 0), F(kNan));
  EXPECT_EQ(maximum(F(1), F(kNan), 0), F(kNan));
  EXPECT_EQ(CompareFunction(Direction::kNe, DType::kF32)(F(kNan), F(kNan), 0), 1U);
  EXPECT_EQ(CompareFunction(Direction::kGe, DType::kF32)(F(kNan), F(1), 0), 0U);
  EXPECT_EQ(CompareFunction(Direction::kLt, DType::kU64)(1, ~0ULL, 0), 1U);
  EXPECT_EQ(CompareFunction(Direction::kLt, DType::kS64)(1, ~0ULL, 0), 0U);
}

TEST(LoopsScalar, FloatEdges) {
  EXPECT_EQ(UnaryFunction(Op::kRsqrt, DType::kF32)(F(-0.0F), 0, 0), F(-kInf));
  EXPECT_EQ(UnaryFunction(Op::kSign, DType::kF32)(F(-0.0F), 0, 0), F(-0.0F));
  EXPECT_EQ(UnaryFunction(Op::kRoundNearestAfz, DType::kF32)(F(2.5F), 0, 0), F(3.0F));
  EXPECT_EQ(UnaryFunction(Op::kRoundNearestEven, DType::kF32)(F(2.5F), 0, 0), F(2.0F));
  EXPECT_EQ(UnaryFunction(Op::kLogistic, DType::kF32)(F(-200.0F), 0, 0), F(0.0F));
  EXPECT_EQ(BinaryFunction(Op::kPower, DType::kF32)(F(1.0F), F(kNan), 0), F(1.0F));
  EXPECT_EQ(BinaryFunction(Op::kAdd, DType::kBF16), nullptr);
  EXPECT_EQ(FmaFunction(DType::kF32)(F(1.0F + 0x1p-23F), F(1.0F - 0x1p-23F), F(-1.0F)),
            F(-0x1p-46F));
}

}  // namespace
}  // namespace fusemark::loops
