// Where arithmetic meets the ends of its types: what the reference gives is written out, and off
// and on must give the same.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/arg_max.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

Module MustParse(const std::string& text) {
  auto module = ParseModule(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().message << "\n" << text;
  return std::move(*module);
}

template <class T>
std::vector<T> ReferenceOf(const Module& module) {
  const auto results = Evaluate(module, {});
  EXPECT_TRUE(results.ok()) << results.error().message;
  const Tensor& first = results->front();
  return {first.as<T>(), first.as<T>() + ElementCount(first.shape)};
}

// Two rows of `left` by one column of `right`, which a barrier keeps from being folded.
template <class T>
void ConvolutionGives(const std::string& type, const std::string& left, const std::string& right,
                      const std::vector<T>& want) {
  const std::string rows = type + "[2,3]", column = type + "[3,1]";
  const Module module = MustParse(
      "ENTRY e {\n a = " + rows + " constant(" + left + ")\n b = " + column + " constant(" + right +
      ")\n t = (" + rows + ", " + column + ") tuple(a, b)\n o = (" + rows + ", " + column +
      ") opt-barrier(t)\n x = " + rows + " get-tuple-element(o), index=0\n y = " + column +
      " get-tuple-element(o), index=1\n ROOT r = " + type +
      "[2,1] convolution(x, y), dim_labels=bf_io->bf\n}");
  EXPECT_EQ(ReferenceOf<T>(module), want) << type;
  EXPECT_EQ(EnginesDisagree(module, {}), "") << type;
}

TEST(SpecialValues, ConvolutionsSaturateExactSums) {
  ConvolutionGives<uint32_t>("u32", "{{4294967295, 4294967295, 4294967295}, {1, 2, 0}}",
                             "{{4294967295}, {4294967295}, {4294967295}}",
                             {UINT32_MAX, UINT32_MAX});
  ConvolutionGives<uint32_t>("u32", "{{65535, 65537, 0}, {65536, 65535, 65535}}",
                             "{{65535}, {1}, {1}}", {4294901762U, UINT32_MAX});
  // Sums that leave 64 bits on the way to a result that every type holds.
  ConvolutionGives<int32_t>(
      "s32", "{{-2147483648, -2147483648, -2147483648}, {-2147483648, 2147483647, 7}}",
      "{{-2147483648}, {-2147483648}, {-2147483648}}", {INT32_MAX, INT32_MIN});
  ConvolutionGives<int32_t>("s32",
                            "{{2147483647, 2147483647, 2147483647}, {-2147483648, -2147483648, 1}}",
                            "{{-2147483648}, {2147483647}, {-5}}", {INT32_MIN, 2147483643});
  ConvolutionGives<uint8_t>("u8", "{{255, 255, 255}, {16, 0, 0}}", "{{15}, {1}, {1}}", {255, 240});
  ConvolutionGives<int8_t>("s8", "{{127, 127, 127}, {-128, 1, 1}}", "{{-128}, {1}, {1}}",
                           {-128, 127});
  // No wider type holds these.
  ConvolutionGives<uint64_t>("u64", "{{18446744073709551615, 1, 1}, {9223372036854775808, 1, 0}}",
                             "{{1}, {1}, {1}}", {1, 9223372036854775809U});
}

TEST(SpecialValues, DotsWrap) {
  const Module module = MustParse(R"(ENTRY e {
  a = u32[2] constant({3848297472, 3848297473})
  o = u32[2] opt-barrier(a)
  ROOT r = u32[] dot(o, o), lhs_contracting_dims={0}, rhs_contracting_dims={0} })");
  EXPECT_EQ(ReferenceOf<uint32_t>(module), std::vector<uint32_t>{216053761U});
  EXPECT_EQ(EnginesDisagree(module, {}), "");
}

// The first NaN, or else the first of the greatest, wherever the rows are cut into lanes.
TEST(SpecialValues, ArgMaxTakesTheFirst) {
  const std::vector<std::map<size_t, std::string>> rows = {{},
                                                           {{299, "2"}},
                                                           {{17, "2"}, {16, "2"}},
                                                           {{3, "nan"}, {0, "inf"}},
                                                           {{200, "nan"}, {199, "nan"}},
                                                           {{298, "nan"}, {5, "nan"}},
                                                           {{64, "2"}, {128, "2"}},
                                                           {{1, "-inf"}}};
  const std::vector<int32_t> want = {0, 299, 16, 3, 199, 5, 64, 0};
  std::string literal;
  for (const auto& row : rows) {
    literal += literal.empty() ? "{" : ", {";
    for (size_t i = 0; i < 300; ++i)
      literal += (i > 0 ? ", " : "") + (row.contains(i) ? row.at(i) : "1");
    literal += "}";
  }
  const Module module = MustParse(std::string(kArgMax) + R"(
ENTRY e {
  c = f32[8,300] constant({)" + literal +
                                  R"(})
  x = f32[8,300] opt-barrier(c)
  i = s32[8,300] iota(), iota_dimension=1
  lo = f32[] constant(-inf)
  z = s32[] constant(0)
  r = (f32[8], s32[8]) reduce(x, i, lo, z), dimensions={1}, to_apply=argmax
  ROOT k = s32[8] get-tuple-element(r), index=1
})");
  EXPECT_EQ(ReferenceOf<int32_t>(module), want);
  EXPECT_EQ(EnginesDisagree(module, {}), "");
}

class ComplexFunction : public ::testing::TestWithParam<const char*> {};

// NaN, infinities, zeros of both signs and plain numbers in both parts: as C99, Annex G, which is
// what std::complex gives the reference.
TEST_P(ComplexFunction, HasTheSpecialValuesOfC99) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double parts[] = {std::nan(""), kInfinity, -kInfinity, 0.0, -0.0, 1.0, -2.0};
  constexpr int64_t kSide = std::size(parts), kCount = kSide * kSide;
  const std::string op = GetParam(), type = op == "abs" ? "f64" : "c128";
  const Module module = MustParse("ENTRY e {\n z = c128[49] parameter(0)\n ROOT r = " + type +
                                  "[49] " + op + "(z)\n}");
  std::vector<Tensor> inputs;
  inputs.push_back(MakeTensor(ArrayShape(DType::kC128, {kCount})));
  for (int64_t i = 0; i < kCount; ++i)
    inputs[0].as<std::complex<double>>()[i] = {parts[i / kSide], parts[i % kSide]};
  const Tensor* pointer = inputs.data();
  const auto want = Evaluate(module, {&pointer, 1});
  ASSERT_TRUE(want.ok());
  const int64_t width = op == "abs" ? 1 : 2;
  for (const Engine engine : {Engine::kOff, Engine::kOn}) {
    const auto got = CompileAndRun(module, OptionsOf(engine), inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (int64_t i = 0; i < kCount * width; ++i) {
      const double w = (*want)[0].as<double>()[i], g = (*got)[0].as<double>()[i];
      const bool close = w == g || std::fabs(w - g) <= 1e-14 * std::fabs(w);
      EXPECT_TRUE(close || (std::isnan(w) && std::isnan(g)))
          << op << " of " << inputs[0].as<std::complex<double>>()[i / width] << ", part "
          << i % width << ": got " << g << ", want " << w;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SpecialValues, ComplexFunction,
                         ::testing::Values("abs", "log", "log-plus-one", "sqrt", "exponential",
                                           "exponential-minus-one", "tanh", "tan", "sine",
                                           "cosine"));

}  // namespace
}  // namespace fusemark
