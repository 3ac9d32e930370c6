// A bounded run of the engine fuzzer, and proof that it would notice wrong results: the judge tells
// rounding from error, the shrinker keeps a failure and drops what it does not need.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/rewrite.h"
#include "compiler/text/text.h"
#include "tests/fuzz/engine_fuzz.h"
#include "tests/fuzz/judge.h"
#include "tests/fuzz/shrink.h"
#include "tests/fuzz/values.h"

namespace fusemark {
namespace {

constexpr int kShards = 6;
constexpr uint64_t kSeedsPerShard = 50;

class CompareEngines : public ::testing::TestWithParam<int> {};

TEST_P(CompareEngines, AgreeOnRandomModules) {
  const uint64_t first = static_cast<uint64_t>(GetParam()) * kSeedsPerShard;
  int passed = 0, failures = 0;
  CheckSeeds(
      first, first + kSeedsPerShard,
      [&](uint64_t seed, const Verdict& verdict) {
        passed += verdict.kind.empty() ? 1 : 0;
        if (!verdict.failed()) return;
        ++failures;
        ADD_FAILURE() << "seed " << seed << ": " << verdict.kind << ": " << verdict.detail
                      << "\nto shrink it: fusemark_fuzz_engines --seeds " << seed << ":"
                      << seed + 1;
      },
      [&] { return failures < 3; });
  EXPECT_GT(passed, static_cast<int>(kSeedsPerShard / 2)) << "too many modules are unsupported";
}

INSTANTIATE_TEST_SUITE_P(Seeds, CompareEngines, ::testing::Range(0, kShards));

Module MustParse(const std::string& text) {
  auto module = ParseModule(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().message;
  return std::move(*module);
}

Tensor Floats(const std::vector<float>& values) {
  Tensor tensor = MakeTensor(ArrayShape(DType::kF32, {static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}

std::string JudgeFloats(const Module& module, const std::vector<float>& input,
                        const std::vector<float>& got) {
  std::vector<Tensor> inputs, outputs;
  inputs.push_back(Floats(input));
  const auto want = EvaluateTensors(module, inputs);
  EXPECT_TRUE(want.ok());
  outputs.push_back(Floats(got));
  return Judge(module, inputs, *want, outputs);
}

TEST(CheckCaseIsolated, EndlessLoopIsATimeout) {
  const FuzzCase fuzz_case{MustParse(R"(c { p = s32[] parameter(0)
  ROOT t = pred[] constant(true) }
b { ROOT p = s32[] parameter(0) }
ENTRY e { z = s32[] constant(0)
  ROOT w = s32[] while(z), condition=c, body=b })"),
                           {},
                           0};
  EXPECT_EQ(CheckCaseIsolated(fuzz_case, 1).kind, "timeout");
}

TEST(Judge, MovedDataIsExact) {
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  n = f32[2] negate(p)
  ROOT r = f32[2] reverse(n), dimensions={0} })");
  EXPECT_EQ(JudgeFloats(module, {1, 0}, {-0.0F, -1}), "");
  EXPECT_NE(JudgeFloats(module, {1, 0}, {0.0F, -1}), "");
  EXPECT_NE(JudgeFloats(module, {1, 0}, {-0.0F, std::nextafter(-1.0F, 0.0F)}), "");
  EXPECT_EQ(JudgeFloats(module, {NAN, 1}, {-1, -NAN}), "");
}

TEST(Judge, CancellationWidensTheBound) {
  const Module module = MustParse(R"(ENTRY e { p = f32[1] parameter(0)
  c = f32[1] constant({1000})
  a = f32[1] add(p, c)
  ROOT s = f32[1] subtract(a, c) })");
  EXPECT_EQ(JudgeFloats(module, {0.1F}, {0.1001F}), "");
  EXPECT_NE(JudgeFloats(module, {0.1F}, {0.12F}), "");
  EXPECT_NE(JudgeFloats(module, {0.1F}, {NAN}), "");
}

TEST(Judge, WithoutCancellationTheBoundIsTight) {
  const Module module = MustParse(R"(ENTRY e { p = f32[1] parameter(0)
  m = f32[1] multiply(p, p)
  ROOT t = f32[1] tanh(m) })");
  const float right = std::tanh(0.25F);
  EXPECT_EQ(JudgeFloats(module, {0.5F}, {right * (1 + 3e-7F)}), "");
  EXPECT_NE(JudgeFloats(module, {0.5F}, {right * (1 + 2e-5F)}), "");
}

TEST(Judge, DecisionsByRoundingAreExcused) {
  const Module module = MustParse(R"(ENTRY e { p = f32[1] parameter(0)
  three = f32[1] constant({3})
  third = f32[1] divide(p, three)
  m = f32[1] multiply(third, three)
  ROOT f = f32[1] floor(m) })");
  EXPECT_EQ(JudgeFloats(module, {5}, {4}), "");
  EXPECT_NE(JudgeFloats(module, {5.5F}, {4}), "");
}

