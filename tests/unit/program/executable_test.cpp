// The contract of Executable (program/executable.h) for every engine: runs again with other
// inputs, can be cancelled, reports what it compiled; and what on does with a stored config.
#include "compiler/program/executable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compiler/fusion/config.h"
#include "compiler/on.h"
#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

constexpr char kMlp[] = R"(HloModule mlp
ENTRY main {
  x = f32[16,32] parameter(0)
  w = f32[32,24] parameter(1)
  b = f32[24] parameter(2)
  d = f32[16,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bias = f32[16,24] broadcast(b), dimensions={1}
  s = f32[16,24] add(d, bias)
  t = f32[16,24] tanh(s)
  w2 = f32[24,8] parameter(3)
  e = f32[16,8] dot(t, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[16,8] exponential(e)
})";

constexpr char kForever[] = R"(HloModule forever
condition { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(-1)
  ROOT more = pred[] compare(i, n), direction=NE }
body { s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  y = f32[64] sine(x)
  ROOT r = (s32[], f32[64]) tuple(i, y) }
ENTRY main {
  x = f32[64] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[64]) tuple(zero, x)
  ROOT w = (s32[], f32[64]) while(init), condition=condition, body=body
})";

Module Parsed(const char* text) {
  auto module = ParseModule(text, "test");
  FM_CHECK(module.ok(), module.error().message);
  return std::move(*module);
}

class EachEngine : public ::testing::TestWithParam<Engine> {};

TEST_P(EachEngine, RunsAgainWithOtherInputs) {
  const Module module = Parsed(kMlp);
  auto executable = Compile(module, OptionsOf(GetParam()));
  ASSERT_TRUE(executable.ok()) << executable.error().message;
  std::vector<std::vector<Tensor>> results;
  for (const uint64_t seed : {0, 1, 0}) {
    const auto inputs = InputsOf(module, seed);
    const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
    auto got = RunOnce(**executable, module, inputs);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(Difference(*got, *want), "") << "seed " << seed;
    results.push_back(std::move(*got));
  }
  // Nothing is left over from the run between.
  EXPECT_EQ(Difference(results[2], results[0], 1e-300), "");
  EXPECT_NE(Difference(results[1], results[0]), "");
}

TEST_P(EachEngine, StopsWhenCancelled) {
  const Module module = Parsed(kForever);
  std::atomic<bool> cancelled{true};
  CompileOptions options = OptionsOf(GetParam());
  options.cancelled = &cancelled;
  const auto result = CompileAndRun(module, options, InputsOf(module));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled) << result.error().message;
}

TEST_P(EachEngine, StopsInTheMiddleOfALoop) {
  const Module module = Parsed(kForever);
  std::atomic<bool> cancelled{false};
  CompileOptions options = OptionsOf(GetParam());
  options.cancelled = &cancelled;
  auto executable = Compile(module, options);
  ASSERT_TRUE(executable.ok()) << executable.error().message;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    cancelled = true;
  });
  const auto result = RunOnce(**executable, module, InputsOf(module));
  user.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled) << result.error().message;
}

TEST_P(EachEngine, NamesWhatItCannotRun) {
  const Module module = Parsed(
      "HloModule m\nENTRY main {\n  x = f32[4] parameter(0)\n"
      "  ROOT mystery = f32[4] custom-call(x), custom_call_target=\"nobody_knows\"\n}");
  const auto supported = CheckSupported(module);
  ASSERT_FALSE(supported.ok());
  EXPECT_EQ(supported.error().code, Code::kUnsupported);
  EXPECT_NE(supported.error().message.find("mystery"), std::string::npos);
  EXPECT_NE(supported.error().message.find("custom-call"), std::string::npos);
  EXPECT_NE(supported.error().message.find('4'), std::string::npos) << "the line";
  const auto result = CompileAndRun(module, OptionsOf(GetParam()), InputsOf(module));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kUnsupported) << result.error().message;
  EXPECT_NE(result.error().message.find("mystery"), std::string::npos) << result.error().message;
}

// Large enough that every kind of kernel is split.
constexpr char kWork[] = R"(HloModule work
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[300,1001] parameter(0)
  y = f32[1001] parameter(1)
  yb = f32[300,1001] broadcast(y), dimensions={1}
  s = f32[300,1001] multiply(x, yb)
  t = f32[300,1001] tanh(s)
  zero = f32[] constant(0)
  rows = f32[300] reduce(t, zero), dimensions={1}, to_apply=add
  columns = f32[1001] reduce(t, zero), dimensions={0}, to_apply=add
  all = f32[] reduce(t, zero), dimensions={0,1}, to_apply=add
  ROOT r = (f32[300,1001], f32[300], f32[1001], f32[]) tuple(t, rows, columns, all)
})";

