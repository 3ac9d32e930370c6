// Off, on, and on with random configurations against the corpus: every operation case and small
// module that CheckSupported accepts must run and pass, judged as the reference interpreter is.
// What it does not accept is printed by name with the reason.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "compiler/support/hash.h"
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

// On with a random plan and random schedules, the same ones in every run.
RunModule RandomRunner() {
  return
      [](const Module& module, const std::vector<Tensor>& inputs) -> Result<std::vector<Tensor>> {
        FM_RETURN_IF_ERROR(CheckSupported(module));
        CompileOptions options = OptionsOf(Engine::kOn, 2);
        std::mt19937_64 random(Fnv1a64(module.name));
        FM_TRY(const OnProblem problem, PrepareOn(module, options));
        FM_TRY(options.config_text, RandomConfig(problem, random));
        auto outputs = CompileAndRun(module, options, inputs);
        if (outputs.ok()) return outputs;
        return Error{Code::kCompileFailed, outputs.error().message + "\n" + options.config_text};
      };
}

std::vector<std::filesystem::path> Shard(const std::vector<std::filesystem::path>& all,
                                         size_t shard) {
  std::vector<std::filesystem::path> mine;
  for (size_t i = shard; i < all.size(); i += kShards) mine.push_back(all[i]);
  return mine;
}

void RunOpCases(size_t shard, const RunModule& run) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const auto& hlo : Shard(HloFiles(Corpus() + "/ops"), shard))
    count.Note(hlo.filename().string(), RunOpCase(hlo, run));
  count.Print();
  EXPECT_GT(count.passed, 50);
}

void RunSmallModules(size_t shard, const RunModule& run) {
  if (Corpus().empty()) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  CaseCount count;
  for (const auto& hlo : Shard(SmallModules(), shard)) {
    const auto golden = std::filesystem::path(hlo).replace_extension(".json");
    count.Note(hlo.filename().string(), RunGolden(hlo, golden, run));
  }
  count.Print();
  EXPECT_GT(count.passed, 5);
}

class EngineCorpus : public ::testing::TestWithParam<std::tuple<Engine, size_t>> {};
class RandomConfigs : public ::testing::TestWithParam<size_t> {};

TEST_P(EngineCorpus, OperationCases) {
  RunOpCases(std::get<1>(GetParam()), RunnerOf(std::get<0>(GetParam())));
}
TEST_P(EngineCorpus, SmallModules) {
  RunSmallModules(std::get<1>(GetParam()), RunnerOf(std::get<0>(GetParam())));
}
TEST_P(RandomConfigs, OperationCases) {
  RunOpCases(GetParam(), RandomRunner());
}
TEST_P(RandomConfigs, SmallModules) {
  RunSmallModules(GetParam(), RandomRunner());
}

INSTANTIATE_TEST_SUITE_P(All, RandomConfigs, ::testing::Range(size_t{0}, kShards));
INSTANTIATE_TEST_SUITE_P(All, EngineCorpus,
                         ::testing::Combine(::testing::Values(Engine::kOff, Engine::kOn),
                                            ::testing::Range(size_t{0}, kShards)),
                         [](const auto& param) {
                           return std::string(EngineName(std::get<0>(param.param))) + "_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace fusemark
