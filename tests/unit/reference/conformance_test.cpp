// The reference interpreter against the corpus: every operation case, every small module and the
// quick ones of the real programs. Cases it cannot run are counted and printed; wrong ones fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "compiler/reference/evaluate.h"
#include "tests/unit/reference/corpus_cases.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;

Result<std::vector<Tensor>> Interpret(const Module& module, const std::vector<Tensor>& inputs) {
  return Evaluate(module, Pointers(inputs));
}

TEST(ReferenceConformance, OperationCases) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const fs::path& hlo : HloFiles(Corpus() + "/ops"))
    count.Note(hlo.filename().string(), RunOpCase(hlo, Interpret));
  count.Print();
  EXPECT_GT(count.passed, 0);
}

TEST(ReferenceConformance, SmallModules) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const fs::path& hlo : SmallModules()) {
    const fs::path golden = fs::path(hlo).replace_extension(".json");
    count.Note(hlo.filename().string(), RunGolden(hlo, golden, Interpret));
  }
  count.Print();
  EXPECT_GT(count.passed, 0);
}

class RealProgram : public ::testing::TestWithParam<const char*> {
 protected:
  static void CheckGolden() {
    if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
    const fs::path corpus = Corpus();
    const std::string name = GetParam();
    fs::path hlo = corpus / "hlo" / (name + ".hlo");
    if (!fs::exists(hlo)) hlo = corpus / "jax" / (name + ".hlo");
    const auto problem = RunGolden(hlo, corpus / "golden" / (name + ".json"), Interpret);
    ASSERT_TRUE(problem.ok()) << problem.error().message;
    EXPECT_EQ(*problem, "");
  }
};

TEST_P(RealProgram, AgreesWithItsGolden) {
  CheckGolden();
}

// Minutes each in a debug build.
class LargeProgram : public RealProgram {};

TEST_P(LargeProgram, AgreesWithItsGolden) {
  if (std::getenv("FUSEMARK_SLOW_TESTS") == nullptr)
    GTEST_SKIP() << "FUSEMARK_SLOW_TESTS is not set";
  CheckGolden();
}

INSTANTIATE_TEST_SUITE_P(
    All, LargeProgram,
    ::testing::Values("jax__bert_base_b1_s128", "jax__gpt2_decode", "jax__resnet50_b1",
                      "jax__speech_encoder", "model__imagenette_inference", "model__vit_inference",
                      "xla_cpu__resnet50_keras_jax_f32",
                      "xla_cpu__in_place_dynamic_update_slice_fusion",
                      "xla_cpu__dynamic_slice_loop_1x2048x768_bf16",
                      "xla_cpu__sort_full_1024x4096_bf16", "model__resnet50_inference",
                      "model__efficientnet_inference", "model__detr_inference"));

INSTANTIATE_TEST_SUITE_P(
    Quick, RealProgram,
    ::testing::Values("jax__dlrm_b128", "xla_cpu__bench_mass_matrix_35",
                      "xla_cpu__diffrax.b380012920", "xla_cpu__dlrm_keras_jax_f32_test_step",
                      "xla_cpu__jax.b380442861", "xla_cpu__layer_norm_1x4096x768_bf16",
                      "xla_cpu__sum_axis_1x4096x1024_bf16", "xla_cpu__topk_logits_k10_1x50000_bf16",
                      "xla_cpu__xnn.parallel_dots.optimized"),
    [](const auto& param) {
      std::string name = param.param;
      std::replace_if(name.begin(), name.end(), [](char c) { return c == '.'; }, '_');
      return name;
    });

}  // namespace
}  // namespace fusemark
