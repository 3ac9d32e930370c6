#include "autotuner/machine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>

#include "autotuner/measure.h"
#include "compiler/ir/tensor.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/verify.h"
#include "compiler/runtime/threads.h"

namespace fusemark {
namespace {

constexpr int kRepeats = 7;
// Independent sums: more than latency times throughput of any FMA unit, fewer than the registers.
constexpr int64_t kChains = 12;
constexpr int64_t kSteps = 100'000;
constexpr int64_t kArrayElements = int64_t{1} << 23;  // 32 MiB of f32 each
constexpr int64_t kChunk = 1024;

// Every thread runs kChains chains of kSteps multiply-adds of one vector each.
std::string FmaText(int64_t lanes, int threads) {
  const int64_t width = kChains * lanes;
  return fmt::format(
      R"(kernel @fma class=loop
  operand %x: f32[{lanes}]
  result %r: f32[{threads},{width}]
{{
  for t in {threads} parallel {{
    alloc %acc: f32[{width}] register
    for u in {chains} unroll {{
      for v in {lanes} vector {{
        %acc[u * {lanes} + v] = %x[v]
      }}
    }}
    for k in {steps} reduces {{
      for u in {chains} unroll {{
        for v in {lanes} vector {{
          %acc[u * {lanes} + v] = fma(%acc[u * {lanes} + v], %x[v], %x[v])
        }}
      }}
    }}
    for u in {chains} unroll {{
      for v in {lanes} vector {{
        %r[t, u * {lanes} + v] = %acc[u * {lanes} + v]
      }}
    }}
  }}
}}
)",
      fmt::arg("lanes", lanes), fmt::arg("threads", threads), fmt::arg("width", width),
      fmt::arg("chains", kChains), fmt::arg("steps", kSteps));
}

std::string AddText(int64_t lanes) {
  return fmt::format(
      R"(kernel @add class=loop
  operand %x: f32[{chunks},{chunk}]
  operand %y: f32[{chunks},{chunk}]
  result %r: f32[{chunks},{chunk}]
{{
  for i in {chunks} parallel {{
    for j in {vectors} {{
      for v in {lanes} vector {{
        %r[i, j * {lanes} + v] = %x[i, j * {lanes} + v] + %y[i, j * {lanes} + v]
      }}
    }}
  }}
}}
)",
      fmt::arg("chunks", kArrayElements / kChunk), fmt::arg("chunk", kChunk),
      fmt::arg("vectors", kChunk / lanes), fmt::arg("lanes", lanes));
}

struct Timed {
  const CompiledKernel* kernel = nullptr;
  std::vector<const void*> operands;
  std::vector<void*> results;

  // Best of kRepeats after one that touches the memory.
  double BestNs(int threads) const {
    const Clock clock = SteadyClock();
    int64_t best = INT64_MAX;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      const int64_t start = clock.Now();
      LaunchPhase(kernel->phases[0], operands.data(), results.data(), nullptr, kernel->extents[0],
                  threads);
      if (repeat > 0) best = std::min(best, clock.Now() - start);
    }
    return static_cast<double>(std::max<int64_t>(best, 1));
  }
};

}  // namespace

double MachineLimits::LeastNs(double flops, double bytes) const {
  return std::max(flops / flops_per_s, bytes / bytes_per_s) * 1e9;
}

Result<MachineLimits> MeasureMachineLimits(const loops::Target& target) {
  const int64_t lanes = target.vector_bytes / 4;
  const int threads = std::max(target.threads, 1);
  FM_TRY(const loops::Kernel fma, loops::Parse(FmaText(lanes, threads)));
  FM_TRY(const loops::Kernel add, loops::Parse(AddText(lanes)));
  FM_RETURN_IF_ERROR(loops::Verify(fma));
  FM_RETURN_IF_ERROR(loops::Verify(add));
  FM_TRY(const std::unique_ptr<Jit> jit, Jit::Create(target));
  FM_TRY(const std::vector<CompiledKernel> compiled, jit->Compile({&fma, &add}, 1));
  std::array<Tensor, 3> arrays;
  try {
    for (Tensor& array : arrays) array = MakeTensor(ArrayShape(DType::kF32, {kArrayElements}));
  } catch (const std::bad_alloc&) {
    return Error{Code::kLaunchFailed, "out of memory while measuring the machine's bandwidth"};
  }
  // With x = 1/2 every chain converges to 1: no denormals, no overflow.
  auto* x = reinterpret_cast<float*>(arrays[0].data.get());
  std::fill(x, x + kArrayElements, 0.5F);
  const int before = CurrentThreads();
  SetThreads(threads);
  const double fma_ns =
      Timed{&compiled[0], {arrays[0].data.get()}, {arrays[2].data.get()}}.BestNs(threads);
  const double add_ns =
      Timed{&compiled[1], {arrays[0].data.get(), arrays[1].data.get()}, {arrays[2].data.get()}}
          .BestNs(threads);
  SetThreads(before);
  const auto flops = static_cast<double>(2 * kChains * lanes * kSteps * threads);
  return MachineLimits{flops / fma_ns * 1e9,
                       static_cast<double>(3 * 4 * kArrayElements) / add_ns * 1e9};
}

}  // namespace fusemark
