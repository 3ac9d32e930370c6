// Twice the module may take about twice the time to read, verify and plan: a step that is quadratic
// shows as a ratio of four. Ratios instead of seconds, so that a slow machine proves the same.
// Also: sizes that programs really have (2,000 parameters) run, and depth that nobody has ends in a
// result or a clear error, never in a stack overflow.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "compiler/text/text.h"
#include "tests/fuzz/large_modules.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What it takes to read, verify (parsing does) and plan, at the best of two runs.
double TimeOf(LargeForm form, int instructions) {
  const std::string text = LargeModuleText(form, instructions);
  double best = 1e9;
  for (int run = 0; run < 2; ++run) {
    best = std::min(best, Seconds([&] {
                      const auto module = ParseModule(text, "large");
                      ASSERT_TRUE(module.ok()) << module.error().message;
                      const auto problem = PrepareOn(*module, OptionsOf(Engine::kOn));
                      ASSERT_TRUE(problem.ok()) << problem.error().message;
                    }));
  }
  return best;
}

class LargeModules : public ::testing::TestWithParam<LargeForm> {};

TEST_P(LargeModules, TimeIsNearlyLinear) {
  constexpr int kInstructions = 12500;
  // Linear work is 2 and up to 3 where the larger module leaves a cache; quadratic work is 4.
  constexpr double kMostRatio = 3.5;
  // A busy machine may spoil a measurement: five chances.
  double ratio = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double small = TimeOf(GetParam(), kInstructions);
    const double large = TimeOf(GetParam(), 2 * kInstructions);
    std::printf("%s: %d instructions %.3f s, twice as many %.3f s\n", LargeFormName(GetParam()),
                kInstructions, small, large);
    ratio = large / small;
    if (ratio < kMostRatio) break;
  }
  EXPECT_LT(ratio, kMostRatio);
}

INSTANTIATE_TEST_SUITE_P(Forms, LargeModules, ::testing::ValuesIn(kLargeForms),
                         [](const auto& info) { return LargeFormName(info.param); });

TEST(LargeModule, ThousandsOfParametersRun) {
  const auto module = ParseModule(LargeModuleText(LargeForm::kParameters, 10000), "large");
  ASSERT_TRUE(module.ok()) << module.error().message;
  ASSERT_EQ(module->Entry().parameters.size(), 2000U);
  const auto inputs = InputsOf(*module);
  EXPECT_EQ(EnginesDisagree(*module, inputs), "");
}

// A result, or an error that says what is too deep.
void ExpectAnswer(const std::string& text) {
  const auto module = ParseModule(text, "deep");
  if (!module.ok()) {
    EXPECT_NE(module.error().message.find("deep"), std::string::npos) << module.error().message;
    return;
  }
  for (const Engine engine : {Engine::kReference, Engine::kOff, Engine::kOn}) {
    const auto result = CompileAndRun(*module, OptionsOf(engine), InputsOf(*module));
    if (!result.ok()) {
      EXPECT_NE(result.error().message.find("deep"), std::string::npos)
          << EngineName(engine) << ": " << result.error().message;
    }
  }
}

std::string CallChain(int depth) {
  std::string text = "c0 { p = f32[4] parameter(0)\n  ROOT n = f32[4] sine(p) }\n";
  for (int i = 1; i <= depth; ++i) {
    text += "c" + std::to_string(i) + " { p = f32[4] parameter(0)\n  ROOT c = f32[4] call(p)" +
            ", to_apply=c" + std::to_string(i - 1) + " }\n";
  }
  return text + "ENTRY e { p = f32[4] parameter(0)\n  ROOT c = f32[4] call(p), to_apply=c" +
         std::to_string(depth) + " }\n";
}

TEST(LargeModule, DeepCalls) {
  ExpectAnswer(CallChain(200));
  const auto module = ParseModule(CallChain(10000), "deep");
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("nest deeper than"), std::string::npos);
}

// Each conditional is in a branch of the one before.
TEST(LargeModule, DeepConditionals) {
  std::string text = "c0 { p = f32[] parameter(0)\n  ROOT n = f32[] sine(p) }\n";
  for (int i = 1; i <= 10000; ++i) {
    const std::string name = "c" + std::to_string(i), callee = "c" + std::to_string(i - 1);
    text += name + " { p = f32[] parameter(0)\n  z = f32[] constant(9)\n" +
            "  l = pred[] compare(p, z), direction=LT\n" + "  ROOT c = f32[] conditional(l, p, p)" +
            ", true_computation=" + callee + ", false_computation=" + callee + " }\n";
  }
  ExpectAnswer(text +
               "ENTRY e { p = f32[] parameter(0)\n"
               "  ROOT c = f32[] call(p), to_apply=c10000 }\n");
}

TEST(LargeModule, DeepTuples) {
  std::string text = "ENTRY e {\n  t0 = f32[] parameter(0)\n";
  std::string type = "f32[]";
  for (int i = 1; i <= 200; ++i) {
    type = "(" + type + ")";
    text += "  t" + std::to_string(i) + " = " + type + " tuple(t" + std::to_string(i - 1) + ")\n";
  }
  ExpectAnswer(text + "  ROOT c = " + type + " copy(t200)\n}\n");
}

}  // namespace
}  // namespace fusemark