TEST_P(EachEngine, GivesTheSameBitsWithAnyNumberOfThreads) {
  const Module module = Parsed(kWork);
  const auto inputs = InputsOf(module);
  const auto one = CompileAndRun(module, OptionsOf(GetParam(), 1), inputs);
  ASSERT_TRUE(one.ok()) << one.error().message;
  for (const int threads : {2, 3, 8}) {
    const auto many = CompileAndRun(module, OptionsOf(GetParam(), threads), inputs);
    ASSERT_TRUE(many.ok()) << many.error().message;
    EXPECT_EQ(Difference(*many, *one, 1e-300), "") << threads << " threads";
  }
}

// As std::vector gives it. What undefined behaviour copying from there would be shows in the build
// with sanitizers; elsewhere the value beside them must be right.
TEST_P(EachEngine, ArraysWithoutElementsMayBeNull) {
  const Module module = Parsed(R"(HloModule m
condition { s = (s32[], u32[0]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT more = pred[] compare(i, n), direction=LT }
body { s = (s32[], u32[0]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  e = u32[0] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = u32[0] add(e, e)
  ROOT r = (s32[], u32[0]) tuple(j, f) }
ENTRY main {
  p = u32[0] parameter(0)
  zero = s32[] constant(0)
  none = u32[0] constant({})
  init = (s32[], u32[0]) tuple(zero, none)
  w = (s32[], u32[0]) while(init), condition=condition, body=body
  i = s32[] get-tuple-element(w), index=0
  e = u32[0] get-tuple-element(w), index=1
  ROOT r = (s32[], u32[0], u32[0], u32[0]) tuple(i, e, p, none)
})");
  const auto executable = Compile(module, OptionsOf(GetParam()));
  ASSERT_TRUE(executable.ok()) << executable.error().message;
  int32_t count = 0;
  const void* params[] = {nullptr};
  void* outputs[] = {&count, nullptr, nullptr, nullptr};
  const auto ran = (*executable)->Run(params, outputs);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(count, 3);
}

TEST_P(EachEngine, SaysThatMemoryIsExhausted) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer ends the program at such an allocation";
#endif
  const Module module = Parsed(
      "HloModule m\nENTRY main {\n  x = f32[] parameter(0)\n"
      "  a = f32[4194304,4194304] broadcast(x), dimensions={}\n"
      "  y = f32[4194304] broadcast(x), dimensions={}\n"
      "  ROOT d = f32[4194304] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}");
  const auto result = CompileAndRun(module, OptionsOf(GetParam()), InputsOf(module));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kLaunchFailed) << result.error().message;
}

INSTANTIATE_TEST_SUITE_P(All, EachEngine,
                         ::testing::Values(Engine::kReference, Engine::kOff, Engine::kOn),
                         [](const auto& param) { return std::string(EngineName(param.param)); });

TEST(Stats, TellWhatWasCompiled) {
  const Module module = Parsed(kMlp);
  auto on = Compile(module, OptionsOf(Engine::kOn));
  ASSERT_TRUE(on.ok()) << on.error().message;
  const CompileStats stats = (*on)->Stats();
  EXPECT_GT(stats.compile_ns, 0);
  EXPECT_EQ(stats.kernels, 4);  // dot, bias + tanh, dot, exponential
  EXPECT_GE(stats.unique_kernels, 2);
  // t, which takes the place of d, and e live; the result has its own memory.
  EXPECT_GE(stats.peak_arena_bytes, 16 * 24 * 4 + 16 * 8 * 4);
  EXPECT_TRUE(ParseConfig(stats.config_text).ok());
}

TEST(Stats, OffReportsItsPeakAfterARun) {
  const Module module = Parsed(kMlp);
  auto off = Compile(module, OptionsOf(Engine::kOff));
  ASSERT_TRUE(off.ok()) << off.error().message;
  ASSERT_TRUE(RunOnce(**off, module, InputsOf(module)).ok());
  EXPECT_GE((*off)->Stats().peak_arena_bytes, 16 * 24 * 4);
  EXPECT_GE((*off)->Stats().kernels, 5);
}

TEST(StoredConfig, ReplaysWhatWasInForce) {
  const Module module = Parsed(kMlp);
  auto first = Compile(module, OptionsOf(Engine::kOn));
  ASSERT_TRUE(first.ok()) << first.error().message;
  CompileOptions options = OptionsOf(Engine::kOn);
  options.config_text = (*first)->Stats().config_text;
  auto second = Compile(module, options);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ((*second)->Stats().config_text, options.config_text);
  const auto inputs = InputsOf(module);
  EXPECT_EQ(
      Difference(*RunOnce(**first, module, inputs), *RunOnce(**second, module, inputs), 1e-300),
      "");
}

