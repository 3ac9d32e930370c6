// What the engines cost beside the arithmetic: off's dispatch per operation, on's launch of a
// module with one kernel, fork-join of the pool, the clock, and compiling a module of a thousand
// instructions.
//
//   fusemark_engine_bench --benchmark_filter=Dispatch
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "autotuner/measure.h"
#include "compiler/codegen/target.h"
#include "compiler/compile.h"
#include "compiler/ir/tensor.h"
#include "compiler/runtime/threads.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

// A compiled module with its buffers.
struct Runnable {
  std::unique_ptr<Executable> executable;
  std::vector<Tensor> tensors;
  std::vector<const void*> params;
  std::vector<void*> outputs;

  bool Run() { return executable->Run(params, outputs).ok(); }
};

CompileOptions Options(Engine engine, int64_t threads) {
  CompileOptions options;
  options.engine = engine;
  options.threads = static_cast<int>(threads);
  options.target = HostTarget();
  options.target.threads = options.threads;
  return options;
}

Result<Runnable> Prepare(const std::string& text, const CompileOptions& options) {
  FM_TRY(const Module module, ParseModule(text, "bench"));
  Runnable runnable;
  FM_TRY(runnable.executable, Compile(module, options));
  for (const Shape& leaf : ParameterLeaves(module)) {
    runnable.tensors.push_back(MakeTensor(leaf));
    runnable.params.push_back(runnable.tensors.back().data.get());
  }
  for (const Shape& leaf : OutputLeaves(module)) {
    runnable.tensors.push_back(MakeTensor(leaf));
    runnable.outputs.push_back(runnable.tensors.back().data.get());
  }
  FM_RETURN_IF_ERROR(runnable.executable->Run(runnable.params, runnable.outputs));
  return runnable;
}

