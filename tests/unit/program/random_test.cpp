// Every plan and every schedule is correct: random modules, run off and on, and on again with
// random plan flips and a random schedule per task, against the reference.
#include <gtest/gtest.h>

#include <random>

#include "compiler/ir/verify.h"
#include "compiler/on.h"
#include "compiler/text/text.h"
#include "tests/unit/passes/random_module.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

bool IsNarrowFloat(const Shape& shape) {
  return shape.is_array() && IsFloat(shape.dtype) && ByteSize(shape.dtype) < 4;
}

// Where a difference in the rounding of narrow floats may decide for another branch or grow without
// bound, two correct engines need not agree.
bool IsStable(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      const bool narrow =
          !instr.operands.empty() && IsNarrowFloat(computation[instr.operands[0]].shape);
      if (narrow && (instr.op == Op::kCompare || instr.op == Op::kDivide)) return false;
      if (narrow && instr.op == Op::kConvert && !IsFloat(instr.shape.dtype)) return false;
    }
  }
  return true;
}

void ExpectAgreement(Module module, uint64_t seed) {
  module.name = "random" + std::to_string(seed);
  const auto inputs = InputsOf(module);
  ASSERT_EQ(EnginesDisagree(module, inputs), "") << PrintModule(module);
  const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
  std::mt19937_64 random(seed);
  const auto problem = PrepareOn(module, OptionsOf(Engine::kOn));
  ASSERT_TRUE(problem.ok()) << problem.error().message << PrintModule(module);
  for (int trial = 0; trial < 3; ++trial) {
    const auto config = RandomConfig(*problem, random);
    ASSERT_TRUE(config.ok()) << config.error().message << PrintModule(problem->module);
    CompileOptions options = OptionsOf(Engine::kOn, 1 + trial % 2);
    options.config_text = *config;
    const auto got = CompileAndRun(module, options, inputs);
    ASSERT_TRUE(got.ok()) << got.error().message << "\n" << *config << PrintModule(problem->module);
    ASSERT_EQ(Difference(*got, *want, ToleranceOf(module)), "")
        << *config << PrintModule(problem->module);
  }
}

class RandomModules : public ::testing::TestWithParam<int> {};

TEST_P(RandomModules, AgreeUnderEveryPlanAndSchedule) {
  int stable = 0;
  for (int i = 0; i < 16; ++i) {
    const auto seed = static_cast<uint64_t>(GetParam() * 1000 + i);
    const Module module = RandomModule(seed, i % 2 == 0).Make();
    ASSERT_TRUE(VerifyModule(module).ok()) << VerifyModule(module).error().message;
    if (!IsStable(module)) continue;
    ++stable;
    ExpectAgreement(module, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(stable, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModules, ::testing::Range(0, 10));

}  // namespace
}  // namespace fusemark