TEST(Judge, ZerosOfAMaximumMayHaveEitherSign) {
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  z = f32[2] constant({0, 0})
  ROOT m = f32[2] clamp(z, p, p) })");
  EXPECT_EQ(JudgeFloats(module, {-0.0F, 1}, {0.0F, 1}), "");
  EXPECT_EQ(JudgeFloats(module, {-0.0F, 1}, {-0.0F, 1}), "");
  EXPECT_NE(JudgeFloats(module, {-0.0F, 1}, {0.0F, std::nextafter(1.0F, 2.0F)}), "");
  const Module inverse = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  z = f32[2] constant({0, 0})
  m = f32[2] maximum(p, z)
  o = f32[2] constant({1, 1})
  ROOT r = f32[2] divide(o, m) })");
  EXPECT_EQ(JudgeFloats(inverse, {-0.0F, 1}, {INFINITY, 1}), "");
  EXPECT_NE(JudgeFloats(inverse, {0.0F, 1}, {-INFINITY, 1}), "");
}

TEST(Judge, ProductsMayLoseDenormals) {
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  m = f32[2] multiply(p, p)
  s = f32[2] constant({1e30, 1e30})
  ROOT r = f32[2] multiply(m, s) })");
  // 1e-40 is 71362 steps of the denormals: two more are a few units in the 17th bit.
  const float lost = 1e-20F * 1e-20F, kept = lost + 0x1p-148F;
  EXPECT_EQ(JudgeFloats(module, {1e-20F, 1}, {kept * 1e30F, 1e30F}), "");
  EXPECT_NE(JudgeFloats(module, {1e-20F, 1}, {lost * 1.01F * 1e30F, 1e30F}), "");
  EXPECT_NE(JudgeFloats(module, {1e-20F, 1}, {lost * 1e30F, 1.0001e30F}), "");
}

TEST(Judge, SignOfAComplexNumberRounds) {
  const Module module = MustParse(R"(ENTRY e { p = f32[1] parameter(0)
  q = f32[1] constant({3})
  c = c64[1] complex(p, q)
  s = c64[1] sign(c)
  ROOT r = f32[1] real(s) })");
  EXPECT_EQ(JudgeFloats(module, {4}, {std::nextafter(0.8F, 1.0F)}), "");
  EXPECT_NE(JudgeFloats(module, {4}, {0.801F}), "");
}

