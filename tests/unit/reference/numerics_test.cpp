// Linear algebra, Fourier transforms, random numbers and scans in the reference interpreter,
// against values worked out by hand and the published vectors of the bit generators.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <vector>

#include "tests/unit/reference/eval_text.h"

namespace fusemark::testing {
namespace {

std::vector<double> Numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

// The bits that `algorithm` makes of a state.
std::string Bits(const std::string& algorithm, const std::string& state, const std::string& bits) {
  const std::string size = std::to_string(std::count(state.begin(), state.end(), ',') + 1);
  return Eval("s = u64[" + size + "] constant({" + state + "})\nr = (u64[" + size + "], " + bits +
              ") rng-bit-generator(s), algorithm=" + algorithm + "\nROOT b = " + bits +
              " get-tuple-element(r), index=1");
}
std::string NextState(const std::string& algorithm, const std::string& state,
                      const std::string& bits) {
  const std::string size = std::to_string(std::count(state.begin(), state.end(), ',') + 1);
  return Eval("s = u64[" + size + "] constant({" + state + "})\nr = (u64[" + size + "], " + bits +
              ") rng-bit-generator(s), algorithm=" + algorithm + "\nROOT b = u64[" + size +
              "] get-tuple-element(r), index=0");
}

constexpr char kOnes[] = "18446744073709551615";  // 2^64 - 1

TEST(RngBitGenerator, PublishedThreeFryVectors) {
  const std::string three_fry = "rng_three_fry", ones = kOnes;
  EXPECT_EQ(Bits(three_fry, "0, 0", "u64[]"), "11077253088097075545");  // 99ba4efe 6b200159
  EXPECT_EQ(Bits(three_fry, ones + ", " + ones, "u64[]"), "13474818356711888636");
  EXPECT_EQ(Bits(three_fry, "247824715720788526, 9629550131187509896", "u64[]"),
            "5205589014174907036");  // 483df7a0 c4923a9c
}

TEST(RngBitGenerator, PublishedPhiloxVectors) {
  const std::string philox = "rng_philox", ones = kOnes;
  EXPECT_EQ(Bits(philox, "0, 0, 0", "u32[4]"), "1713891541 3781805453 3159862348 2600524760");
  EXPECT_EQ(Bits(philox, ones + ", " + ones + ", " + ones, "u32[4]"),
            "1083123565 1103641358 2718681030 1834242557");
  const std::string digits_of_pi = "2999170649027065890, 9629550131187509896, 247824715720788526";
  const std::string expected = "3513581065 2499661035 1342301216 605187745";
  EXPECT_EQ(Bits(philox, digits_of_pi, "u32[4]"), expected);
  EXPECT_EQ(Bits("rng_default", digits_of_pi, "u32[4]"), expected);
  EXPECT_EQ(Bits(philox, digits_of_pi, "u32[2,2]"), expected);
  EXPECT_EQ(Bits(philox, digits_of_pi, "u16[3]"), "65033 52459 58400");  // low halves
}

TEST(RngBitGenerator, CountersAdvanceByBlocks) {
  const std::string ones = kOnes;
  EXPECT_EQ(NextState("rng_three_fry", "7, 10", "u32[5]"), "7 13");
  EXPECT_EQ(NextState("rng_three_fry", "7, 10", "u32[3,5]"), "7 19");  // 3 * 3 pairs along dim 1
  EXPECT_EQ(NextState("rng_three_fry", "7, 10", "u64[5]"), "7 15");
  EXPECT_EQ(NextState("rng_three_fry", "7, " + ones, "u64[2]"), "7 1");
  EXPECT_EQ(NextState("rng_three_fry", "7, 10", "u32[0]"), "7 10");
  EXPECT_EQ(NextState("rng_philox", "7, " + ones + ", 3", "u32[5]"), "7 1 4");
  EXPECT_EQ(NextState("rng_philox", "7, 10, 3", "u64[5]"), "7 13 3");
  EXPECT_EQ(NextState("rng_philox", "7, 10", "u8[9]"), "7 13");
}

TEST(RngBitGenerator, AShortPhiloxStateIsTheCounterBackwards) {
  EXPECT_EQ(Bits("rng_philox", "7, 10", "u32[9]"), Bits("rng_philox", "7, 10, 7", "u32[9]"));
}

TEST(RngBitGenerator, ThreeFryPairsWordsAlongOneDimension) {
  // Block c gives words w0 (even positions) and w1 (odd positions).
  const auto words = [](int counter) {
    const std::string bits = Bits("rng_three_fry", "5, " + std::to_string(counter), "u32[2]");
    return std::pair(bits.substr(0, bits.find(' ')), bits.substr(bits.find(' ') + 1));
  };
  const auto [a0, a1] = words(3);
  const auto [b0, b1] = words(4);
  EXPECT_EQ(Bits("rng_three_fry", "5, 3", "u32[2,2]"), a0 + " " + b0 + " " + a1 + " " + b1);
  EXPECT_EQ(Bits("rng_three_fry", "5, 3", "u32[3]"), a0 + " " + a1 + " " + b0);
  EXPECT_EQ(Bits("rng_three_fry", "5, 3", "u32[]"), a0);
}

TEST(Rng, StaysInItsRangeAndHasItsMoments) {
  const auto draw = [](const std::string& type, const std::string& kind, const std::string& a,
                       const std::string& b) {
    return Numbers(Eval("a = " + type + "[] constant(" + a + ")\nb = " + type + "[] constant(" + b +
                        ")\nROOT r = " + type + "[4000] rng(a, b), distribution=" + kind));
  };
  const auto moments = [](const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::pair(mean, std::sqrt(squares / static_cast<double>(values.size())));
  };
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    const std::vector<double> uniform = draw(type, "rng_uniform", "-1", "3");
    ASSERT_EQ(uniform.size(), 4000u);
    for (const double value : uniform) EXPECT_TRUE(value >= -1 && value < 3) << type << value;
    EXPECT_NEAR(moments(uniform).first, 1, 0.06) << type;
    EXPECT_NEAR(moments(uniform).second, 4 / std::sqrt(12.0), 0.04) << type;
    const std::vector<double> normal = draw(type, "rng_normal", "2", "0.5");
    EXPECT_NEAR(moments(normal).first, 2, 0.03) << type;
    EXPECT_NEAR(moments(normal).second, 0.5, 0.02) << type;
  }
  bool seen[6] = {};
  for (const double value : draw("s32", "rng_uniform", "-2", "4")) {
    ASSERT_TRUE(value >= -2 && value < 4);
    seen[static_cast<int>(value) + 2] = true;
  }
  for (const bool value : seen) EXPECT_TRUE(value);
}

TEST(Rng, SmallTypesStayInTheirRange) {
  const auto draw = [](const std::string& type, const std::string& a, const std::string& b) {
    return Numbers(Eval("a = " + type + "[] constant(" + a + ")\nb = " + type + "[] constant(" + b +
                        ")\nROOT r = " + type + "[400] rng(a, b), distribution=rng_uniform"));
  };
  const auto expect_all = [&](const std::string& type, int low, int high) {
    std::map<double, int> seen;
    for (const double value : draw(type, std::to_string(low), std::to_string(high))) ++seen[value];
    EXPECT_EQ(seen.size(), static_cast<size_t>(high - low)) << type;
    for (const auto& [value, count] : seen) {
      EXPECT_TRUE(value >= low && value < high && value == std::floor(value)) << type << value;
      EXPECT_NEAR(count * (high - low), 400, 200) << type << value;
    }
  };
  expect_all("s2", -2, 1);
  expect_all("s4", -7, 3);
  expect_all("u2", 0, 3);
  expect_all("u4", 5, 15);
  expect_all("s8", -100, -92);
  expect_all("u8", 250, 255);
  // Half-open: false alone.
  for (const double value : draw("pred", "0", "1")) EXPECT_EQ(value, 0);
  for (const double value : draw("pred", "1", "1")) EXPECT_EQ(value, 1);
  for (const char* type : {"f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e3m4", "f4e2m1fn"}) {
    double sum = 0;
    for (const double value : draw(type, "-1", "1")) {
      ASSERT_TRUE(value >= -1 && value < 1) << type << value;
      sum += value;
    }
    EXPECT_NEAR(sum / 400, 0, 0.5) << type;
  }
}

TEST(Rng, IsAFunctionOfItsInstruction) {
  const std::string draws =
      "a = f32[] constant(0)\nb = f32[] constant(1)\n"
      "r = f32[3] rng(a, b), distribution=rng_uniform\n"
      "s = f32[3] rng(a, b), distribution=rng_uniform\n";
  EXPECT_EQ(Eval(draws + "ROOT t = f32[3] copy(r)"), Eval(draws + "ROOT t = f32[3] copy(r)"));
  EXPECT_NE(Eval(draws + "ROOT t = f32[3] copy(r)"), Eval(draws + "ROOT t = f32[3] copy(s)"));
}

TEST(Rng, OtherTypesAndDistributionsAreRefused) {
  for (const std::string type : {"pred", "s4", "f8e8m0fnu", "c64"}) {
    EXPECT_NE(Eval("a = " + type + "[] parameter(0)\nb = " + type + "[] parameter(1)\n" +
                   "ROOT r = " + type + "[3] rng(a, b), distribution=rng_normal")
                  .find("the reference interpreter cannot run"),
              std::string::npos)
        << type;
  }
  EXPECT_NE(Eval("a = f32[] constant(0)\nb = f32[] constant(1)\n"
                 "ROOT r = f32[3] rng(a, b), distribution=rng_poisson")
                .find("distribution=rng_poisson, expected rng_uniform or rng_normal"),
            std::string::npos);
}

TEST(RngState, CountsEveryRunEvenInLoops) {
  EXPECT_EQ(Eval("a = u64[2] rng-get-and-update-state(), delta=5\n"
                 "b = u64[2] rng-get-and-update-state(), delta=7\n"
                 "ROOT c = u64[2] rng-get-and-update-state(), delta=1"),
            "12 0");
  EXPECT_EQ(Eval("z = s32[] constant(0)\ns = u64[2] constant({9, 9})\n"
                 "t = (s32[], u64[2]) tuple(z, s)\n"
                 "w = (s32[], u64[2]) while(t), condition=four, body=next\n"
                 "ROOT r = u64[2] get-tuple-element(w), index=1",
                 "four {\n t = (s32[], u64[2]) parameter(0)\n"
                 " i = s32[] get-tuple-element(t), index=0\n n = s32[] constant(4)\n"
                 " ROOT c = pred[] compare(i, n), direction=LT\n}\n"
                 "next {\n t = (s32[], u64[2]) parameter(0)\n"
                 " i = s32[] get-tuple-element(t), index=0\n n = s32[] constant(1)\n"
                 " j = s32[] add(i, n)\n s = u64[2] rng-get-and-update-state(), delta=10\n"
                 " ROOT r = (s32[], u64[2]) tuple(j, s)\n}"),
            "30 0");
}

TEST(Cholesky, ReadsOneTriangle) {
  // The other triangle is nan.
  EXPECT_EQ(Eval("a = f32[2,2] constant({{4, nan}, {2, 5}})\n"
                 "ROOT r = f32[2,2] cholesky(a), lower=true"),
            "2 0 1 2");
  EXPECT_EQ(Eval("a = f32[2,2] constant({{4, 2}, {nan, 5}})\n"
                 "ROOT r = f32[2,2] cholesky(a), lower=false"),
            "2 1 0 2");
  EXPECT_EQ(Eval("a = c64[2,2] constant({{(4, 0), (nan, 0)}, {(2, 2), (6, 0)}})\n"
                 "ROOT r = c64[2,2] cholesky(a), lower=true"),
            "(2, 0) (0, 0) (1, 1) (2, 0)");
  std::string failed = Eval(
      "a = f32[2,2] constant({{-1, 0}, {2, 5}})\n"
      "ROOT r = f32[2,2] cholesky(a), lower=true");
  std::erase(failed, '-');  // the sign of a NaN
  EXPECT_EQ(failed, "nan 0 nan nan");
}

TEST(TriangularSolve, SidesTrianglesAndTransposes) {
  const auto solve = [](const std::string& a, const std::string& attributes) {
    return Eval("a = f32[2,2] constant(" + a + ")\nb = f32[2,2] constant({{2, 4}, {8, 6}})\n" +
                "ROOT r = f32[2,2] triangular-solve(a, b), " + attributes);
  };
  EXPECT_EQ(solve("{{2, nan}, {1, 4}}", "left_side=true, lower=true"), "1 2 1.75 1");
  EXPECT_EQ(solve("{{2, 1}, {nan, 4}}", "left_side=true, lower=false"), "0 1.25 2 1.5");
  EXPECT_EQ(solve("{{2, nan}, {1, 4}}", "left_side=true, lower=true, transpose_a=TRANSPOSE"),
            "0 1.25 2 1.5");
  EXPECT_EQ(solve("{{2, nan}, {1, 4}}", "left_side=false, lower=true"), "0.5 1 3.25 1.5");
  EXPECT_EQ(solve("{{nan, nan}, {1, nan}}", "left_side=true, lower=true, unit_diagonal=true"),
            "2 4 6 2");
}

TEST(Fft, SmallTransforms) {
  EXPECT_EQ(Eval("a = c64[4] constant({(1, 0), (2, 0), (3, 0), (4, 0)})\n"
                 "ROOT r = c64[4] fft(a), fft_type=FFT, fft_length={4}"),
            "(10, 0) (-2, 2) (-2, 0) (-2, -2)");
  EXPECT_EQ(Eval("a = c64[4] constant({(10, 0), (-2, 2), (-2, 0), (-2, -2)})\n"
                 "ROOT r = c64[4] fft(a), fft_type=IFFT, fft_length={4}"),
            "(1, 0) (2, 0) (3, 0) (4, 0)");
  EXPECT_EQ(Eval("a = f32[4] constant({1, 2, 3, 4})\n"
                 "ROOT r = c64[3] fft(a), fft_type=RFFT, fft_length={4}"),
            "(10, 0) (-2, 2) (-2, 0)");
  // The imaginary parts of the first and the middle value do not count.
  EXPECT_EQ(Eval("a = c64[3] constant({(10, 7), (-2, 2), (-2, 5)})\n"
                 "ROOT r = f32[4] fft(a), fft_type=IRFFT, fft_length={4}"),
            "1 2 3 4");
  EXPECT_EQ(Eval("a = f32[2,2] constant({{1, 2}, {3, 5}})\n"
                 "ROOT r = c64[2,2] fft(a), fft_type=RFFT, fft_length={2,2}"),
            "(11, 0) (-3, 0) (-5, 0) (1, 0)");
}

constexpr char kSums[] =
    "f {\n x = s32[2] parameter(0)\n c = s32[2] parameter(1)\n n = s32[2] add(x, c)\n"
    " ROOT t = (s32[2], s32[2]) tuple(c, n)\n}";

TEST(Scan, CarriesAndOutputs) {
  const auto scan = [](const std::string& attributes) {
    return Eval(
        "x = s32[2,3] constant({{1, 2, 3}, {10, 20, 30}})\nc = s32[2] constant({5, 6})\n" +
            ("ROOT r = (s32[2,3], s32[2]) scan(x, c), dimensions={1}, to_apply=f, " + attributes),
        kSums);
  };
  EXPECT_EQ(scan("num_carries=1"), "5 6 8 6 16 36 | 11 66");
  EXPECT_EQ(scan("num_carries=1, is_reverse=true"), "10 8 5 56 36 6 | 11 66");
}

TEST(Scan, BadFormsAreRefused) {
  const auto scan = [](const std::string& type, const std::string& attributes) {
    return Eval(
        "x = s32[2,3] constant({{1, 2, 3}, {10, 20, 30}})\nc = s32[2] constant({5, 6})\n"
        "ROOT r = " +
            type + " scan(x, c), to_apply=f, " + attributes,
        kSums);
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string type = "(s32[2,3], s32[2])";
  expect(scan(type, "dimensions={1}, num_carries=3"), "num_carries must be from 0 to 2");
  expect(scan(type, "dimensions={1}, num_carries=x"), "num_carries must be from 0 to 2");
  expect(scan(type, "dimensions={0}, num_carries=1"),
         "parameter 0 of %f is s32[2], expected s32[3]");
  expect(scan(type, "dimensions={2}, num_carries=1"), "along dimension 2");
  expect(scan(type, "dimensions={0,1}, num_carries=1"), "exactly one dimension");
  expect(scan("(s32[3,2], s32[2])", "dimensions={1}, num_carries=1"), "(s32[2,3], s32[2])");
}

}  // namespace
}  // namespace fusemark::testing
