// What code generation costs and what its code reaches: compile time per kernel, throughput of a
// register tile of a contraction. Vector math: math_bench.cpp.
//
//   codegen_bench --benchmark_filter=Compile
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/target.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/builder.h"
#include "compiler/loops/parse.h"

namespace fusemark {
namespace {

using loops::Builder;
using loops::ExprId;
using loops::Kernel;
using loops::LoopKind;

int64_t LanesF32() {
  return HostTarget().vector_bytes / 4;
}

// y[i] = body(x[i]) in native vectors, four per iteration.
Kernel Elementwise(int64_t count, const std::function<ExprId(Builder&, ExprId)>& body) {
  Kernel kernel;
  kernel.name = "elementwise";
  Builder b(kernel);
  const int64_t lanes = LanesF32(), unroll = 4;
  const auto x = b.AddOperand("x", DType::kF32, {count}),
             y = b.AddResult("y", DType::kF32, {count});
  const auto i = b.AddVar("i"), u = b.AddVar("u"), v = b.AddVar("v");
  const auto index = [&] {
    return b.Add(b.Add(b.Mul(b.Use(i), lanes * unroll), b.Mul(b.Use(u), lanes)), b.Use(v));
  };
  const auto store = b.Store(y, {index()}, body(b, b.Load(x, {index()})));
  const auto vectors =
      b.For(u, unroll, {b.For(v, lanes, {store}, LoopKind::kVector)}, LoopKind::kUnroll);
  kernel.body = {b.For(i, count / (lanes * unroll), {vectors}, LoopKind::kParallel)};
  return kernel;
}

const Op kMix[] = {Op::kAdd,  Op::kMultiply, Op::kMaximum,
                   Op::kTanh, Op::kSubtract, Op::kExponential};

ExprId MixedOp(Builder& b, ExprId x, int64_t i) {
  const Op op = kMix[i % 6];
  if (op == Op::kTanh || op == Op::kExponential) return b.Unary(op, x);
  return b.Binary(op, x, b.FloatConstant(DType::kF32, 1.0 + static_cast<double>(i)));
}

void CompileAll(benchmark::State& state, const std::vector<Kernel>& kernels) {
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  for (auto _ : state) {
    auto jit = Jit::Create(HostTarget());
    auto compiled = (*jit)->Compile(pointers, static_cast<int>(state.range(0)));
    if (!compiled.ok()) state.SkipWithError(compiled.error().message.c_str());
  }
  state.counters["us_per_kernel"] = benchmark::Counter(
      static_cast<double>(kernels.size()) * 1e-6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// A module of 1,000 elementwise instructions as off sees it: each its own kernel (no two equal).
void BM_CompileThousandInstructionsOff(benchmark::State& state) {
  std::vector<Kernel> kernels;
  for (int64_t i = 0; i < 1000; ++i) {
    kernels.push_back(
        Elementwise(4096 + 32 * 6 * i, [&](Builder& b, ExprId x) { return MixedOp(b, x, i); }));
  }
  CompileAll(state, kernels);
}
BENCHMARK(BM_CompileThousandInstructionsOff)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The same as on sees it: fused, twenty instructions a kernel.
void BM_CompileThousandInstructionsOn(benchmark::State& state) {
  std::vector<Kernel> kernels;
  for (int64_t k = 0; k < 50; ++k) {
    kernels.push_back(Elementwise(4096 + 32 * k, [&](Builder& b, ExprId x) {
      for (int64_t i = 0; i < 20; ++i) x = MixedOp(b, x, i + k);
      return x;
    }));
  }
  CompileAll(state, kernels);
}
BENCHMARK(BM_CompileThousandInstructionsOn)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

struct Aligned {
  explicit Aligned(size_t bytes) : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* floats() const { return static_cast<float*>(data); }
  void* data;
};

// Packed operands in L1: the tile itself, without blocking.
void BM_GemmTile(benchmark::State& state) {
  const int64_t rows = state.range(0), vectors = state.range(1), lanes = LanesF32(), k = 256;
  const std::string m = std::to_string(rows), n = std::to_string(vectors),
                    l = std::to_string(lanes);
  const std::string width = std::to_string(vectors * lanes);
  const std::string loops =
      "for m in " + m + " unroll { for n in " + n + " unroll { for v in " + l + " vector { ";
  const std::string acc = "%acc[m, n * " + l + " + v]";
  const auto kernel = loops::Parse(
      "kernel @gemm class=contraction\n operand %a: f32[256," + m + "]\n operand %b: f32[256," +
      width + "]\n result %c: f32[" + m + "," + width + "]\n{\n alloc %acc: f32[" + m + "," +
      width + "] register\n" + loops + acc + " = 0:f32 } } }\n for k in 256 reduces { " + loops +
      acc + " = fma(%a[k, m], %b[k, n * " + l + " + v], " + acc + ") } } } }\n" + loops +
      "%c[m, n * " + l + " + v] = " + acc + " } } }\n}\n");
  auto jit = Jit::Create(HostTarget());
  auto compiled = (*jit)->Compile({&*kernel}, 1);
  if (!compiled.ok()) return state.SkipWithError(compiled.error().message.c_str());
  const Aligned a(static_cast<size_t>(k * rows * 4)),
      b(static_cast<size_t>(k * vectors * lanes * 4)),
      c(static_cast<size_t>(rows * vectors * lanes * 4));
  for (int64_t i = 0; i < k * rows; ++i) a.floats()[i] = 1;
  for (int64_t i = 0; i < k * vectors * lanes; ++i) b.floats()[i] = 0.5f;
  const void* operands[] = {a.data, b.data};
  void* results[] = {c.data};
  for (auto _ : state) {
    (*compiled)[0].phases[0](operands, results, nullptr, 0, 1);
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * static_cast<double>(rows * vectors * lanes * k);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_GemmTile)->Args({6, 2})->Args({4, 3})->Args({8, 2})->Args({14, 2})->Args({8, 3});

}  // namespace
}  // namespace fusemark

BENCHMARK_MAIN();
