// Simplification of index expressions, conditions and lets; each result must compute the same.
#include "compiler/loops/simplify.h"

#include <gtest/gtest.h>

#include "compiler/loops/verify.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

struct Index {
  const char* name;
  const char* before;
  const char* after;
};

class LoopsSimplifyIndex : public testing::TestWithParam<Index> {};

// i in 128, j in 768, f in 98304; %big takes any index.
Kernel WithIndex(const std::string& index) {
  return MustParse(R"(kernel @k class=loop
  operand %idx: s32[4]
  result %big: s64[98304]
{
  for i in 12 { for j in 768 { for f in 9216 {
    %big[f] = )" + index +
                   "\n} } } }");
}

TEST_P(LoopsSimplifyIndex, ToItsLinearForm) {
  const Kernel simple = Simplify(WithIndex(GetParam().before));
  const Stmt& store = simple.body[0].body[0].body[0].body[0];
  EXPECT_EQ(PrintExpr(simple, store.value), GetParam().after);
  EXPECT_EQ(Simplify(simple), simple);
}

INSTANTIATE_TEST_SUITE_P(
    All, LoopsSimplifyIndex,
    testing::Values(Index{"div_of_flat", "(i * 768 + j) / 768", "i"},
                    Index{"mod_of_flat", "(i * 768 + j) % 768", "j"},
                    Index{"flat_of_split", "f / 768 * 768 + f % 768", "f"},
                    Index{"split_of_split", "f / 768 * 768 + f % 768 / 64 * 64 + f % 64", "f"},
                    Index{"scaled", "f / 768 * 1536 + f % 768 * 2 + 1", "f * 2 + 1"},
                    Index{"partial", "(i * 768 + j) / 64", "i * 12 + j / 64"},
                    Index{"mod_partial", "(i * 768 + j) % 64", "j % 64"},
                    Index{"nested_div", "f / 6 / 7", "f / 42"},
                    Index{"nested_mod", "f % 64 % 16", "f % 16"},
                    Index{"div_of_mod", "f % 768 / 64", "f / 64 % 12"},
                    Index{"div_common_factor", "(j * 4 + 2) / 8", "j / 2"},
                    Index{"transpose_of_reshape", "(f / 768 * 64 + f % 64) / 64", "f / 768"},
                    Index{"clamp_in_range", "minimum(maximum(j, 0), 767)", "j"},
                    Index{"clamp_needed", "minimum(maximum(s64(%idx[i % 4]), 0), 767)",
                          "minimum(maximum(s64(%idx[i % 4]), 0), 767)"},
                    Index{"clamp_low_only", "minimum(maximum(j, 0), 100)", "minimum(j, 100)"},
                    Index{"select_decided", "select(j < 768, j, i)", "j"},
                    Index{"select_open", "select(j < 700, j + 0 * i, i)", "select(j < 700, j, i)"},
                    Index{"difference", "i * 768 + j - i * 768", "j"},
                    Index{"negative_stays", "(j - 5) / 3", "(j + -5) / 3"},
                    Index{"constants", "(3 + 4) * 2 - j", "14 - j"}),
    [](const auto& info) { return info.param.name; });

TEST(LoopsSimplify, BranchesLetsAndReshapes) {
  const Kernel kernel = MustParse(R"(kernel @k class=loop
  operand %a: f32[4,6]
  result %r: f32[24]
{
  for i in 2 parallel {
    for j in 12 {
      let f: s64 = i * 12 + j
      let x: s64 = f / 6
      let y: s64 = f % 6
      let unused: f32 = %a[x, y]
      let flat: s64 = x * 6 + y
      if (flat < 24) {
        let v: f32 = %a[flat / 6, flat % 6]
        %r[flat] = v
      } else {
        %r[0] = 0:f32
      }
      if (and(j >= 0, j < 6)) {
        %r[i * 12 + j] = 1:f32
      }
    }
  }
})");
  const Kernel simple = Simplify(kernel);
  EXPECT_EQ(Print(simple), R"(kernel @k class=loop
  operand %a: f32[4,6]
  result %r: f32[24]
{
  for i in 2 parallel {
    for j in 12 {
      let v: f32 = %a[i * 2 + j / 6, j % 6]
      %r[i * 12 + j] = v
      if (j < 6) {
        %r[i * 12 + j] = 1:f32
      }
    }
  }
}
)");
  EXPECT_TRUE(Verify(simple).ok());
  EXPECT_EQ(RunKernel(simple).value(), RunKernel(kernel).value());
}

TEST(LoopsSimplify, BranchesThatBindTheSameNamesStayApart) {
  const Kernel kernel = MustParse(R"(kernel @k class=loop
  operand %a: f32[4]
  result %r: f32[4]
{
  for i in 4 {
    if (i < 4) {
      let v: f32 = %a[i]
      %r[i] = v
    }
    if (i >= 0) {
      let v: f32 = %r[i]
      %r[i] = v + v
    }
  }
})");
  const Kernel simple = Simplify(kernel);
  EXPECT_TRUE(Verify(simple).ok());
  EXPECT_EQ(RunKernel(simple).value(), RunKernel(kernel).value());
}

}  // namespace
}  // namespace fusemark::loops