TEST(StoredConfig, OfAnotherModuleIsStale) {
  auto other = Compile(Parsed(kForever), OptionsOf(Engine::kOn));
  ASSERT_TRUE(other.ok()) << other.error().message;
  CompileOptions options = OptionsOf(Engine::kOn);
  options.config_text = (*other)->Stats().config_text;
  const auto result = Compile(Parsed(kMlp), options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kInvalidInput) << result.error().message;
}

constexpr char kSoftmaxOfDot[] = R"(HloModule softmax_of_dot
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[12,16] parameter(0)
  w = f32[16,10] parameter(1)
  d = f32[12,10] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  lowest = f32[] constant(-inf)
  m = f32[12] reduce(d, lowest), dimensions={1}, to_apply=max
  mb = f32[12,10] broadcast(m), dimensions={0}
  c = f32[12,10] subtract(d, mb)
  e = f32[12,10] exponential(c)
  zero = f32[] constant(0)
  s = f32[12] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[12,10] broadcast(s), dimensions={0}
  p = f32[12,10] divide(e, sb)
  t = f32[10,12] transpose(e), dimensions={1,0}
  columns = f32[10] reduce(p, zero), dimensions={0}, to_apply=add
  ROOT r = (f32[12,10], f32[10,12], f32[10]) tuple(p, t, columns)
})";

// One number or word of the text replaced, dropped or moved. Whatever comes out is refused as
// stale or computes the right results: never a crash, never a wrong result.
std::string Damaged(const std::string& text, std::mt19937_64& random) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" ,=\n", at), text.size() - 1) + 1;
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  std::string& word = words[random() % words.size()];
  const char separator = word.back();
  switch (random() % 3) {
    case 0: word = std::to_string(random() % 24) + separator; break;
    case 1: word.clear(); break;
    default: std::swap(word, words[random() % words.size()]); break;
  }
  std::string damaged;
  for (const std::string& part : words) damaged += part;
  return damaged;
}

TEST(OnStats, ASumTakesThePlaceOfItsDyingTerm) {
  const auto arena = [](const char* again) {
    const std::string text = std::string(R"(HloModule residual
      ENTRY main {
        x = f32[16,64] parameter(0)
        w = f32[64,64] parameter(1)
        d = f32[16,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        e = f32[16,64] dot(d, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        f = f32[16,64] add(d, e)
        g = f32[16,64] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        ROOT h = f32[16,64] add(g, )") +
                             again + ") }";
    auto executable = Compile(Parsed(text.c_str()), OptionsOf(Engine::kOn));
    EXPECT_TRUE(executable.ok()) << executable.error().message;
    return executable.ok() ? (*executable)->Stats().peak_arena_bytes : 0;
  };
  // Where d is read once more, one array more is alive at the end.
  EXPECT_EQ(arena("d") - arena("f"), 16 * 64 * 4);
}

TEST(StoredConfig, DamagedIsStaleOrRight) {
  const Module module = Parsed(kSoftmaxOfDot);
  const auto inputs = InputsOf(module);
  const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
  auto first = Compile(module, OptionsOf(Engine::kOn));
  ASSERT_TRUE(first.ok()) << first.error().message;
  const std::string text = (*first)->Stats().config_text;
  std::mt19937_64 random(3);
  int stale = 0, right = 0;
  for (int i = 0; i < 1500; ++i) {
    CompileOptions options = OptionsOf(Engine::kOn);
    options.config_text = Damaged(text, random);
    if (options.config_text == text) continue;
    const auto got = CompileAndRun(module, options, inputs);
    if (got.ok()) {
      ++right;
      ASSERT_EQ(Difference(*got, *want), "") << options.config_text;
      continue;
    }
    ++stale;
    ASSERT_EQ(got.error().code, Code::kInvalidInput) << got.error().message << "\n"
                                                     << options.config_text;
  }
  EXPECT_GT(stale, 100);
  EXPECT_GT(right, 10);
}

TEST(StoredConfig, ThatDoesNotParseIsStale) {
  for (const char* text : {"nonsense", "fusemark-config 2\n", "fusemark-config 1\n"}) {
    CompileOptions options = OptionsOf(Engine::kOn);
    options.config_text = text;
    const auto result = Compile(Parsed(kMlp), options);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, Code::kInvalidInput) << result.error().message;
  }
}

}  // namespace
}  // namespace fusemark