TEST(Judge, PaddingMayBeZerosThatTapsReach) {
  const auto module = [](const std::string& taps) {
    return MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  a = f32[1,2,1] reshape(p)
  k = f32[2,1,1] constant({{{)" +
                     taps + R"(}}, {{1}}})
  c = f32[1,2,1] convolution(a, k), window={size=2 pad=1_0}, dim_labels=b0f_0io->b0f
  ROOT r = f32[2] reshape(c) })");
  };
  EXPECT_EQ(JudgeFloats(module("inf"), {1, 2}, {1, INFINITY}), "");
  EXPECT_EQ(JudgeFloats(module("inf"), {1, 2}, {NAN, INFINITY}), "");
  EXPECT_NE(JudgeFloats(module("inf"), {1, 2}, {NAN, NAN}), "");
  EXPECT_NE(JudgeFloats(module("2"), {1, 2}, {NAN, 4}), "");
}

// All but f32 and bf16 are convolved by loops of our own, which read no padding.
TEST(Judge, PaddingOfOtherTypesIsNotRead) {
  const auto module = [](const std::string& type) {
    return MustParse("ENTRY e { p = f32[2] parameter(0)\n x = " + type +
                     "[2] convert(p)\n a = " + type + "[1,2,1] reshape(x)\n k = " + type +
                     "[2,1,1] constant({{{inf}}, {{1}}})\n c = " + type +
                     "[1,2,1] convolution(a, k), window={size=2 pad=1_0}, "
                     "dim_labels=b0f_0io->b0f\n w = f32[1,2,1] convert(c)\n"
                     "ROOT r = f32[2] reshape(w) }");
  };
  EXPECT_EQ(JudgeFloats(module("bf16"), {1, 2}, {NAN, INFINITY}), "");
  EXPECT_NE(JudgeFloats(module("bf16"), {1, 2}, {2, INFINITY}), "");
  EXPECT_NE(JudgeFloats(module("f16"), {1, 2}, {NAN, INFINITY}), "");
  EXPECT_NE(JudgeFloats(module("f64"), {1, 2}, {NAN, INFINITY}), "");
}

TEST(Judge, OnePartOfAComplexNumberMayBeNaN) {
  const Module module = MustParse(R"(ENTRY e { p = c64[1] parameter(0)
  i = f32[1] imag(p)
  r = f32[1] real(p)
  s = f32[1] sqrt(r)
  ROOT c = c64[1] complex(s, i) })");
  const auto pair = [](float re, float im) {
    std::vector<Tensor> tensors;
    tensors.push_back(MakeTensor(ArrayShape(DType::kC64, {1})));
    tensors[0].as<float>()[0] = re;
    tensors[0].as<float>()[1] = im;
    return tensors;
  };
  const std::vector<Tensor> input = pair(2, NAN);
  const auto want = EvaluateTensors(module, input);
  ASSERT_TRUE(want.ok());
  const auto verdict = [&](float root) { return Judge(module, input, *want, pair(root, NAN)); };
  EXPECT_EQ(verdict(std::nextafter(std::sqrt(2.0F), 2.0F)), "");
  EXPECT_NE(verdict(1.42F), "");
}

TEST(Judge, AnyOrderOfAReductionIsRight) {
  const Module module = MustParse(R"(mul { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] multiply(a, b) }
ENTRY e { p = f32[3] parameter(0)
  one = f32[] constant(1)
  m = f32[] reduce(p, one), dimensions={0}, to_apply=mul
  ROOT r = f32[1] reshape(m) })");
  // The product underflows before it meets the infinity, or is infinite from the start.
  EXPECT_EQ(JudgeFloats(module, {1e-30F, 1e-30F, INFINITY}, {INFINITY}), "");
  EXPECT_NE(JudgeFloats(module, {1e-30F, 1e-30F, INFINITY}, {-INFINITY}), "");
  EXPECT_NE(JudgeFloats(module, {1e-30F, 1e-30F, INFINITY}, {0}), "");
  EXPECT_NE(JudgeFloats(module, {1, 2, INFINITY}, {NAN}), "");
}

TEST(Judge, ReductionsOfPairsMaySeeOverflowUnrounded) {
  const Module module = MustParse(R"(
find { a = f16[] parameter(0)
  i = s32[] parameter(1)
  b = f16[] parameter(2)
  j = s32[] parameter(3)
  same = pred[] compare(a, b), direction=EQ
  k = s32[] select(same, i, j)
  ROOT r = (f16[], s32[]) tuple(b, k) }
ENTRY e { p = f32[4] parameter(0)
  h = f16[4] convert(p)
  m = f16[4] multiply(h, h)
  x = f16[2,2] reshape(m)
  iota = s32[2,2] iota(), iota_dimension=1
  none = f16[] constant(-inf)
  zero = s32[] constant(0)
  f = (f16[2], s32[2]) reduce(x, iota, none, zero), dimensions={1}, to_apply=find
  k = s32[2] get-tuple-element(f), index=1
  ROOT w = f32[2] convert(k) })");
  // 65504 squared is infinite in f16 only; 3 is not 5 anywhere.
  EXPECT_EQ(JudgeFloats(module, {65504, INFINITY, 3, 5}, {1, 1}), "");
  EXPECT_EQ(JudgeFloats(module, {65504, INFINITY, 3, 5}, {0, 1}), "");
  EXPECT_NE(JudgeFloats(module, {65504, INFINITY, 3, 5}, {1, 0}), "");
  EXPECT_NE(JudgeFloats(module, {INFINITY, INFINITY, 3, 5}, {1, 1}), "");
}

