#include <gtest/gtest.h>

#include <atomic>

#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/reference/eval_text.h"

namespace fusemark::testing {
namespace {

constexpr char kCount[] =
    "cond {\n s = (s32[], s32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " n = s32[] constant(4)\n ROOT lt = pred[] compare(i, n), direction=LT\n}\n"
    "body {\n s = (s32[], s32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " a = s32[4] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
    " u = s32[1] reshape(i)\n b = s32[4] dynamic-update-slice(a, u, i)\n"
    " j = s32[] add(i, one)\n ROOT t = (s32[], s32[4]) tuple(j, b)\n}";

TEST(Control, WhileCarriesItsTuple) {
  EXPECT_EQ(Eval("z = s32[] constant(1)\na = s32[4] constant({9, 9, 9, 9})\n"
                 "s = (s32[], s32[4]) tuple(z, a)\n"
                 "ROOT w = (s32[], s32[4]) while(s), condition=cond, body=body",
                 kCount),
            "4 | 9 1 2 3");
}

TEST(Control, WhileLeavesTheInitialValueToOthers) {
  EXPECT_EQ(Eval("z = s32[] constant(3)\na = s32[4] constant({9, 9, 9, 9})\n"
                 "s = (s32[], s32[4]) tuple(z, a)\n"
                 "w = (s32[], s32[4]) while(s), condition=cond, body=body\n"
                 "b = s32[4] get-tuple-element(w), index=1\n"
                 "ROOT r = (s32[4], s32[4]) tuple(a, b)",
                 kCount),
            "9 9 9 9 | 9 9 9 3");
}

TEST(Control, WhileOfZeroTrips) {
  EXPECT_EQ(Eval("z = s32[] constant(7)\na = s32[4] constant({1, 2, 3, 4})\n"
                 "s = (s32[], s32[4]) tuple(z, a)\n"
                 "ROOT w = (s32[], s32[4]) while(s), condition=cond, body=body",
                 kCount),
            "7 | 1 2 3 4");
}

constexpr char kBranches[] =
    "one {\n x = s32[] parameter(0)\n ROOT r = s32[] add(x, x)\n}\n"
    "two {\n x = s32[] parameter(0)\n ROOT r = s32[] negate(x)\n}";

TEST(Control, ConditionalByIndexAndPredicate) {
  const auto by_index = [](const std::string& index) {
    return Eval("i = s32[] constant(" + index +
                    ")\na = s32[] constant(5)\nROOT r = s32[] "
                    "conditional(i, a, a), branch_computations={one, two}",
                kBranches);
  };
  EXPECT_EQ(by_index("0"), "10");
  EXPECT_EQ(by_index("1"), "-5");
  EXPECT_EQ(by_index("2"), "-5");  // out of range: the last one
  EXPECT_EQ(by_index("-1"), "-5");
  EXPECT_EQ(Eval("p = pred[] constant(1)\na = s32[] constant(5)\nROOT r = s32[] conditional(p, a, "
                 "a), true_computation=one, false_computation=two",
                 kBranches),
            "10");
}

TEST(Control, CallFusionAndNestedTuples) {
  EXPECT_EQ(Eval("a = s32[] constant(5)\nb = s32[] call(a), to_apply=one\n"
                 "c = s32[] fusion(b), kind=kLoop, calls=two\n"
                 "t = (s32[], (s32[], s32[])) tuple(a, (s32[], s32[]) tuple(b, c))\n"
                 "u = (s32[], s32[]) get-tuple-element(t), index=1\n"
                 "ROOT r = ((s32[], s32[]), s32[]) tuple(u, a)",
                 kBranches),
            "10 | -10 | 5");
}

constexpr char kLess[] =
    "lt {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = s32[] parameter(2)\n"
    " j = s32[] parameter(3)\n ROOT c = pred[] compare(a, b), direction=LT\n}";

TEST(Sort, StableWithPayload) {
  EXPECT_EQ(Eval("k = f32[5] constant({3, 1, 2, 1, 3})\nv = s32[5] iota(), iota_dimension=0\n"
                 "ROOT s = (f32[5], s32[5]) sort(k, v), dimensions={0}, to_apply=lt",
                 kLess),
            "1 1 2 3 3 | 1 3 2 0 4");
}

TEST(Sort, AnyComparatorTerminatesAndKeepsElements) {
  // NaN under a plain LT is no strict weak order.
  const std::string sorted = Eval(
      "k = f32[4] constant({2, nan, 1, nan})\nv = s32[4] iota(), iota_dimension=0\n"
      "ROOT s = (f32[4], s32[4]) sort(k, v), dimensions={0}, to_apply=lt",
      kLess);
  for (const char* element : {"0", "1", "2", "3"})
    EXPECT_NE(sorted.find(element, sorted.find('|')), std::string::npos) << sorted;
}

TEST(Sort, AlongAnOuterDimension) {
  EXPECT_EQ(Eval("k = s32[3,2] constant({{3, 4}, {1, 6}, {2, 5}})\n"
                 "ROOT s = s32[3,2] sort(k), dimensions={0}, to_apply=gt",
                 "gt {\n a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
                 " ROOT c = pred[] compare(a, b), direction=GT\n}"),
            "3 6 2 5 1 4");
}

TEST(Sort, TopKByTotalOrder) {
  EXPECT_EQ(Eval("a = f32[5] constant({1, nan, 3, 3, -inf})\n"
                 "ROOT r = (f32[3], s32[3]) topk(a), k=3, largest=true"),
            "nan 3 3 | 1 2 3");
  EXPECT_EQ(Eval("a = u8[3] constant({1, 200, 3})\n"
                 "ROOT r = (u8[2], s32[2]) topk(a), k=2, largest=false"),
            "1 3 | 0 2");
}

TEST(Pairs, AsyncRunsTheComputation) {
  EXPECT_EQ(Eval("a = s32[] constant(5)\n"
                 "s = ((s32[]), s32[], u32[]) async-start(a), calls=one\n"
                 "u = ((s32[]), s32[], u32[]) async-update(s)\n"
                 "d = s32[] async-done(u)\n"
                 "g = (s32[]) get-tuple-element(u), index=0\n"
                 "given = s32[] get-tuple-element(g), index=0\n"
                 "ROOT r = (s32[], s32[]) tuple(d, given)",
                 kBranches),
            "10 | 5");
}

TEST(Pairs, CopyGivesTheValue) {
  EXPECT_EQ(Eval("a = s32[2] constant({5, 6})\n"
                 "s = (s32[2], s32[2], u32[]) copy-start(a)\n"
                 "state = u32[] get-tuple-element(s), index=2\n"
                 "d = s32[2] copy-done(s)\nROOT r = (s32[2], u32[]) tuple(d, state)"),
            "5 6 | 0");
}

TEST(Pairs, StatesThatAreNoNumbersAreRefused) {
  const std::string text = Eval(
      "a = s32[2] constant({5, 6})\ns = (s32[2], s32[2], (u32[], u32[])) copy-start(a)\n"
      "ROOT d = s32[2] copy-done(s)");
  EXPECT_NE(text.find("copy-start(s32[2])"), std::string::npos) << text;
}

TEST(Evaluate, UnsupportedIsSaidBeforeRunning) {
  const std::string text = Eval(
      "a = f32[] constant(0)\nb = f32[] constant(1)\n"
      "ROOT r = f32[4] custom-call(a, b), custom_call_target=\"x\"");
  EXPECT_NE(text.find("%r in main"), std::string::npos) << text;
  EXPECT_NE(text.find("line 6"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[4] custom-call(f32[], f32[])"), std::string::npos) << text;
}

TEST(Evaluate, ParametersMustMatch) {
  const auto module = ParseModule(
      "HloModule m\nENTRY e {\n p = f32[2] parameter(0)\n ROOT r = f32[2] negate(p)\n}", "t");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_FALSE(Evaluate(*module, {}).ok());
  const Tensor wrong = MakeTensor(ArrayShape(DType::kF32, {3}));
  const Tensor* params[] = {&wrong};
  const auto result = Evaluate(*module, params);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("f32[2]"), std::string::npos) << result.error().message;
}

TEST(Evaluate, LeavesItsParametersAlone) {
  const auto module = ParseModule(
      "HloModule m\nENTRY e {\n p = s32[2] parameter(0)\n u = s32[1] constant({9})\n"
      " i = s32[] constant(0)\n ROOT r = s32[2] dynamic-update-slice(p, u, i)\n}",
      "t");
  ASSERT_TRUE(module.ok()) << module.error().message;
  const Tensor input = MakeTensor(ArrayShape(DType::kS32, {2}));
  const Tensor* params[] = {&input};
  const auto result = Evaluate(*module, params);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].as<int32_t>()[0], 9);
  EXPECT_EQ(input.as<int32_t>()[0], 0);
}

