// Every plan and every schedule is correct: random modules, run off and on, and on again with
// random plan flips and a random schedule per task, against the reference.
#include <gtest/gtest.h>

#include <random>

#include "compiler/codegen/target.h"
#include "compiler/ir/verify.h"
#include "compiler/on.h"
#include "compiler/pipeline.h"
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

// The module's function run three times in a loop: state leaves are a counter, the parameters (some
// replaced by a result of the same type, so that values move between leaves) and the results.
Module Looped(Module module, std::mt19937_64& random) {
  const ComputationId step = module.entry;
  const Computation& function = module[step];
  const Effects effects;
  std::vector<Shape> types{ArrayShape(DType::kS32, {})};
  for (const InstrId parameter : function.parameters) types.push_back(function[parameter].shape);
  const size_t results = types.size();
  for (const Shape& leaf : function.Root().shape.elements) types.push_back(leaf);
  const Shape state = TupleShape(types);

  Builder body(effects);
  const InstrId given = body.Emit(Op::kParameter, state, {}, ParameterAttrs{0});
  std::vector<InstrId> next, arguments;
  for (size_t i = 0; i < types.size(); ++i)
    next.push_back(body.TupleElement(given, static_cast<int64_t>(i)));
  arguments.assign(next.begin() + 1, next.begin() + static_cast<int64_t>(results));
  Instr call;
  call.op = Op::kCall;
  call.shape = function.Root().shape;
  call.operands = arguments;
  call.called = {step};
  const InstrId called = body.Emit(std::move(call));
  const InstrId one = body.Constant(ScalarLiteralOf(DType::kS32, 1));
  next[0] = body.Binary(Op::kAdd, next[0], one);
  for (size_t i = results; i < types.size(); ++i) {
    next[i] = body.TupleElement(called, static_cast<int64_t>(i - results));
    const size_t into = 1 + random() % (results - 1);
    if (SameType(types[into], types[i])) next[into] = next[i];
  }
  module.computations.push_back(body.Finish("body", body.Tuple(next)));

  Builder condition(effects);
  const InstrId seen = condition.Emit(Op::kParameter, state, {}, ParameterAttrs{0});
  const InstrId trips = condition.Constant(ScalarLiteralOf(DType::kS32, 3));
  const InstrId more =
      condition.Emit(Op::kCompare, ArrayShape(DType::kPred, {}),
                     {condition.TupleElement(seen, 0), trips}, CompareAttrs{Direction::kLt});
  module.computations.push_back(condition.Finish("condition", more));

  Builder entry(effects);
  std::vector<InstrId> initial{entry.Constant(ScalarLiteralOf(DType::kS32, 0))};
  for (size_t i = 1; i < results; ++i) {
    initial.push_back(
        entry.Emit(Op::kParameter, types[i], {}, ParameterAttrs{static_cast<int64_t>(i) - 1}));
  }
  for (size_t i = results; i < types.size(); ++i) {
    const InstrId zero = entry.Constant(ScalarLiteralOf(types[i].dtype, 0));
    initial.push_back(entry.Broadcast(zero, types[i].dims, {}));
  }
  Instr loop;
  loop.op = Op::kWhile;
  loop.shape = state;
  loop.operands = {entry.Tuple(initial)};
  const auto count = static_cast<uint32_t>(module.computations.size());
  loop.called = {{count - 1}, {count - 2}};
  module.computations.push_back(entry.Finish("looped", entry.Emit(std::move(loop))));
  module.entry = {count};
  return module;
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

TEST_P(RandomModules, AgreeInsideALoop) {
  for (int i = 0; i < 8; ++i) {
    const auto seed = static_cast<uint64_t>(GetParam() * 1000 + 500 + i);
    std::mt19937_64 random(seed);
    const Module module = Looped(RandomModule(seed, i % 2 == 0).Make(), random);
    ASSERT_TRUE(VerifyModule(module).ok()) << VerifyModule(module).error().message;
    if (!IsStable(module)) continue;
    ExpectAgreement(module, seed);
    if (HasFatalFailure()) return;
  }
}

#if defined(__x86_64__)
// Narrower vectors, no fused multiply-add, no half precision conversions.
TEST(OlderCpus, GiveTheSameResults) {
  const auto target = TargetForCpu("x86-64");
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->vector_bytes, 16);
  for (uint64_t seed = 8000; seed < 8030; ++seed) {
    const Module module = RandomModule(seed, seed % 2 == 0).Make();
    if (!IsStable(module)) continue;
    const auto inputs = InputsOf(module);
    const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
    for (const Engine engine : {Engine::kOff, Engine::kOn}) {
      CompileOptions options = OptionsOf(engine);
      options.target = *target;
      const auto got = CompileAndRun(module, options, inputs);
      ASSERT_TRUE(got.ok()) << got.error().message << PrintModule(module);
      ASSERT_EQ(Difference(*got, *want, ToleranceOf(module)), "") << PrintModule(module);
    }
  }
}
#endif

// Passes make programs faster, not right: on without any one of them gives the same results, or
// says that it needs the pass.
TEST(DisabledPasses, ChangeNoResult) {
  std::vector<std::string> all;
  for (const PassEntry& pass : GraphPasses()) all.emplace_back(pass.name);
  std::vector<std::vector<std::string>> subsets{all};
  for (const std::string& name : all) subsets.push_back({name});
  int ran = 0;
  for (uint64_t seed = 9000; seed < 9012; ++seed) {
    std::mt19937_64 random(seed);
    Module module = RandomModule(seed, seed % 2 == 0).Make();
    if (seed % 3 == 0) module = Looped(std::move(module), random);
    if (!IsStable(module)) continue;
    const auto inputs = InputsOf(module);
    const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
    for (const auto& disabled : subsets) {
      CompileOptions options = OptionsOf(Engine::kOn);
      options.disabled_passes = disabled;
      const auto got = CompileAndRun(module, options, inputs);
      if (!got.ok() && got.error().code == Code::kUnsupported) continue;
      const std::string what = disabled.size() > 1 ? "no passes" : "without " + disabled[0];
      ASSERT_TRUE(got.ok()) << what << ": " << got.error().message << PrintModule(module);
      ASSERT_EQ(Difference(*got, *want, ToleranceOf(module)), "") << what << PrintModule(module);
      ++ran;
    }
  }
  EXPECT_GT(ran, 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModules, ::testing::Range(0, 10));

}  // namespace
}  // namespace fusemark