TEST(Judge, TransformsMayCancelToZero) {
  const Module module = MustParse(R"(ENTRY e { p = f32[3] parameter(0)
  x = f32[2,3] broadcast(p), dimensions={1}
  f = c64[2,2] fft(x), fft_type=RFFT, fft_length={3}
  re = f32[2,2] real(f)
  q = f32[2,2] divide(re, re)
  ROOT r = f32[4] reshape(q) })");
  const std::vector<float> same = {2.1F, 2.1F, 2.1F}, other = {2.1F, 2.1F, 2};
  EXPECT_EQ(JudgeFloats(module, same, {1, NAN, 1, NAN}), "");
  EXPECT_NE(JudgeFloats(module, same, {NAN, NAN, 1, NAN}), "");
  EXPECT_NE(JudgeFloats(module, same, {1, INFINITY, 1, NAN}), "");
  EXPECT_NE(JudgeFloats(module, other, {1, NAN, 1, 1}), "");
}

TEST(Judge, WindowsMayBeReducedBackwards) {
  const Module module = MustParse(R"(
second { a = f32[] parameter(0)
  ROOT b = f32[] parameter(1) }
ENTRY e { p = f32[4] parameter(0)
  init = f32[] constant(9)
  ROOT w = f32[4] reduce-window(p, init), window={size=3 pad=0_2}, to_apply=second })");
  EXPECT_EQ(JudgeFloats(module, {1, 2, 3, 4}, {3, 4, 4, 4}), "");
  EXPECT_EQ(JudgeFloats(module, {1, 2, 3, 4}, {1, 2, 3, 4}), "");
  EXPECT_NE(JudgeFloats(module, {1, 2, 3, 4}, {3, 4, 4, 9}), "");
  EXPECT_NE(JudgeFloats(module, {1, 20, 3, 4}, {50, 20, 3, 4}), "");
  EXPECT_NE(JudgeFloats(module, {1, 2, 3, 4}, {NAN, 2, 3, 4}), "");
}

TEST(Judge, ProductsNeedNotRecoverInfinities) {
  const Module module = MustParse(R"(
mul { a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT m = c64[] multiply(a, b) }
ENTRY e { p = f32[2] parameter(0)
  i = f32[2] constant({inf, 2})
  c = c64[2] complex(p, i)
  one = c64[] constant((1, 0))
  w = c64[2] reduce-window(c, one), window={size=1}, to_apply=mul
  ROOT r = f32[2] imag(w) })");
  EXPECT_EQ(JudgeFloats(module, {NAN, 1}, {INFINITY, 2}), "");
  EXPECT_EQ(JudgeFloats(module, {NAN, 1}, {NAN, 2}), "");
  EXPECT_NE(JudgeFloats(module, {NAN, 1}, {0, 2}), "");
  EXPECT_NE(JudgeFloats(module, {NAN, 1}, {NAN, NAN}), "");
}

TEST(Judge, QuotientsAndPowersNeedNotRecoverInfinities) {
  const auto module = [](const std::string& op) {
    return MustParse(
        "ENTRY e { p = f32[2] parameter(0)\n i = f32[2] constant({nan, 1})\n"
        "x = c64[2] complex(p, i)\n y = c64[2] constant({(3, -4), (2, 0)})\n"
        "w = c64[2] " +
        op + "(x, y)\n ROOT r = f32[2] real(w) }");
  };
  EXPECT_EQ(JudgeFloats(module("divide"), {-INFINITY, 3}, {-INFINITY, 1.5}), "");
  EXPECT_EQ(JudgeFloats(module("divide"), {-INFINITY, 3}, {NAN, 1.5}), "");
  EXPECT_NE(JudgeFloats(module("divide"), {-INFINITY, 3}, {INFINITY, 1.5}), "");
  EXPECT_NE(JudgeFloats(module("divide"), {-INFINITY, 3}, {0, 1.5}), "");
  EXPECT_NE(JudgeFloats(module("divide"), {-INFINITY, INFINITY}, {NAN, NAN}), "");
  EXPECT_EQ(JudgeFloats(module("power"), {-INFINITY, 3}, {NAN, 8}), "");
  EXPECT_NE(JudgeFloats(module("power"), {-INFINITY, 3}, {NAN, NAN}), "");
}