void Measure(benchmark::State& state, const std::string& text, Engine engine, int64_t threads,
             int64_t operations) {
  auto runnable = Prepare(text, Options(engine, threads));
  if (!runnable.ok()) return state.SkipWithError(runnable.error().message.c_str());
  for (auto _ : state) {
    if (!runnable->Run()) return state.SkipWithError("the run failed");
    benchmark::ClobberMemory();
  }
  state.counters["time_per_op"] = benchmark::Counter(
      static_cast<double>(operations),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Operations so small that the dispatch is all there is; the next needs the last.
std::string TinyChain(int64_t operations) {
  std::string text =
      "HloModule chain\nENTRY main {\n  v0 = f32[8] parameter(0)\n  x = f32[8] parameter(1)\n";
  for (int64_t i = 1; i <= operations; ++i) {
    const bool last = i == operations;
    text += std::string(last ? "  ROOT v" : "  v") + std::to_string(i) + " = f32[8] " +
            (i % 2 == 0 ? "add" : "multiply") + "(v" + std::to_string(i - 1) + ", x)\n";
  }
  return text + "}\n";
}

constexpr int64_t kChain = 256;

void BM_OffDispatch(benchmark::State& state) {
  Measure(state, TinyChain(kChain), Engine::kOff, state.range(0), kChain);
}
BENCHMARK(BM_OffDispatch)->Arg(1)->Arg(2)->ArgName("threads");

void BM_OnLaunch(benchmark::State& state) {
  Measure(state, TinyChain(1), Engine::kOn, state.range(0), 1);
}
BENCHMARK(BM_OnLaunch)->Arg(1)->Arg(2)->ArgName("threads");

// A loop of a scalar counter: what one trip costs beside its body.
void BM_OnWhileTrip(benchmark::State& state) {
  constexpr int64_t kTrips = 1000;
  Measure(state,
          "HloModule loop\ncondition {\n  s = (s32[]) parameter(0)\n"
          "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(1000)\n"
          "  ROOT more = pred[] compare(i, n), direction=LT\n}\nbody {\n"
          "  s = (s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
          "  one = s32[] constant(1)\n  next = s32[] add(i, one)\n  ROOT r = (s32[]) tuple(next)\n"
          "}\nENTRY main {\n  x = s32[] parameter(0)\n  t = (s32[]) tuple(x)\n"
          "  w = (s32[]) while(t), condition=condition, body=body\n"
          "  ROOT r = s32[] get-tuple-element(w), index=0\n}\n",
          Engine::kOn, 1, kTrips);
}
BENCHMARK(BM_OnWhileTrip);

void BM_ForkJoin(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  SetThreads(threads);
  for (auto _ : state) RunTeam([](void*, int, int) {}, nullptr, threads);
}
// A team that spins shares badly with other programs: the least of many short runs is the cost of
// fork and join, the rest is theirs.
BENCHMARK(BM_ForkJoin)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("threads")
    ->UseRealTime()
    ->MinTime(0.002)
    ->Repetitions(100)
    ->ReportAggregatesOnly()
    ->ComputeStatistics("min", [](const std::vector<double>& times) {
      return *std::min_element(times.begin(), times.end());
    });

void BM_Timer(benchmark::State& state) {
  const Clock clock = SteadyClock();
  for (auto _ : state) benchmark::DoNotOptimize(clock.Now());
}
BENCHMARK(BM_Timer);

// A thousand instructions as dense layers with bias and gelu (tanh form); `widths` different sizes,
// so that tasks repeat as they do in models, or never.
std::string Layers(int64_t widths) {
  std::string text = "HloModule layers\nENTRY main {\n  x0 = f32[16,64] parameter(0)\n";
  int64_t width = 64, parameter = 1;
  for (int64_t layer = 0; layer < 90; ++layer) {
    const int64_t next_width = 64 + layer % widths;
    const std::string n = std::to_string(layer), from = std::to_string(width),
                      to = std::to_string(next_width);
    const std::string shape = " = f32[16," + to + "] ";
    const auto line = [&](const std::string& name, const std::string& rest) {
      text += "  " + name + n + shape + rest + "\n";
    };
    text += "  w" + n + " = f32[" + from + "," + to + "] parameter(" + std::to_string(parameter) +
            ")\n  b" + n + " = f32[" + to + "] parameter(" + std::to_string(parameter + 1) + ")\n";
    parameter += 2;
    line("d", "dot(x" + n + ", w" + n + "), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    line("bb", "broadcast(b" + n + "), dimensions={1}");
    line("s", "add(d" + n + ", bb" + n + ")");
    line("c", "multiply(s" + n + ", s" + n + ")");
    line("e", "multiply(c" + n + ", s" + n + ")");
    line("f", "add(e" + n + ", s" + n + ")");
    line("t", "tanh(f" + n + ")");
    line("g", "multiply(t" + n + ", s" + n + ")");
    text += "  x" + std::to_string(layer + 1) + shape + "add(g" + n + ", s" + n + ")\n";
    width = next_width;
  }
  return text + "  ROOT r = f32[16," + std::to_string(width) + "] negate(x90)\n}\n";
}

void BM_CompileThousandInstructions(benchmark::State& state) {
  const auto module = ParseModule(Layers(state.range(0)), "bench");
  if (!module.ok()) return state.SkipWithError(module.error().message.c_str());
  CompileOptions options = Options(static_cast<Engine>(state.range(1)), 2);
  int64_t kernels = 0;
  for (auto _ : state) {
    const auto executable = Compile(*module, options);
    if (!executable.ok()) return state.SkipWithError(executable.error().message.c_str());
    kernels = (*executable)->Stats().unique_kernels;
  }
  state.SetLabel(std::string(EngineName(options.engine)));
  state.counters["unique_kernels"] = static_cast<double>(kernels);
  state.counters["instructions"] = static_cast<double>(module->Entry().instrs.size());
}
BENCHMARK(BM_CompileThousandInstructions)
    ->ArgsProduct({{1, 90}, {static_cast<int>(Engine::kOff), static_cast<int>(Engine::kOn)}})
    ->ArgNames({"widths", "engine"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fusemark

BENCHMARK_MAIN();
