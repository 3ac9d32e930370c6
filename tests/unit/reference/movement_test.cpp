#include <gtest/gtest.h>

#include "tests/unit/reference/eval_text.h"

namespace fusemark::testing {
namespace {

constexpr char kMatrix[] = "a = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n";

std::string OnMatrix(const std::string& rest) {
  return Eval(kMatrix + rest);
}

TEST(Movement, IndexMaps) {
  EXPECT_EQ(OnMatrix("ROOT r = s32[3,2] transpose(a), dimensions={1,0}"), "1 4 2 5 3 6");
  EXPECT_EQ(OnMatrix("ROOT r = s32[3,2] reshape(a)"), "1 2 3 4 5 6");
  EXPECT_EQ(OnMatrix("ROOT r = s32[1,2] slice(a), slice={[1:2], [0:3:2]}"), "4 6");
  EXPECT_EQ(OnMatrix("ROOT r = s32[2,3] reverse(a), dimensions={1}"), "3 2 1 6 5 4");
  EXPECT_EQ(OnMatrix("b = s32[2,1] constant({{7}, {8}})\n"
                     "ROOT r = s32[2,4] concatenate(a, b), dimensions={1}"),
            "1 2 3 7 4 5 6 8");
  EXPECT_EQ(Eval("a = f32[2] constant({1, 2})\n"
                 "ROOT r = f32[2,2] broadcast(a), dimensions={0}"),
            "1 1 2 2");
  EXPECT_EQ(Eval("a = s4[] constant(-3)\nROOT r = s4[3] broadcast(a), dimensions={}"), "-3 -3 -3");
}

TEST(Movement, ThreeDimensionalTransposeIsNotItsInverse) {
  EXPECT_EQ(Eval("i = s32[6] iota(), iota_dimension=0\na = s32[1,2,3] reshape(i)\n"
                 "ROOT r = s32[3,1,2] transpose(a), dimensions={2,0,1}"),
            "0 3 1 4 2 5");
}

TEST(Movement, PadWithHolesAndCrops) {
  const auto pad = [](const std::string& shape, const std::string& padding) {
    return Eval("a = s32[3] constant({1, 2, 3})\nz = s32[] constant(0)\nROOT r = s32[" + shape +
                "] pad(a, z), padding=" + padding);
  };
  EXPECT_EQ(pad("6", "1_2"), "0 1 2 3 0 0");
  EXPECT_EQ(pad("5", "0_0_1"), "1 0 2 0 3");
  EXPECT_EQ(pad("1", "-1_-1"), "2");
  EXPECT_EQ(pad("4", "-1_0_1"), "0 2 0 3");
  EXPECT_EQ(pad("3", "2_-2"), "0 0 1");
  EXPECT_EQ(pad("1", "-4_0_1"), "3");
  EXPECT_EQ(pad("2", "3_-4"), "0 0");
}

TEST(Movement, IotaCountsExactly) {
  EXPECT_EQ(Eval("ROOT r = s32[2,2] iota(), iota_dimension=0"), "0 0 1 1");
  EXPECT_EQ(Eval("i = bf16[260] iota(), iota_dimension=0\n"
                 "ROOT r = bf16[3] slice(i), slice={[256:259]}"),
            "256 256 258");
  EXPECT_EQ(Eval("i = s8[130] iota(), iota_dimension=0\nROOT r = s8[2] slice(i), "
                 "slice={[127:129]}"),
            "127 -128");
}

TEST(Movement, DynamicSliceClamps) {
  const auto slice = [](const std::string& type, const std::string& start) {
    return Eval("a = s32[5] constant({1, 2, 3, 4, 5})\ni = " + type + " constant(" + start +
                ")\nROOT r = s32[2] dynamic-slice(a, i), dynamic_slice_sizes={2}");
  };
  EXPECT_EQ(slice("s32[]", "1"), "2 3");
  EXPECT_EQ(slice("s32[]", "-7"), "1 2");
  EXPECT_EQ(slice("s64[]", "99"), "4 5");
  EXPECT_EQ(slice("u32[]", "4294967295"), "4 5");
  EXPECT_EQ(Eval("a = s32[4] constant({1, 2, 3, 4})\nu = s32[2] constant({8, 9})\n"
                 "i = s32[] constant(3)\nROOT r = s32[4] dynamic-update-slice(a, u, i)"),
            "1 2 8 9");
}

TEST(Movement, UpdateKeepsTheOriginalForOtherReaders) {
  EXPECT_EQ(Eval("a = s32[3] constant({1, 2, 3})\nb = s32[3] add(a, a)\nu = s32[1] constant({9})\n"
                 "i = s32[] constant(0)\nc = s32[3] dynamic-update-slice(b, u, i)\n"
                 "ROOT r = (s32[3], s32[3]) tuple(b, c)"),
            "2 4 6 | 9 4 6");
}

TEST(Movement, BitcastFollowsLayouts) {
  EXPECT_EQ(Eval("a = s32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}})\n"
                 "ROOT r = s32[3,2]{1,0} bitcast(a)"),
            "1 4 2 5 3 6");
}

TEST(Movement, GatherClampsAndBatches) {
  EXPECT_EQ(Eval("a = s32[3,2] constant({{1, 2}, {3, 4}, {5, 6}})\n"
                 "i = s32[3] constant({2, -1, 9})\nROOT r = s32[3,2] gather(a, i), "
                 "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                 "index_vector_dim=1, slice_sizes={1,2}"),
            "5 6 1 2 5 6");
  EXPECT_EQ(Eval("a = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n"
                 "i = s32[2,1] constant({{2}, {0}})\nROOT r = s32[2] gather(a, i), "
                 "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
                 "operand_batching_dims={0}, start_indices_batching_dims={0}, "
                 "index_vector_dim=1, slice_sizes={1,1}"),
            "3 4");
}

constexpr char kAdd[] =
    "add {\n x = s32[] parameter(0)\n y = s32[] parameter(1)\n ROOT s = s32[] add(x, y)\n}";
constexpr char kAssign[] = "assign {\n x = s32[] parameter(0)\n ROOT y = s32[] parameter(1)\n}";

std::string Scatter(const std::string& indices, const std::string& name,
                    std::string_view computation) {
  return Eval("a = s32[4] constant({0, 0, 0, 0})\ni = s32[3,1] constant(" + indices +
                  ")\nu = s32[3] constant({1, 2, 3})\nROOT r = s32[4] scatter(a, i, u), "
                  "update_window_dims={}, inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" +
                  name,
              computation);
}

TEST(Movement, ScatterDropsWhatDoesNotFit) {
  EXPECT_EQ(Scatter("{{1}, {1}, {3}}", "add", kAdd), "0 3 0 3");
  EXPECT_EQ(Scatter("{{-1}, {4}, {0}}", "add", kAdd), "3 0 0 0");
  EXPECT_EQ(Scatter("{{2}, {2}, {2}}", "assign", kAssign), "0 0 3 0");
  // A window that sticks out is dropped as a whole.
  EXPECT_EQ(Eval("a = s32[4] constant({0, 0, 0, 0})\ni = s32[2,1] constant({{3}, {1}})\n"
                 "u = s32[2,2] constant({{1, 2}, {3, 4}})\nROOT r = s32[4] scatter(a, i, u), "
                 "update_window_dims={1}, inserted_window_dims={}, "
                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
                 kAdd),
            "0 3 4 0");
}

}  // namespace
}  // namespace fusemark::testing