TEST(Judge, OnlyOverflowOfNarrowFloatsMayBeLeftOut) {
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  h = f16[2] convert(p)
  m = f16[2] add(h, h)
  ROOT w = f32[2] convert(m) })");
  EXPECT_EQ(JudgeFloats(module, {65504, 1}, {131008, 2}), "");
  EXPECT_EQ(JudgeFloats(module, {65504, 1}, {INFINITY, 2}), "");
  EXPECT_NE(JudgeFloats(module, {65504, 1}, {140000, 2}), "");
  EXPECT_NE(JudgeFloats(module, {65504, 1}, {-INFINITY, 2}), "");
  EXPECT_NE(JudgeFloats(module, {65504, 1}, {NAN, 2}), "");
  EXPECT_NE(JudgeFloats(module, {30000, 1}, {INFINITY, 2}), "");
  const Module f32 = MustParse(R"(ENTRY e { p = f32[1] parameter(0)
  m = f32[1] add(p, p)
  h = f32[1] constant({0.25})
  ROOT w = f32[1] multiply(m, h) })");
  EXPECT_NE(JudgeFloats(f32, {3e38F}, {1.5e38F}), "");
}

TEST(Judge, OnlyUnderflowOfNarrowFloatsMayBeLeftOut) {
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  h = f16[2] convert(p)
  m = f16[2] multiply(h, h)
  ROOT w = f32[2] convert(m) })");
  EXPECT_EQ(JudgeFloats(module, {0x1p-20F, 1}, {0x1p-40F, 1}), "");
  EXPECT_EQ(JudgeFloats(module, {0x1p-20F, 1}, {0, 1}), "");
  EXPECT_NE(JudgeFloats(module, {0x1p-20F, 1}, {0x1p-20F, 1}), "");
  EXPECT_NE(JudgeFloats(module, {0x1p-20F, 1}, {0x1p-40F, 0}), "");
}

TEST(Judge, BatchNormMayLeaveTheRangeInside) {
  // 1e-40 * 1e-18 is nothing, and yet 1e28 times as much is more.
  const Module module = MustParse(R"(ENTRY e { p = f32[2] parameter(0)
  x = f32[1,2] reshape(p)
  scale = f32[2] constant({1e-38, 2})
  offset = f32[2] constant({0, 0})
  mean = f32[2] constant({0, 1})
  variance = f32[2] constant({1e36, 4})
  n = f32[1,2] batch-norm-inference(x, scale, offset, mean, variance), epsilon=0, feature_index=1
  ROOT r = f32[2] reshape(n) })");
  EXPECT_EQ(JudgeFloats(module, {1e28F, 3}, {1e-28F, 2}), "");
  EXPECT_EQ(JudgeFloats(module, {1e28F, 3}, {0, 2}), "");
  EXPECT_NE(JudgeFloats(module, {1e28F, 3}, {-1e-26F, 2}), "");
  EXPECT_NE(JudgeFloats(module, {1e28F, 3}, {NAN, 2}), "");
  EXPECT_NE(JudgeFloats(module, {1e28F, 3}, {1e-28F, 0}), "");
  EXPECT_NE(JudgeFloats(module, {1e28F, 3}, {1e-28F, 2.0001F}), "");
}

// Else whatever they give would be excused.
TEST(Judge, StepsOfBatchNormGiveWhatItMeans) {
  const Module module = MustParse(R"(ENTRY e { x = f64[3,2,4] parameter(0)
  g = f64[3,2,4] parameter(1)
  scale = f64[2] constant({0.5, -3})
  offset = f64[2] constant({-1, 7})
  mean = f64[2] constant({0.25, 1})
  variance = f64[2] constant({2, 0.75})
  t = (f64[3,2,4], f64[2], f64[2]) batch-norm-training(x, scale, offset), epsilon=0.5, feature_index=1
  i = f64[3,2,4] batch-norm-inference(x, scale, offset, mean, variance), epsilon=0.5, feature_index=1
  d = (f64[3,2,4], f64[2], f64[2]) batch-norm-grad(x, scale, mean, variance, g), epsilon=0.5, feature_index=1
  ROOT r = tuple(t, i, d) })");
  const std::vector<Tensor> inputs = RandomInputs(module, ValueKind::kPlain, 1);
  const auto want = EvaluateTensors(module, inputs);
  ASSERT_TRUE(want.ok());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto got = EvaluateTensors(Perturbed(module, seed), inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (size_t leaf = 0; leaf < want->size(); ++leaf)
      for (int64_t i = 0; i < ElementCount((*want)[leaf].shape); ++i)
        EXPECT_NEAR((*got)[leaf].as<double>()[i], (*want)[leaf].as<double>()[i], 1e-12);
  }
}

