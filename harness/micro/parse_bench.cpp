// What reading HLO costs: parse, verify and print of a generated module of about 0.8 MB, and of the
// largest corpus file with typed operands when FUSEMARK_CORPUS names the corpus.
//
//   fusemark_parse_bench --benchmark_filter=Parse
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "compiler/ir/verify.h"
#include "compiler/support/file.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

// Dense layers with bias and relu, each instruction with the metadata a JAX dump carries.
std::string GeneratedText() {
  constexpr size_t kBytes = 800 * 1000;
  std::string text =
      "HloModule generated\n\nENTRY %main {\n  %x0 = f32[32,256]{1,0} parameter(0)\n"
      "  %w = f32[256,256]{1,0} parameter(1)\n  %b = f32[256]{0} parameter(2)\n"
      "  %zero = f32[] constant(0)\n";
  for (int layer = 0; text.size() < kBytes; ++layer) {
    const std::string n = std::to_string(layer), next = std::to_string(layer + 1);
    const std::string shape = " = f32[32,256]{1,0} ";
    const std::string metadata =
        ", metadata={op_name=\"jit(f)/jit(main)/Dense_" + n +
        "/dot_general[dimension_numbers={1},{0}]\" source_file=\"/model.py\" source_line=" + n +
        "}\n";
    text += "  %dot." + n + shape + "dot(%x" + n +
            ", %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}" + metadata;
    text += "  %bias." + n + shape + "broadcast(%b), dimensions={1}" + metadata;
    text += "  %add." + n + shape + "add(%dot." + n + ", %bias." + n + ")" + metadata;
    text += "  %zeros." + n + shape + "broadcast(%zero), dimensions={}" + metadata;
    text += "  %x" + next + shape + "maximum(%add." + n + ", %zeros." + n + ")" + metadata;
  }
  return text + "}\n";
}

// Empty if there is no corpus.
std::string CorpusText() {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  if (corpus == nullptr) return "";
  const std::string path = std::string(corpus) + "/hlo/xla_tools__mobilenet_v2_train.hlo";
  const auto text = ReadFile(path, "a file of HLO text");
  return text.ok() ? *text : "";
}

// The module, unless the text is missing or wrong, which skips the benchmark.
Result<Module> Load(benchmark::State& state, const std::string& text) {
  auto module = ParseModule(text, "bench");
  if (text.empty()) {
    state.SkipWithError("FUSEMARK_CORPUS does not name the corpus");
  } else if (!module.ok()) {
    state.SkipWithError(module.error().message.c_str());
  }
  return module;
}

void Parse(benchmark::State& state, std::string (*make)()) {
  const std::string text = make();
  if (!Load(state, text).ok()) return;
  for (auto _ : state) {
    auto module = ParseModule(text, "bench");
    benchmark::DoNotOptimize(module);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void Verify(benchmark::State& state, std::string (*make)()) {
  const auto module = Load(state, make());
  if (!module.ok()) return;
  for (auto _ : state) {
    auto result = VerifyModule(*module);
    benchmark::DoNotOptimize(result);
  }
}

void Print(benchmark::State& state, std::string (*make)()) {
  const auto module = Load(state, make());
  if (!module.ok()) return;
  for (auto _ : state) {
    auto text = PrintModule(*module);
    benchmark::DoNotOptimize(text);
  }
}

BENCHMARK_CAPTURE(Parse, generated, GeneratedText)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Parse, mobilenet_v2_train, CorpusText)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Verify, generated, GeneratedText)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Verify, mobilenet_v2_train, CorpusText)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Print, generated, GeneratedText)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fusemark

BENCHMARK_MAIN();