TEST(Evaluate, StopsWhenCancelled) {
  const auto module = ParseModule(
      "HloModule m\nc {\n p = s32[] parameter(0)\n ROOT t = pred[] constant(1)\n}\n"
      "b {\n ROOT p = s32[] parameter(0)\n}\n"
      "ENTRY e {\n z = s32[] constant(0)\n ROOT w = s32[] while(z), condition=c, body=b\n}",
      "t");
  ASSERT_TRUE(module.ok()) << module.error().message;
  const std::atomic<bool> cancelled{true};
  const auto result = Evaluate(*module, {}, &cancelled);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled);
}

TEST(Evaluate, OneInstructionOnGivenOperands) {
  const auto module = ParseModule(
      "HloModule m\nENTRY e {\n p = s32[2] parameter(0)\n ROOT r = s32[2] negate(p)\n}", "t");
  ASSERT_TRUE(module.ok()) << module.error().message;
  Tensor input = MakeTensor(ArrayShape(DType::kS32, {2}));
  input.as<int32_t>()[0] = 5;
  const Tensor* operands[] = {&input};
  const auto result = EvaluateInstr(*module, module->entry, module->Entry().root, operands);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)[0].as<int32_t>()[0], -5);
}

}  // namespace
}  // namespace fusemark::testing
