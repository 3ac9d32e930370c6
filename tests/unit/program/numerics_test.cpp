// Off and on against the reference on linear algebra, Fourier transforms, random numbers and scans.
#include <gtest/gtest.h>

#include "compiler/reference/evaluate.h"
#include "tests/unit/passes/numerics_cases.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

std::vector<NumericsCase> AllCases() {
  std::vector<NumericsCase> cases;
  for (const auto& some : {LinearCases(), FftCases(), RandomCases(), ScanCases()})
    cases.insert(cases.end(), some.begin(), some.end());
  return cases;
}

class Numerics : public ::testing::TestWithParam<size_t> {};
constexpr size_t kShards = 8;

TEST_P(Numerics, EnginesAgreeWithTheReference) {
  const std::vector<NumericsCase> cases = AllCases();
  for (size_t i = GetParam(); i < cases.size(); i += kShards) {
    const NumericsCase& test = cases[i];
    const Module module = ModuleOf(test);
    if (HasFailure()) return;
    const std::vector<Tensor> inputs = InputsOf(test, module);
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    const auto want = Evaluate(module, pointers);
    ASSERT_TRUE(want.ok()) << test.name << ": " << want.error().message;
    for (const Engine engine : {Engine::kOff, Engine::kOn}) {
      const auto got = CompileAndRun(module, OptionsOf(engine, 2), inputs);
      ASSERT_TRUE(got.ok()) << test.name << ": " << got.error().message;
      EXPECT_EQ(ResultsDiffer(test, *got, *want), "") << test.name << ", " << EngineName(engine);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Numerics, ::testing::Range(size_t{0}, kShards));

}  // namespace
}  // namespace fusemark
