// Each pass and the whole pipeline leave results bit-identical: modules are evaluated by the
// reference interpreter before and after. NaNs count as equal whatever their payload.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "compiler/ir/number.h"
#include "compiler/ir/verify.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/passes/random_module.h"
#include "workloads/inputs.h"

namespace fusemark {
namespace {

bool SameElement(DType dtype, const std::byte* a, const std::byte* b) {
  const auto size = static_cast<size_t>(ByteSize(dtype));
  if (std::memcmp(a, b, size) == 0) return true;
  if (IsComplex(dtype)) {
    const DType part = ComponentOf(dtype);
    return SameElement(part, a, b) && SameElement(part, a + size / 2, b + size / 2);
  }
  if (!IsFloat(dtype)) return false;
  uint64_t x = 0, y = 0;
  std::memcpy(&x, a, size);
  std::memcpy(&y, b, size);
  return FloatFromBits(dtype, x) != FloatFromBits(dtype, x) &&
         FloatFromBits(dtype, y) != FloatFromBits(dtype, y);
}

// Empty if equal, else where they first differ.
std::string Difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return "number of leaves";
  for (size_t leaf = 0; leaf < a.size(); ++leaf) {
    if (!SameType(a[leaf].shape, b[leaf].shape)) return "shape of leaf " + std::to_string(leaf);
    const DType dtype = a[leaf].shape.dtype;
    const int64_t size = ByteSize(dtype);
    for (int64_t i = 0; i < ElementCount(a[leaf].shape) && size > 0; ++i) {
      if (SameElement(dtype, a[leaf].data.get() + i * size, b[leaf].data.get() + i * size))
        continue;
      return "leaf " + std::to_string(leaf) + ", element " + std::to_string(i);
    }
  }
  return "";
}

PipelineOptions Options() {
  PipelineOptions options;
  options.context.evaluate = EvaluateInstr;
  options.verify = true;
  return options;
}

std::vector<const Tensor*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

void ExpectSameResults(const Module& module, const std::string& stem, const InputSpec& spec) {
  auto inputs = SynthesiseInputs(module, stem, spec);
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const auto before = Evaluate(module, Pointers(*inputs));
  if (!before.ok()) GTEST_SKIP() << "the reference cannot run it: " << before.error().message;
  std::vector<std::vector<std::string>> runs = {{}};
  for (const PassEntry& pass : GraphPasses()) runs.push_back({std::string(pass.name)});
  for (const auto& only : runs) {
    const std::string what = stem + ", " + (only.empty() ? "whole pipeline" : only[0]);
    Module copy = module;
    PipelineOptions options = Options();
    options.only = only;
    const auto report = RunPipeline(copy, options);
    ASSERT_TRUE(report.ok()) << what << ": " << report.error().message;
    const auto after = Evaluate(copy, Pointers(*inputs));
    ASSERT_TRUE(after.ok()) << what << ": " << after.error().message << "\n" << PrintModule(copy);
    EXPECT_EQ(Difference(*before, *after), "") << what << "\nbefore:\n"
                                               << PrintModule(module) << "\nafter:\n"
                                               << PrintModule(copy);
    if (::testing::Test::HasFailure()) return;
  }
}

class RandomModules : public ::testing::TestWithParam<int> {};

TEST_P(RandomModules, KeepTheirResults) {
  for (int i = 0; i < 100; ++i) {
    const int seed = GetParam() * 100 + i;
    const Module module = RandomModule(static_cast<uint64_t>(seed)).Make();
    const auto verified = VerifyModule(module);
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    ExpectSameResults(module, "random" + std::to_string(seed), {});
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomModules, ::testing::Range(0, 8));

// Batch normalisation, linear algebra, Fourier transforms and complex numbers are the documented
// exceptions; everything else is exact.
bool IsExact(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      switch (ClassOf(instr.op)) {
        case OpClass::Normalize:
        case OpClass::Random:
        case OpClass::Linear: return false;
        default: break;
      }
      if (instr.op == Op::kPower || instr.op == Op::kScan) return false;
      if (IsComplex(instr.shape.dtype)) return false;
    }
  }
  return true;
}

TEST(CorpusModules, KeepTheirResults) {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(corpus) + "/lit")) {
    if (entry.path().extension() != ".hlo") continue;
    auto module = ParseModuleFile(entry.path().string());
    ASSERT_TRUE(module.ok()) << module.error().message;
    const std::string stem = entry.path().stem().string();
    const auto spec = LoadInputSpec(std::string(corpus) + "/inputs.json", stem);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    const auto filled = FillElidedConstants(*module, stem, *spec);
    ASSERT_TRUE(filled.ok()) << filled.error().message;
    if (!IsExact(*module)) continue;
    const auto inputs = SynthesiseInputs(*module, stem, *spec);
    ASSERT_TRUE(inputs.ok()) << inputs.error().message;
    int64_t bytes = 0;
    for (const Tensor& input : *inputs) bytes += input.size_bytes();
    if (bytes > (int64_t{1} << 20) || !Evaluate(*module, Pointers(*inputs)).ok()) continue;
    ++compared;
    ExpectSameResults(*module, stem, *spec);
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace fusemark
