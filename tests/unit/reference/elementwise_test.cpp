#include <gtest/gtest.h>

#include "tests/unit/reference/eval_text.h"

namespace fusemark::testing {
namespace {

// ROOT r = TYPE OP(a), with a given as a literal of type FROM.
std::string Unary(const std::string& op, const std::string& from, const std::string& a,
                  const std::string& type) {
  return Eval("a = " + from + " constant(" + a + ")\nROOT r = " + type + " " + op + "(a)");
}
std::string Binary(const std::string& op, const std::string& type, const std::string& a,
                   const std::string& b) {
  return Eval("a = " + type + " constant(" + a + ")\nb = " + type + " constant(" + b +
              ")\nROOT r = " + type + " " + op + "(a, b)");
}

TEST(Elementwise, IntegersWrap) {
  EXPECT_EQ(Binary("add", "s8[2]", "{127, -128}", "{1, -1}"), "-128 127");
  EXPECT_EQ(Binary("subtract", "u8[2]", "{0, 5}", "{1, 3}"), "255 2");
  EXPECT_EQ(Binary("multiply", "s32[2]", "{65536, -3}", "{65536, 4}"), "0 -12");
  EXPECT_EQ(Binary("multiply", "s64[1]", "{4611686018427387904}", "{4}"), "0");
  EXPECT_EQ(Binary("add", "s4[2]", "{7, -8}", "{1, -1}"), "-8 7");
  EXPECT_EQ(Binary("add", "u4[1]", "{15}", "{1}"), "0");
  EXPECT_EQ(Unary("negate", "s32[2]", "{-2147483648, 5}", "s32[2]"), "-2147483648 -5");
  EXPECT_EQ(Unary("abs", "s8[2]", "{-128, -3}", "s8[2]"), "-128 3");
}

TEST(Elementwise, IntegerDivisionIsGuarded) {
  EXPECT_EQ(Binary("divide", "s32[4]", "{7, -7, 5, -2147483648}", "{2, 2, 0, -1}"),
            "3 -3 -1 -2147483648");
  EXPECT_EQ(Binary("divide", "s64[1]", "{-9223372036854775808}", "{-1}"), "-9223372036854775808");
  EXPECT_EQ(Binary("divide", "u32[2]", "{7, 5}", "{2, 0}"), "3 4294967295");
  EXPECT_EQ(Binary("remainder", "s32[4]", "{7, -7, 5, -2147483648}", "{2, 2, 0, -1}"), "1 -1 5 0");
  EXPECT_EQ(Binary("power", "s32[5]", "{2, 0, 1, -1, 3}", "{10, 0, -1, -1, -2}"), "1024 1 1 0 0");
}

TEST(Elementwise, ShiftsOfTheWidthAndMore) {
  EXPECT_EQ(Binary("shift-left", "s32[4]", "{1, 1, 1, 1}", "{31, 32, -1, 4}"),
            "-2147483648 0 0 16");
  EXPECT_EQ(Binary("shift-right-logical", "s8[3]", "{-1, -1, -1}", "{1, 7, 8}"), "127 1 0");
  EXPECT_EQ(Binary("shift-right-arithmetic", "s8[3]", "{-64, -64, 64}", "{3, 100, 9}"), "-8 -1 0");
  EXPECT_EQ(Binary("shift-right-arithmetic", "u8[2]", "{128, 64}", "{7, 9}"), "255 0");
}

TEST(Elementwise, BitsAndPredicates) {
  EXPECT_EQ(Binary("and", "pred[4]", "{0, 0, 1, 1}", "{0, 1, 0, 1}"), "0 0 0 1");
  EXPECT_EQ(Binary("xor", "u8[2]", "{255, 1}", "{15, 1}"), "240 0");
  EXPECT_EQ(Binary("add", "pred[3]", "{0, 1, 1}", "{0, 0, 1}"), "0 1 1");
  EXPECT_EQ(Unary("not", "pred[2]", "{0, 1}", "pred[2]"), "1 0");
  EXPECT_EQ(Unary("not", "s32[2]", "{0, -1}", "s32[2]"), "-1 0");
  EXPECT_EQ(Unary("popcnt", "s8[2]", "{-1, 5}", "s8[2]"), "8 2");
  EXPECT_EQ(Unary("count-leading-zeros", "u16[3]", "{0, 1, 65535}", "u16[3]"), "16 15 0");
}

TEST(Elementwise, MaximumAndMinimumPassNan) {
  EXPECT_EQ(Binary("maximum", "f32[4]", "{nan, 1, 2, -inf}", "{1, nan, 3, -2}"), "nan nan 3 -2");
  EXPECT_EQ(Binary("minimum", "bf16[3]", "{nan, 1, 2}", "{1, nan, 3}"), "nan nan 2");
  EXPECT_EQ(Eval("lo = f32[] constant(0)\nx = f32[4] constant({-1, 0.5, 3, nan})\n"
                 "hi = f32[] constant(1)\nROOT r = f32[4] clamp(lo, x, hi)"),
            "0 0.5 1 nan");
  EXPECT_EQ(Eval("lo = s32[] constant(5)\nx = s32[2] constant({1, 9})\n"
                 "hi = s32[] constant(2)\nROOT r = s32[2] clamp(lo, x, hi)"),
            "2 2");
}

TEST(Elementwise, FloatFunctions) {
  EXPECT_EQ(Unary("rsqrt", "f32[3]", "{4, 0, -0.0}", "f32[3]"), "0.5 inf -inf");
  EXPECT_EQ(Unary("sqrt", "f64[3]", "{2, -0.0, -1}", "f64[3]"), "1.41421356 -0 -nan");
  EXPECT_EQ(Unary("log", "f32[3]", "{1, 0, 7.389056}", "f32[3]"), "0 -inf 2");
  EXPECT_EQ(Unary("exponential-minus-one", "f32[2]", "{1e-10, 1}", "f32[2]"),
            "1.00000001e-10 1.71828187");
  EXPECT_EQ(Unary("log-plus-one", "f32[2]", "{1e-10, 1}", "f32[2]"), "1.00000001e-10 0.693147182");
  EXPECT_EQ(Unary("logistic", "f32[3]", "{-200, 0, 200}", "f32[3]"), "0 0.5 1");
  EXPECT_EQ(Unary("tanh", "f32[3]", "{-40, 0, 40}", "f32[3]"), "-1 0 1");
  EXPECT_EQ(Unary("erf", "f32[3]", "{-9, 0.5, 9}", "f32[3]"), "-1 0.520499885 1");
  EXPECT_EQ(Unary("cbrt", "f32[2]", "{-8, 27}", "f32[2]"), "-2 3");
  EXPECT_EQ(Unary("sign", "f32[5]", "{-3, -0.0, 0, 2, nan}", "f32[5]"), "-1 -0 0 1 nan");
  EXPECT_EQ(Unary("round-nearest-afz", "f32[4]", "{0.5, 1.5, 2.5, -2.5}", "f32[4]"), "1 2 3 -3");
  EXPECT_EQ(Unary("round-nearest-even", "f32[4]", "{0.5, 1.5, 2.5, -2.5}", "f32[4]"), "0 2 2 -2");
  EXPECT_EQ(Unary("floor", "f16[2]", "{1.5, -1.5}", "f16[2]"), "1 -2");
  EXPECT_EQ(Unary("ceil", "f16[2]", "{1.5, -1.5}", "f16[2]"), "2 -1");
  EXPECT_EQ(Unary("is-finite", "f32[3]", "{1, inf, nan}", "pred[3]"), "1 0 0");
  EXPECT_EQ(Binary("remainder", "f32[3]", "{5.5, -5.5, 1}", "{2, 2, inf}"), "1.5 -1.5 1");
  EXPECT_EQ(Binary("power", "f32[3]", "{1, nan, 2}", "{nan, 0, 0.5}"), "1 1 1.41421354");
  EXPECT_EQ(Binary("atan2", "f32[2]", "{1, -1}", "{0, -1}"), "1.57079637 -2.3561945");
}

TEST(Elementwise, NarrowFloatsRoundAfterEveryOperation) {
  // 256 + 1 is not a bf16: the tie goes to the even 256, twice.
  EXPECT_EQ(Eval("a = bf16[] constant(256)\none = bf16[] constant(1)\nb = bf16[] add(a, one)\n"
                 "ROOT r = bf16[] add(b, one)"),
            "256");
  EXPECT_EQ(Binary("add", "f16[2]", "{2048, 65504}", "{1, 65504}"), "2048 inf");
  EXPECT_EQ(Binary("multiply", "f8e4m3fn[2]", "{2, 448}", "{1.125, 2}"), "2.25 nan");
}

TEST(Elementwise, ConvertTruncatesAndSaturates) {
  EXPECT_EQ(Unary("convert", "f32[5]", "{1.9, -1.9, 3e9, -3e9, nan}", "s32[5]"),
            "1 -1 2147483647 -2147483648 0");
  EXPECT_EQ(Unary("convert", "f32[4]", "{-1, 255.5, 300, inf}", "u8[4]"), "0 255 255 255");
  EXPECT_EQ(Unary("convert", "f64[2]", "{1e30, -1e30}", "s64[2]"),
            "9223372036854775807 -9223372036854775808");
  EXPECT_EQ(Unary("convert", "f32[4]", "{0, 0.5, nan, -0.0}", "pred[4]"), "0 1 1 0");
  EXPECT_EQ(Unary("convert", "s32[3]", "{300, -1, 128}", "u8[3]"), "44 255 128");
  EXPECT_EQ(Unary("convert", "s8[1]", "{-1}", "u32[1]"), "4294967295");
  EXPECT_EQ(Unary("convert", "u8[1]", "{255}", "s32[1]"), "255");
  // 2^24 + 1 ties to even, once.
  EXPECT_EQ(Unary("convert", "s64[1]", "{16777217}", "f32[1]"), "16777216");
  // Between two bf16, a hair above the middle: through f32 it would tie to the even one.
  EXPECT_EQ(Unary("convert", "f64[1]", "{1.00390625000001}", "bf16[1]"), "1.0078125");
  EXPECT_EQ(Unary("convert", "pred[2]", "{1, 0}", "f32[2]"), "1 0");
  EXPECT_EQ(Unary("convert", "f32[1]", "{2}", "c64[1]"), "(2, 0)");
}

TEST(Elementwise, CompareOrders) {
  const auto compare = [](const std::string& direction, const std::string& type) {
    return Eval(
        "a = f32[5] constant({nan, -0.0, 1, -nan, inf})\n"
        "b = f32[5] constant({nan, 0, 2, -inf, nan})\nROOT r = pred[5] compare(a, b), "
        "direction=" +
        direction + ", type=" + type);
  };
  EXPECT_EQ(compare("EQ", "FLOAT"), "0 1 0 0 0");
  EXPECT_EQ(compare("NE", "FLOAT"), "1 0 1 1 1");
  EXPECT_EQ(compare("LT", "FLOAT"), "0 0 1 0 0");
  EXPECT_EQ(compare("GE", "FLOAT"), "0 1 0 0 0");
  EXPECT_EQ(compare("LT", "TOTALORDER"), "0 1 1 1 1");
  EXPECT_EQ(compare("EQ", "TOTALORDER"), "1 0 0 0 0");
  EXPECT_EQ(Eval("a = u8[1] constant({200})\nb = u8[1] constant({100})\n"
                 "ROOT r = pred[1] compare(a, b), direction=GT"),
            "1");
}

TEST(Elementwise, SelectPicksWithoutArithmetic) {
  EXPECT_EQ(Eval("p = pred[3] constant({1, 0, 1})\na = f32[3] constant({1, nan, 3})\n"
                 "b = f32[3] constant({nan, 5, inf})\nROOT r = f32[3] select(p, a, b)"),
            "1 5 3");
  EXPECT_EQ(Eval("p = pred[] constant(0)\na = s32[2] constant({1, 2})\n"
                 "b = s32[2] constant({3, 4})\nROOT r = s32[2] select(p, a, b)"),
            "3 4");
}

TEST(Elementwise, BitsReinterpreted) {
  EXPECT_EQ(Unary("bitcast-convert", "f32[2]", "{1, -0.0}", "u32[2]"), "1065353216 2147483648");
  EXPECT_EQ(Unary("bitcast-convert", "u32[1]", "{305419896}", "u8[1,4]"), "120 86 52 18");
  EXPECT_EQ(Unary("bitcast-convert", "u16[1,2]", "{{22136, 4660}}", "u32[1]"), "305419896");
  EXPECT_EQ(Unary("bitcast-convert", "u8[1]", "{31}", "s4[1,2]"), "-1 1");
  EXPECT_EQ(Unary("bitcast-convert", "s4[1,2]", "{{-1, 1}}", "u8[1]"), "31");
}

TEST(Elementwise, ReducePrecision) {
  const auto reduce = [](const std::string& values, const std::string& bits) {
    return Eval("a = f32[4] constant(" + values + ")\nROOT r = f32[4] reduce-precision(a), " +
                bits);
  };
  EXPECT_EQ(reduce("{1.00390625, 1.01171875, 3e38, nan}", "exponent_bits=8, mantissa_bits=7"),
            "1 1.015625 3.00405527e+38 nan");
  EXPECT_EQ(reduce("{70000, -1e-8, 1, -70000}", "exponent_bits=5, mantissa_bits=10"),
            "inf -0 1 -inf");
}

TEST(Elementwise, Complex) {
  EXPECT_EQ(Binary("multiply", "c64[1]", "{(1, 2)}", "{(3, 4)}"), "(-5, 10)");
  EXPECT_EQ(Binary("divide", "c64[1]", "{(-5, 10)}", "{(3, 4)}"), "(1, 2)");
  EXPECT_EQ(Unary("abs", "c64[1]", "{(3, 4)}", "f32[1]"), "5");
  EXPECT_EQ(Unary("imag", "c128[1]", "{(3, 4)}", "f64[1]"), "4");
  EXPECT_EQ(Unary("real", "f32[1]", "{3}", "f32[1]"), "3");
  EXPECT_EQ(Unary("imag", "f32[1]", "{3}", "f32[1]"), "0");
  EXPECT_EQ(Unary("exponential", "c64[1]", "{(0, 0)}", "c64[1]"), "(1, 0)");
  EXPECT_EQ(Eval("a = f32[1] constant({1})\nb = f32[1] constant({2})\n"
                 "ROOT r = c64[1] complex(a, b)"),
            "(1, 2)");
}

TEST(Elementwise, MapRunsItsComputationPerElement) {
  EXPECT_EQ(Eval("a = f32[3] constant({1, 2, 3})\nb = f32[3] constant({4, 5, 6})\n"
                 "ROOT r = f32[3] map(a, b), dimensions={0}, to_apply=f",
                 "f {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n m = f32[] "
                 "multiply(x, y)\n ROOT s = f32[] subtract(m, x)\n}"),
            "3 8 15");
}

}  // namespace
}  // namespace fusemark::testing
