// Row kernels of our own code: softmax, log-softmax, layer norm, RMS norm and arg-max, in f32 and
// bf16, over rows that lie in the L2 cache, over rows of a vocabulary, and over an array in memory.
//
//   fusemark_row_bench --benchmark_filter='softmax.*threads:1'
//
// of_bandwidth: bytes read once and written once per second over the measured bandwidth.
#include <fmt/format.h>

#include "harness/micro/kernel_case.h"

namespace fusemark {
namespace {

constexpr char kReducers[] = R"(
larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
first_largest {
  a = f32[] parameter(0)
  ai = s32[] parameter(1)
  b = f32[] parameter(2)
  bi = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, a), direction=NE
  take = pred[] or(more, nan)
  value = f32[] select(take, a, b)
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(ai, bi), direction=LT
  tie = pred[] and(equal, earlier)
  first = pred[] or(take, tie)
  index = s32[] select(first, ai, bi)
  ROOT r = (f32[], s32[]) tuple(value, index)
}
)";

// The bodies know x, f32[rows,columns], and end in y. {m}: the shape, {r}: that of one number per
// row, {c}: that of one per column.
constexpr char kSoftmax[] = R"(
  lowest = f32[] constant(-inf)
  m = {r} reduce(x, lowest), dimensions={{1}}, to_apply=larger
  mb = {m} broadcast(m), dimensions={{0}}
  d = {m} subtract(x, mb)
  e = {m} exponential(d)
  zero = f32[] constant(0)
  s = {r} reduce(e, zero), dimensions={{1}}, to_apply=sum
  sb = {m} broadcast(s), dimensions={{0}}
  y = {m} divide(e, sb)
)";
constexpr char kLogSoftmax[] = R"(
  lowest = f32[] constant(-inf)
  m = {r} reduce(x, lowest), dimensions={{1}}, to_apply=larger
  mb = {m} broadcast(m), dimensions={{0}}
  d = {m} subtract(x, mb)
  e = {m} exponential(d)
  zero = f32[] constant(0)
  s = {r} reduce(e, zero), dimensions={{1}}, to_apply=sum
  l = {r} log(s)
  lb = {m} broadcast(l), dimensions={{0}}
  y = {m} subtract(d, lb)
)";
constexpr char kLayerNorm[] = R"(
  scale = {c} parameter(1)
  shift = {c} parameter(2)
  zero = f32[] constant(0)
  width = f32[] constant({columns})
  widths = {r} broadcast(width), dimensions={{}}
  s = {r} reduce(x, zero), dimensions={{1}}, to_apply=sum
  mean = {r} divide(s, widths)
  meanb = {m} broadcast(mean), dimensions={{0}}
  d = {m} subtract(x, meanb)
  d2 = {m} multiply(d, d)
  s2 = {r} reduce(d2, zero), dimensions={{1}}, to_apply=sum
  variance = {r} divide(s2, widths)
  eps = f32[] constant(1e-5)
  epsb = {r} broadcast(eps), dimensions={{}}
  v = {r} add(variance, epsb)
  f = {r} rsqrt(v)
  fb = {m} broadcast(f), dimensions={{0}}
  n = {m} multiply(d, fb)
  scaleb = {m} broadcast(scale), dimensions={{1}}
  shiftb = {m} broadcast(shift), dimensions={{1}}
  p = {m} multiply(n, scaleb)
  y = {m} add(p, shiftb)
)";
constexpr char kRmsNorm[] = R"(
  scale = {c} parameter(1)
  zero = f32[] constant(0)
  width = f32[] constant({columns})
  widths = {r} broadcast(width), dimensions={{}}
  x2 = {m} multiply(x, x)
  s = {r} reduce(x2, zero), dimensions={{1}}, to_apply=sum
  mean = {r} divide(s, widths)
  eps = f32[] constant(1e-5)
  epsb = {r} broadcast(eps), dimensions={{}}
  v = {r} add(mean, epsb)
  f = {r} rsqrt(v)
  fb = {m} broadcast(f), dimensions={{0}}
  n = {m} multiply(x, fb)
  scaleb = {m} broadcast(scale), dimensions={{1}}
  y = {m} multiply(n, scaleb)
)";
constexpr char kArgMax[] = R"(
  lowest = f32[] constant(-inf)
  zero = s32[] constant(0)
  i = s32[{rows},{columns}] iota(), iota_dimension=1
  best = ({r}, s32[{rows}]) reduce(x, i, lowest, zero), dimensions={{1}}, to_apply=first_largest
  ROOT y = s32[{rows}] get-tuple-element(best), index=1
)";

struct Kind {
  const char* name;
  const char* body;
  bool gives_rows = true;  // the result is as large as x
};
constexpr Kind kKinds[] = {{"softmax", kSoftmax},
                           {"log_softmax", kLogSoftmax},
                           {"layer_norm", kLayerNorm},
                           {"rms_norm", kRmsNorm},
                           {"arg_max", kArgMax, false}};

struct Size {
  const char* name;
  int64_t rows, columns;
};
constexpr Size kSizes[] = {{"l2", 128, 768}, {"vocabulary", 16, 50257}, {"memory", 16384, 1024}};

KernelCase RowCase(const Kind& kind, const Size& size, const char* dtype) {
  const bool narrow = std::string(dtype) != "f32";
  const std::string shape = fmt::format("[{},{}]", size.rows, size.columns);
  std::string text = "HloModule rows\n" + std::string(kReducers) + "ENTRY main {\n  ";
  text +=
      narrow ? fmt::format("given = {0}{1} parameter(0)\n  x = f32{1} convert(given)", dtype, shape)
             : fmt::format("x = f32{} parameter(0)", shape);
  text += fmt::format(fmt::runtime(kind.body), fmt::arg("m", "f32" + shape),
                      fmt::arg("r", fmt::format("f32[{}]", size.rows)),
                      fmt::arg("c", fmt::format("f32[{}]", size.columns)),
                      fmt::arg("rows", size.rows), fmt::arg("columns", size.columns));
  if (kind.gives_rows) {
    text += fmt::format("  ROOT z = {}{} {}(y)\n", dtype, shape, narrow ? "convert" : "copy");
  }
  return {.name = fmt::format("{}/{}/{}", kind.name, dtype, size.name),
          .text = text + "}\n",
          .inputs = {{-4, 4}, {0.5, 2}},
          .elements = size.rows * size.columns};
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  for (const auto& kind : fusemark::kKinds) {
    for (const char* dtype : {"f32", "bf16"}) {
      for (const auto& size : fusemark::kSizes) {
        fusemark::RegisterCase(fusemark::RowCase(kind, size, dtype), true);
      }
    }
  }
  return fusemark::RunCases(argc, argv);
}
