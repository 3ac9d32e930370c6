// expand-numerics keeps what its instructions mean: modules are evaluated by the reference before
// (where it knows the instructions themselves) and after, with and without the passes that off runs
// next.
#include <gtest/gtest.h>

#include "compiler/ir/verify.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/passes/numerics_cases.h"

namespace fusemark {
namespace {

std::vector<const Tensor*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

bool IsComposite(Op op) {
  switch (op) {
    case Op::kScan:
    case Op::kRng:
    case Op::kRngBitGenerator:
    case Op::kRngGetAndUpdateState:
    case Op::kCholesky:
    case Op::kTriangularSolve:
    case Op::kFft: return true;
    default: return false;
  }
}

class Numerics : public ::testing::TestWithParam<NumericsCase> {};

TEST_P(Numerics, MeanTheSameWhenExpanded) {
  const Module module = ModuleOf(GetParam());
  if (HasFailure()) return;
  const std::vector<Tensor> inputs = InputsOf(GetParam(), module);
  const auto want = Evaluate(module, Pointers(inputs));
  ASSERT_TRUE(want.ok()) << want.error().message;
  for (const auto& passes : std::vector<std::vector<std::string>>{
           {"expand-numerics"}, {"expand-numerics", "inline-calls", "expand-complex"}}) {
    Module expanded = module;
    PipelineOptions options;
    options.only = passes;
    options.verify = true;
    const auto report = RunPipeline(expanded, options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    for (const Computation& computation : expanded.computations)
      for (const Instr& instr : computation.instrs) EXPECT_FALSE(IsComposite(instr.op));
    const auto got = Evaluate(expanded, Pointers(inputs));
    ASSERT_TRUE(got.ok()) << got.error().message << "\n" << PrintModule(expanded);
    EXPECT_EQ(ResultsDiffer(GetParam(), *got, *want), "") << passes.size() << " passes";
  }
}

INSTANTIATE_TEST_SUITE_P(Linear, Numerics, ::testing::ValuesIn(LinearCases()));
INSTANTIATE_TEST_SUITE_P(Fft, Numerics, ::testing::ValuesIn(FftCases()));
INSTANTIATE_TEST_SUITE_P(Random, Numerics, ::testing::ValuesIn(RandomCases()));
INSTANTIATE_TEST_SUITE_P(Scan, Numerics, ::testing::ValuesIn(ScanCases()));

TEST(NumericsOutsideTheEntry, RandomStateIsRefused) {
  auto module = ParseModule(
      "HloModule m\n"
      "f { ROOT s = u64[2] rng-get-and-update-state(), delta=1 }\n"
      "ENTRY main { ROOT r = u64[2] call(), to_apply=f }\n",
      "test");
  ASSERT_TRUE(module.ok()) << module.error().message;
  PipelineOptions options;
  options.only = {"expand-numerics"};
  const auto report = RunPipeline(*module, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, Code::kUnsupported);
  EXPECT_NE(report.error().message.find("%s in %f"), std::string::npos) << report.error().message;
}

}  // namespace
}  // namespace fusemark