TEST(Judge, TransformsOfInfinitiesAreNotFinite) {
  const Module module = MustParse(R"(ENTRY e { p = f32[8] parameter(0)
  x = f32[2,4] reshape(p)
  f = c64[2,3] fft(x), fft_type=RFFT, fft_length={4}
  re = f32[2,3] real(f)
  ROOT r = f32[6] reshape(re) })");
  const float i = INFINITY;
  const std::vector<float> input = {1, 2, i, 3, 1, 2, 3, 4};
  EXPECT_EQ(JudgeFloats(module, input, {i, NAN, i, 10, -2, -2}), "");
  EXPECT_EQ(JudgeFloats(module, input, {NAN, -i, NAN, 10, -2, -2}), "");
  EXPECT_NE(JudgeFloats(module, input, {i, 5, i, 10, -2, -2}), "");
  EXPECT_NE(JudgeFloats(module, input, {i, NAN, i, NAN, -2, -2}), "");
  EXPECT_NE(JudgeFloats(module, input, {i, NAN, i, 10, -2.001F, -2}), "");
}

// What depends on the sign of a NaN is decided beside all other values as they are: moved by a part
// of its size, 1e18 i makes anything of -1.5.
TEST(Judge, SomeRunsOnlyChoose) {
  const Module module = MustParse(R"(
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER }
ENTRY e { p = f32[48] parameter(0)
  re = f32[16,3] reshape(p)
  three = f32[3] constant({-3.375, 1e18, 0})
  im = f32[16,3] broadcast(three), dimensions={1}
  c = c64[16,3] complex(re, im)
  e = c64[16,3] exponential(c)
  r = f32[16,3] real(e)
  s = f32[16,3] sort(r), dimensions={1}, to_apply=less
  ROOT f = f32[48] reshape(s) })");
  const auto low = static_cast<float>(std::exp(-3.875) * std::cos(-3.375));
  const auto high = static_cast<float>(std::exp(-1.5) * std::cos(static_cast<double>(1e18F)));
  std::vector<float> input, last, first, wrong;
  for (int i = 0; i < 16; ++i) {
    input.insert(input.end(), {-3.875, -1.5, NAN});
    last.insert(last.end(), {low, high, NAN});
    first.insert(first.end(), {-NAN, low, high});
    wrong.insert(wrong.end(), {-NAN, low, 100});
  }
  EXPECT_EQ(JudgeFloats(module, input, last), "");
  EXPECT_EQ(JudgeFloats(module, input, first), "");
  EXPECT_NE(JudgeFloats(module, input, wrong), "");
}

// An operand that was never rounded moves by its parts' own sizes: 1e18 i says nothing about the
// modulus, exp(-1.5).
TEST(Judge, OnePartOfAComplexOperandLeavesTheOtherAlone) {
  const Module module = MustParse(R"(ENTRY e { re = f32[1] parameter(0)
  im = f32[1] constant({1e18})
  c = c64[1] complex(re, im)
  e = c64[1] exponential(c)
  ROOT a = f32[1] abs(e) })");
  const auto modulus = static_cast<float>(std::exp(-1.5));
  EXPECT_EQ(JudgeFloats(module, {-1.5}, {modulus * (1 + 3e-7F)}), "");
  EXPECT_NE(JudgeFloats(module, {-1.5}, {modulus * 1.001F}), "");
  EXPECT_NE(JudgeFloats(module, {-1.5}, {INFINITY}), "");
  EXPECT_NE(JudgeFloats(module, {-1.5}, {0}), "");
}

TEST(Judge, SumsOfComplexNumbersRoundByParts) {
  const Module module = MustParse(R"(ENTRY e { re = f32[1] parameter(0)
  im = f32[1] constant({1e18})
  c = c64[1] complex(re, im)
  s = c64[1] add(c, c)
  r = f32[1] real(s)
  ROOT a = f32[1] floor(r) })");
  EXPECT_EQ(JudgeFloats(module, {1.5}, {3}), "");
  EXPECT_EQ(JudgeFloats(module, {1.5}, {2}), "");
  EXPECT_NE(JudgeFloats(module, {1.5}, {100}), "");
}

