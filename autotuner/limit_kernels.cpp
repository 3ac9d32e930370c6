#include "autotuner/limit_kernels.h"

#include <fmt/format.h>

namespace fusemark {
namespace {

// Independent sums: more than latency times throughput of any FMA unit, fewer than the registers.
constexpr int64_t kChains = 12;
constexpr int64_t kSteps = 50'000;
// Sums of a read: enough for two loads in a cycle.
constexpr int64_t kSums = 8;

}  // namespace

double FmaWork(int64_t lanes) {
  return static_cast<double>(2 * kChains * lanes * kSteps);
}

std::string FmaText(const std::string& dtype, int64_t lanes, int threads) {
  return fmt::format(
      R"(kernel @fma_{dtype} class=loop
  operand %x: {dtype}[{lanes}]
  result %r: {dtype}[{threads},{width}]
{{
  for t in {threads} parallel {{
    alloc %acc: {dtype}[{width}] register
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
      fmt::arg("dtype", dtype), fmt::arg("lanes", lanes), fmt::arg("threads", threads),
      fmt::arg("width", kChains * lanes), fmt::arg("chains", kChains), fmt::arg("steps", kSteps));
}

std::string ReadText(int64_t lanes, int64_t slices, int64_t slice, int64_t passes) {
  return fmt::format(
      R"(kernel @read class=loop
  operand %x: f32[{slices},{slice}]
  result %r: f32[{slices},{width}]
{{
  for t in {slices} parallel {{
    alloc %acc: f32[{width}] register
    for u in {sums} unroll {{
      for v in {lanes} vector {{
        %acc[u * {lanes} + v] = 0:f32
      }}
    }}
    for k in {passes} reduces {{
      for j in {steps} reduces {{
        for u in {sums} unroll {{
          for v in {lanes} vector {{
            %acc[u * {lanes} + v] = %acc[u * {lanes} + v] + %x[t, j * {width} + u * {lanes} + v]
          }}
        }}
      }}
    }}
    for u in {sums} unroll {{
      for v in {lanes} vector {{
        %r[t, u * {lanes} + v] = %acc[u * {lanes} + v]
      }}
    }}
  }}
}}
)",
      fmt::arg("lanes", lanes), fmt::arg("slices", slices), fmt::arg("slice", slice),
      fmt::arg("passes", passes), fmt::arg("width", kSums * lanes), fmt::arg("sums", kSums),
      fmt::arg("steps", slice / (kSums * lanes)));
}

std::string MapText(int64_t lanes, int64_t chunks, const std::string& operands,
                    const std::string& value) {
  return fmt::format(
      R"(kernel @map class=loop
{operands}  result %r: f32[{chunks},{chunk}]
{{
  for i in {chunks} parallel {{
    for j in {vectors} {{
      for v in {lanes} vector {{
        %r[i, j * {lanes} + v] = {value}
      }}
    }}
  }}
}}
)",
      fmt::arg("operands", operands), fmt::arg("chunks", chunks), fmt::arg("chunk", kLimitChunk),
      fmt::arg("vectors", kLimitChunk / lanes), fmt::arg("lanes", lanes), fmt::arg("value", value));
}

}  // namespace fusemark
