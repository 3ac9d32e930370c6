// Off and on against the corpus: every operation case and small module that CheckSupported accepts
// must run and pass, judged as the reference interpreter is. What it does not accept is printed by
// name with the reason.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/unit/program/engine_run.h"
#include "tests/unit/reference/corpus_cases.h"

namespace fusemark {
namespace {

// Shards spread the files over the cases of a parallel ctest.
constexpr size_t kShards = 8;

// kUnsupported only for what is refused at load time; a later refusal is a failure.
RunModule RunnerOf(Engine engine) {
  return [engine](const Module& module,
                  const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
    FM_RETURN_IF_ERROR(CheckSupported(module));
    auto outputs = CompileAndRun(module, OptionsOf(engine, 2), inputs);
    if (outputs.ok()) return outputs;
    return Error{Code::kCompileFailed, "accepted, but: " + outputs.error().message};
  };
}

class EngineCorpus : public ::testing::TestWithParam<std::tuple<Engine, size_t>> {
 protected:
  static Engine engine() { return std::get<0>(GetParam()); }
  static std::vector<std::filesystem::path> Mine(const std::vector<std::filesystem::path>& all) {
    std::vector<std::filesystem::path> mine;
    for (size_t i = std::get<1>(GetParam()); i < all.size(); i += kShards) mine.push_back(all[i]);
    return mine;
  }
};

TEST_P(EngineCorpus, OperationCases) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const auto& hlo : Mine(HloFiles(Corpus() + "/ops")))
    count.Note(hlo.filename().string(), RunOpCase(hlo, RunnerOf(engine())));
  count.Print();
  EXPECT_GT(count.passed, 50);
}

TEST_P(EngineCorpus, SmallModules) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const auto& hlo : Mine(SmallModules())) {
    const auto golden = std::filesystem::path(hlo).replace_extension(".json");
    count.Note(hlo.filename().string(), RunGolden(hlo, golden, RunnerOf(engine())));
  }
  count.Print();
  EXPECT_GT(count.passed, 5);
}

INSTANTIATE_TEST_SUITE_P(All, EngineCorpus,
                         ::testing::Combine(::testing::Values(Engine::kOff, Engine::kOn),
                                            ::testing::Range(size_t{0}, kShards)),
                         [](const auto& param) {
                           return std::string(EngineName(std::get<0>(param.param))) + "_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace fusemark