// Sign, exponent and lowest bit of the elements, as numbers.
const char kBitsOf[] = R"(
  bits = u32[2] bitcast-convert(x)
  sign = u32[2] shift-right-logical(bits, n31)
  middle = u32[2] shift-right-logical(bits, n23)
  exponent = u32[2] and(middle, n255)
  low = u32[2] and(bits, n1)
  all = u32[6] concatenate(sign, exponent, low), dimensions={0}
  ROOT r = f32[6] convert(all) })";
const char kBitNumbers[] = R"(
  n31 = u32[2] constant({31, 31})
  n23 = u32[2] constant({23, 23})
  n255 = u32[2] constant({255, 255})
  n1 = u32[2] constant({1, 1}))";

TEST(Judge, BitsOfNaNsThatWereComputedAreOpen) {
  const Module module = MustParse(std::string("ENTRY e { p = f32[2] parameter(0)") + kBitNumbers +
                                  "\n x = f32[2] sqrt(p)" + kBitsOf);
  const std::vector<float> input = {-1, 2};
  const auto verdict = [&](float sign, float exponent, float low, float other_exponent) {
    return JudgeFloats(module, input, {sign, 0, exponent, other_exponent, low, 1});
  };
  EXPECT_EQ(verdict(0, 255, 0, 127), "");
  EXPECT_EQ(verdict(1, 255, 0, 127), "");
  EXPECT_EQ(verdict(0, 255, 1, 127), "");
  EXPECT_NE(verdict(0, 254, 0, 127), "");
  EXPECT_NE(verdict(0, 255, 0, 128), "");
  EXPECT_NE(JudgeFloats(module, input, {0, 1, 255, 127, 0, 1}), "");
}

TEST(Judge, BitsOfNaNsInTuplesAreOpen) {
  const Module module = MustParse(std::string("ENTRY e { p = f32[2] parameter(0)") + kBitNumbers +
                                  R"(
  none = f32[0,2] broadcast(p), dimensions={1}
  n = (f32[0,2], f32[2], f32[2]) batch-norm-training(none, p, p), epsilon=0, feature_index=1
  x = f32[2] get-tuple-element(n), index=1)" +
                                  kBitsOf);
  EXPECT_EQ(JudgeFloats(module, {1, 2}, {0, 0, 255, 255, 0, 0}), "");
  EXPECT_EQ(JudgeFloats(module, {1, 2}, {1, 1, 255, 255, 0, 0}), "");
  EXPECT_NE(JudgeFloats(module, {1, 2}, {0, 0, 255, 254, 0, 0}), "");
}

TEST(Judge, BitsOfNaNsThatWereMovedAreExact) {
  const Module module = MustParse(std::string("ENTRY e { p = f32[2] parameter(0)") + kBitNumbers +
                                  "\n x = f32[2] negate(p)" + kBitsOf);
  EXPECT_EQ(JudgeFloats(module, {NAN, -2}, {1, 0, 255, 128, 0, 0}), "");
  EXPECT_NE(JudgeFloats(module, {NAN, -2}, {0, 0, 255, 128, 0, 0}), "");
  EXPECT_NE(JudgeFloats(module, {NAN, -2}, {1, 0, 255, 128, 1, 0}), "");
}

bool HasReduce(const FuzzCase& fuzz_case) {
  for (const Computation& computation : fuzz_case.module.computations)
    for (const Instr& instr : computation.instrs)
      if (instr.op == Op::kReduce) return true;
  return false;
}

TEST(Shrink, KeepsTheFailureAndDropsTheRest) {
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    FuzzCase fuzz_case = CaseOfSeed(seed);
    if (!HasReduce(fuzz_case)) continue;
    // Only what the results need counts, as in a run.
    RewriteModule(fuzz_case.module,
                  [](Builder& builder, Instr&& instr) { return builder.Keep(std::move(instr)); });
    if (!HasReduce(fuzz_case)) continue;
    const FuzzCase small = Shrink(std::move(fuzz_case), HasReduce);
    EXPECT_TRUE(HasReduce(small));
    size_t instrs = 0;
    for (const Computation& computation : small.module.computations)
      instrs += computation.instrs.size();
    EXPECT_LE(instrs, 64U) << PrintModule(small.module);
    const auto parsed = ParseModule(CaseText(small, {}, seed), "shrunk");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    ++shrunk;
  }
  EXPECT_GT(shrunk, 3);
}

}  // namespace
}  // namespace fusemark
