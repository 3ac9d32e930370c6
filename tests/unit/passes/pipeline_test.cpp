#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/ir/verify.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

Module Parse(std::string_view text) {
  auto module = ParseModule(text, "test");
  FM_CHECK(module.ok(), module.error().message);
  return std::move(module).value();
}

constexpr std::string_view kSmall = R"(HloModule small
f { ROOT x = f32[4] parameter(0) }
ENTRY main {
  p = f32[4] parameter(0)
  c = f32[4] call(p), to_apply=f
  n = f32[4] negate(c)
  m = f32[4] negate(n)
  a = f32[4] abs(m)
  b = f32[4] abs(m)
  ROOT r = f32[4] add(a, b)
}
)";

TEST(Pipeline, RunsEveryPassAndReports) {
  Module module = Parse(kSmall);
  PipelineOptions options;
  options.verify = true;
  const auto reports = RunPipeline(module, options);
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), GraphPasses().size());
  for (size_t i = 0; i < reports->size(); ++i) {
    EXPECT_EQ((*reports)[i].name, GraphPasses()[i].name);
    EXPECT_GE((*reports)[i].runs, 1);
    EXPECT_LE((*reports)[i].changed, (*reports)[i].runs);
  }
  EXPECT_EQ(module.Entry().instrs.size(), 3u) << PrintModule(module);
  EXPECT_EQ(module.computations.size(), 1u);
}

TEST(Pipeline, StopsAfterAndSkips) {
  Module module = Parse(kSmall);
  PipelineOptions options;
  options.stop_after = "simplify-algebra";
  options.disabled = {"inline-calls"};
  const auto reports = RunPipeline(module, options);
  ASSERT_TRUE(reports.ok());
  EXPECT_EQ(reports->back().name, "simplify-algebra");
  EXPECT_EQ(module.computations.size(), 2u);
}

TEST(Pipeline, RunsOnlyTheGivenPasses) {
  Module module = Parse(kSmall);
  PipelineOptions options;
  options.only = {"merge-duplicates"};
  std::vector<std::string> printed;
  options.print_after = {"all"};
  options.print = [&](std::string_view pass, const Module&) { printed.emplace_back(pass); };
  ASSERT_TRUE(RunPipeline(module, options).ok());
  EXPECT_EQ(printed, std::vector<std::string>{"merge-duplicates"});
  EXPECT_EQ(module.Entry().instrs.size(), 6u);
}

TEST(Pipeline, NamesTheNearestPass) {
  Module module = Parse(kSmall);
  PipelineOptions options;
  options.disabled = {"inline-call"};
  const auto reports = RunPipeline(module, options);
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.error().code, Code::kInvalidInput);
  EXPECT_TRUE(
      reports.error().message.starts_with("unknown pass 'inline-call'; nearest: 'inline-calls'"))
      << reports.error().message;
}

// f0 is called twice by f1, that twice by f2, ...: inlining everything would take 2^40 copies.
TEST(InlineCalls, KeepsCallsThatWouldGrowPastTheLimit) {
  std::string text = "HloModule doubling\nf0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "f" + std::to_string(i - 1);
    text += (i == 40 ? "ENTRY f" : "f") + std::to_string(i) +
            " { p = f32[] parameter(0) a = f32[] call(p), to_apply=" + callee +
            " ROOT b = f32[] call(a), to_apply=" + callee + " }\n";
  }
  Module module = Parse(text);
  PassContext context;
  context.max_inlined_instrs = 1000;
  ASSERT_TRUE(InlineCalls(module, context).ok());
  ASSERT_TRUE(VerifyModule(module).ok());
  for (const Computation& computation : module.computations) {
    EXPECT_LE(computation.instrs.size(), 1000u);
  }
}

TEST(InlineCalls, FlattensDeepChains) {
  std::string text = "HloModule deep\nf0 { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n";
  constexpr int kDepth = 2000;
  for (int i = 1; i <= kDepth; ++i) {
    text += (i == kDepth ? "ENTRY f" : "f") + std::to_string(i) +
            " { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f" + std::to_string(i - 1) +
            " }\n";
  }
  Module module = Parse(text);
  ASSERT_TRUE(InlineCalls(module, {}).ok());
  EXPECT_EQ(module.computations.size(), 1u);
  EXPECT_EQ(module.Entry().instrs.size(), 2u);
}

TEST(Corpus, PipelineVerifiesAndIsIdempotent) {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FUSEMARK_CORPUS is not set";
  int files = 0;
  for (const char* folder : {"/hlo", "/jax", "/lit"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(corpus) + folder)) {
      if (entry.path().extension() != ".hlo") continue;
      SCOPED_TRACE(entry.path().string());
      auto module = ParseModuleFile(entry.path().string());
      ASSERT_TRUE(module.ok()) << module.error().message;
      PipelineOptions options;
      options.context.evaluate = EvaluateInstr;
      options.verify = true;
      const auto first = RunPipeline(*module, options);
      ASSERT_TRUE(first.ok()) << first.error().message;
      const Module once = *module;
      const auto second = RunPipeline(*module, options);
      ASSERT_TRUE(second.ok()) << second.error().message;
      for (const PassReport& report : *second) {
        EXPECT_EQ(report.changed, 0) << report.name << " changes a finished module";
      }
      EXPECT_TRUE(once == *module);
      ++files;
    }
  }
  EXPECT_GT(files, 200);
}

}  // namespace
}  // namespace fusemark
