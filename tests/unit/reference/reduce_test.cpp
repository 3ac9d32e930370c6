#include <gtest/gtest.h>

#include "tests/unit/reference/eval_text.h"

namespace fusemark::testing {
namespace {

std::string Region(const std::string& op, const std::string& type) {
  return "f {\n x = " + type + "[] parameter(0)\n y = " + type +
         "[] parameter(1)\n ROOT s = " + type + "[] " + op + "(x, y)\n}";
}

TEST(Reduce, RowsColumnsAndAll) {
  const std::string matrix =
      "a = f32[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n"
      "z = f32[] constant(0)\n";
  const auto reduce = [&](const std::string& shape, const std::string& dims) {
    return Eval(
        matrix + "ROOT r = f32[" + shape + "] reduce(a, z), dimensions={" + dims + "}, to_apply=f",
        Region("add", "f32"));
  };
  EXPECT_EQ(reduce("2", "1"), "6 15");
  EXPECT_EQ(reduce("3", "0"), "5 7 9");
  EXPECT_EQ(reduce("", "0,1"), "21");
  EXPECT_EQ(reduce("", "1,0"), "21");
}

TEST(Reduce, FloatSumsRoundOnce) {
  // Step by step in bf16 the sum would stick at 256.
  EXPECT_EQ(Eval("one = bf16[] constant(1)\na = bf16[1000] broadcast(one), dimensions={}\n"
                 "z = bf16[] constant(0)\n"
                 "ROOT r = bf16[] reduce(a, z), dimensions={0}, to_apply=f",
                 Region("add", "bf16")),
            "1000");
  EXPECT_EQ(Eval("a = s8[3] constant({100, 100, 100})\nz = s8[] constant(0)\n"
                 "ROOT r = s8[] reduce(a, z), dimensions={0}, to_apply=f",
                 Region("add", "s8")),
            "44");
}

TEST(Reduce, ExtremesPassNanAndEmptyGivesInit) {
  EXPECT_EQ(Eval("a = f32[3] constant({1, nan, 2})\nz = f32[] constant(-inf)\n"
                 "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=f",
                 Region("maximum", "f32")),
            "nan");
  EXPECT_EQ(Eval("a = f32[2,0] constant({ {}, {} })\nz = f32[] constant(7)\n"
                 "ROOT r = f32[2] reduce(a, z), dimensions={1}, to_apply=f",
                 Region("add", "f32")),
            "7 7");
  EXPECT_EQ(Eval("a = pred[3] constant({1, 1, 0})\nz = pred[] constant(1)\n"
                 "ROOT r = pred[] reduce(a, z), dimensions={0}, to_apply=f",
                 Region("and", "pred")),
            "0");
}

TEST(Reduce, CallsTheRegionWithAccumulatorFirst) {
  EXPECT_EQ(Eval("a = s32[3] constant({1, 2, 3})\nz = s32[] constant(100)\n"
                 "ROOT r = s32[] reduce(a, z), dimensions={0}, to_apply=f",
                 Region("subtract", "s32")),
            "94");
}

constexpr char kArgMax[] =
    "f {\n v0 = f32[] parameter(0)\n i0 = s32[] parameter(1)\n v1 = f32[] parameter(2)\n"
    " i1 = s32[] parameter(3)\n gt = pred[] compare(v0, v1), direction=GE\n"
    " v = f32[] select(gt, v0, v1)\n i = s32[] select(gt, i0, i1)\n"
    " ROOT t = (f32[], s32[]) tuple(v, i)\n}";

TEST(Reduce, VariadicKeepsAccumulatorsTogether) {
  EXPECT_EQ(Eval("a = f32[2,3] constant({{1, 5, 5}, {9, 2, 3}})\n"
                 "i = s32[2,3] iota(), iota_dimension=1\nz = f32[] constant(-inf)\n"
                 "k = s32[] constant(0)\nROOT r = (f32[2], s32[2]) reduce(a, i, z, k), "
                 "dimensions={1}, to_apply=f",
                 kArgMax),
            "5 9 | 1 0");
}

TEST(Reduce, RegionWithAnInnerCall) {
  EXPECT_EQ(Eval("a = s32[3] constant({1, 2, 3})\nz = s32[] constant(0)\n"
                 "ROOT r = s32[] reduce(a, z), dimensions={0}, to_apply=f",
                 "g {\n x = s32[] parameter(0)\n ROOT m = s32[] multiply(x, x)\n}\n"
                 "f {\n x = s32[] parameter(0)\n y = s32[] parameter(1)\n"
                 " c = s32[] call(y), to_apply=g\n ROOT s = s32[] add(x, c)\n}"),
            "14");
}

TEST(Reduce, RegionThatIsMoreThanScalarArithmetic) {
  EXPECT_EQ(Eval("a = s32[3] constant({1, 2, 3})\nz = s32[] constant(0)\n"
                 "ROOT r = s32[] reduce(a, z), dimensions={0}, to_apply=f",
                 "f {\n x = s32[] parameter(0)\n y = s32[] parameter(1)\n"
                 " b = s32[2] broadcast(y), dimensions={}\n"
                 " t = s32[2] slice(b), slice={[0:2]}\n c = s32[1] slice(t), slice={[1:2]}\n"
                 " d = s32[] reshape(c)\n ROOT s = s32[] add(x, d)\n}"),
            "6");
}

TEST(ReduceWindow, PaddingAndHolesAreSkipped) {
  const auto window = [](const std::string& shape, const std::string& spec) {
    return Eval("a = s32[4] constant({1, 2, 3, 4})\nz = s32[] constant(10)\nROOT r = s32[" + shape +
                    "] reduce-window(a, z), window={" + spec + "}, to_apply=f",
                Region("add", "s32"));
  };
  EXPECT_EQ(window("2", "size=2 stride=2"), "13 17");
  EXPECT_EQ(window("4", "size=4 pad=3_0"), "11 13 16 20");
  EXPECT_EQ(window("6", "size=2 lhs_dilate=2"), "11 12 12 13 13 14");
  EXPECT_EQ(window("2", "size=2 rhs_dilate=2"), "14 16");
  EXPECT_EQ(window("2", "size=2 pad=0_-1"), "13 15");
}

TEST(ReduceWindow, MaxPoolOfPaddingIsInit) {
  EXPECT_EQ(Eval("a = f32[1] constant({5})\nz = f32[] constant(-inf)\n"
                 "ROOT r = f32[3] reduce-window(a, z), window={size=1 pad=1_1}, to_apply=f",
                 Region("maximum", "f32")),
            "-inf 5 -inf");
}

TEST(SelectAndScatter, FirstMaximumTakesTheSource) {
  EXPECT_EQ(Eval("a = f32[4] constant({1, 3, 3, 2})\ns = f32[2] constant({10, 20})\n"
                 "z = f32[] constant(0)\nROOT r = f32[4] select-and-scatter(a, s, z), "
                 "window={size=3 stride=1}, select=ge, scatter=f",
                 "ge {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
                 " ROOT c = pred[] compare(x, y), direction=GE\n}\n" +
                     Region("add", "f32")),
            "0 30 0 0");
}

TEST(Contract, DotForms) {
  EXPECT_EQ(Eval("a = f32[2,2] constant({{1, 2}, {3, 4}})\n"
                 "b = f32[2,2] constant({{5, 6}, {7, 8}})\nROOT r = f32[2,2] dot(a, b), "
                 "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "19 22 43 50");
  EXPECT_EQ(Eval("a = f32[2] constant({1, 2})\nb = f32[3] constant({3, 4, 5})\n"
                 "ROOT r = f32[2,3] dot(a, b)"),
            "3 4 5 6 8 10");
  EXPECT_EQ(Eval("a = f32[2,2] constant({{1, 2}, {3, 4}})\n"
                 "b = f32[2,2] constant({{5, 6}, {7, 8}})\nROOT r = f32[2] dot(a, b), "
                 "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={1}"),
            "17 53");
  EXPECT_EQ(Eval("a = s8[2] constant({100, 100})\nb = s8[2] constant({100, 100})\n"
                 "ROOT r = s32[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
            "20000");
  EXPECT_EQ(Eval("a = c64[1] constant({(0, 1)})\nb = c64[1] constant({(0, 1)})\n"
                 "ROOT r = c64[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
            "(-1, 0)");
  EXPECT_EQ(Eval("a = f32[2,0] constant({ {}, {} })\nb = f32[0,1] constant({})\n"
                 "ROOT r = f32[2,1] dot(a, b), lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={0}"),
            "0 0");
}

TEST(Contract, ConvolutionForms) {
  const auto convolve = [](const std::string& shape, const std::string& window) {
    return Eval(
        "i = f32[5] constant({1, 2, 3, 4, 5})\na = f32[1,5,1] reshape(i)\n"
        "j = f32[2] constant({10, 1})\nk = f32[2,1,1] reshape(j)\nROOT r = f32[1," +
        shape + ",1] convolution(a, k), window={" + window + "}, dim_labels=b0f_0io->b0f");
  };
  EXPECT_EQ(convolve("4", "size=2"), "12 23 34 45");
  EXPECT_EQ(convolve("4", "size=2 rhs_reversal=1"), "21 32 43 54");
  EXPECT_EQ(convolve("2", "size=2 stride=2"), "12 34");
  EXPECT_EQ(convolve("6", "size=2 pad=1_1"), "1 12 23 34 45 50");
  EXPECT_EQ(convolve("3", "size=2 pad=0_-1"), "12 23 34");
  EXPECT_EQ(convolve("3", "size=2 rhs_dilate=2"), "13 24 35");
  EXPECT_EQ(convolve("8", "size=2 lhs_dilate=2"), "10 2 20 3 30 4 40 5");
}

TEST(Contract, ConvolutionSkipsWhatIsOutside) {
  const auto convolve = [](const std::string& taps, const std::string& window) {
    return Eval("a = f32[1,3,1] constant({{{1}, {2}, {3}}})\nk = f32[2,1,1] constant(" + taps +
                ")\nROOT r = f32[1,4,1] convolution(a, k), window={" + window +
                "}, dim_labels=b0f_0io->b0f");
  };
  EXPECT_EQ(convolve("{{{inf}}, {{1}}}", "size=2 pad=1_1"), "1 inf inf inf");
  EXPECT_EQ(convolve("{{{1}}, {{nan}}}", "size=2 pad=1_1"), "nan nan nan 3");
  EXPECT_EQ(convolve("{{{1}}, {{-inf}}}", "size=2 lhs_dilate=2"), "1 -inf 2 -inf");
}

TEST(Contract, ConvolutionGroups) {
  EXPECT_EQ(Eval("i = f32[4] constant({1, 2, 3, 4})\na = f32[1,2,2] reshape(i)\n"
                 "j = f32[2] constant({10, 100})\nk = f32[1,1,2] reshape(j)\n"
                 "ROOT r = f32[1,2,2] convolution(a, k), window={size=1}, "
                 "dim_labels=b0f_0io->b0f, feature_group_count=2"),
            "10 200 30 400");
  EXPECT_EQ(Eval("i = f32[4] constant({1, 2, 3, 4})\na = f32[2,2,1] reshape(i)\n"
                 "j = f32[2] constant({10, 100})\nk = f32[1,1,2] reshape(j)\n"
                 "ROOT r = f32[1,2,2] convolution(a, k), window={size=1}, "
                 "dim_labels=b0f_0io->b0f, batch_group_count=2"),
            "10 300 20 400");
  EXPECT_EQ(Eval("i = s8[1] constant({100})\na = s8[1,1] reshape(i)\n"
                 "ROOT r = s8[1,1] convolution(a, a), dim_labels=bf_io->bf"),
            "127");
}

}  // namespace
}  // namespace fusemark::testing
