// Contractions of our own code against oneDNN's, shape by shape, in one process and interleaved:
// every iteration times the one and then the other, and the least time of each counts (noise of the
// machine only adds). Results are compared in the same run.
//
//   fusemark_contraction_bench --benchmark_filter=bert
//
// Products of low precision (low/...) stand beside oneDNN's of the same types; where oneDNN has
// none (f16, sums of bf16 in f32), beside its product of the same numbers as f32, converted before.
//
// own, onednn: GFLOP/s; of_peak: own over the measured f32 FMA peak of as many threads; ratio: own
// over oneDNN. What scripts/compare_peers judges: own_ns, onednn_ns (the least times) and the least
// and the largest of m, n, k.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotuner/machine_limits.h"
#include "compiler/codegen/target.h"
#include "compiler/on.h"
#include "compiler/runtime/library.h"
#include "compiler/text/text.h"
#include "harness/golden_values.h"
#include "workloads/inputs.h"

namespace fusemark {
namespace {

struct Types {
  DType lhs = DType::kF32, rhs = DType::kF32, result = DType::kF32;
};

struct Product {
  const char* name;
  int64_t m, n, k;
  int64_t batch = 1;
  Types types = {};
};

constexpr Types kBF16 = {DType::kBF16, DType::kBF16, DType::kBF16},
                kBF16ToF32 = {DType::kBF16, DType::kBF16, DType::kF32},
                kF16 = {DType::kF16, DType::kF16, DType::kF16},
                kS8 = {DType::kS8, DType::kS8, DType::kS32},
                kU8 = {DType::kU8, DType::kS8, DType::kS32};

constexpr Product kProducts[] = {
    {"bert_qkv", 128, 768, 768},
    {"bert_up", 128, 3072, 768},
    {"bert_down", 128, 768, 3072},
    {"bert_b8_qkv", 1024, 768, 768},
    {"bert_b8_up", 1024, 3072, 768},
    {"bert_b8_down", 1024, 768, 3072},
    {"bert_scores", 128, 128, 64, 12},
    {"bert_values", 128, 64, 128, 12},
    {"resnet_conv2_reduce", 3136, 64, 256},
    {"resnet_conv2_expand", 3136, 256, 64},
    {"resnet_conv4_reduce", 196, 256, 1024},
    {"resnet_conv5_expand", 49, 2048, 512},
    {"dlrm_top", 2048, 512, 415},
    {"dlrm_b128", 128, 512, 415},
    {"decode_qkv", 1, 2304, 768},
    {"decode_up", 1, 3072, 768},
    {"decode_logits", 1, 50257, 768},
    {"cube_16", 16, 16, 16},
    {"cube_64", 64, 64, 64},
    {"cube_128", 128, 128, 128},
    {"cube_256", 256, 256, 256},
    {"cube_512", 512, 512, 512},
    {"cube_1024", 1024, 1024, 1024},
    {"low/bf16/bert_qkv", 128, 768, 768, 1, kBF16},
    {"low/bf16/bert_up", 512, 3072, 768, 1, kBF16},
    {"low/bf16/cube_1024", 1024, 1024, 1024, 1, kBF16},
    {"low/bf16_f32/bert_qkv", 128, 768, 768, 1, kBF16ToF32},
    {"low/bf16_f32/bert_up", 512, 3072, 768, 1, kBF16ToF32},
    {"low/bf16_f32/cube_1024", 1024, 1024, 1024, 1, kBF16ToF32},
    {"low/f16/bert_qkv", 128, 768, 768, 1, kF16},
    {"low/f16/bert_up", 512, 3072, 768, 1, kF16},
    {"low/f16/cube_1024", 1024, 1024, 1024, 1, kF16},
    {"low/s8/bert_qkv", 128, 768, 768, 1, kS8},
    {"low/s8/bert_up", 512, 3072, 768, 1, kS8},
    {"low/s8/cube_1024", 1024, 1024, 1024, 1, kS8},
    {"low/u8/bert_qkv", 128, 768, 768, 1, kU8},
    {"low/u8/bert_up", 512, 3072, 768, 1, kU8},
    {"low/u8/cube_1024", 1024, 1024, 1024, 1, kU8},
};

std::string Text(const Product& p) {
  const std::string m = std::to_string(p.m), n = std::to_string(p.n), k = std::to_string(p.k);
  const std::string batch = p.batch > 1 ? std::to_string(p.batch) + "," : "";
  const std::string batch_dims = p.batch > 1 ? ", lhs_batch_dims={0}, rhs_batch_dims={0}" : "";
  const std::string lhs_dim = p.batch > 1 ? "2" : "1", rhs_dim = p.batch > 1 ? "1" : "0";
  const auto type = [](DType dtype) { return std::string(DTypeName(dtype)) + "["; };
  return "HloModule product\nENTRY main {\n  a = " + type(p.types.lhs) + batch + m + "," + k +
         "] parameter(0)\n  b = " + type(p.types.rhs) + batch + k + "," + n +
         "] parameter(1)\n  ROOT d = " + type(p.types.result) + batch + m + "," + n +
         "] dot(a, b), lhs_contracting_dims={" + lhs_dim + "}, rhs_contracting_dims={" + rhs_dim +
         "}" + batch_dims + "\n}\n";
}

struct Runnable {
  std::unique_ptr<Executable> executable;
  Tensor output;
};

// oneDNN's product as it is, without anything of ours around it.
struct LibraryProduct {
  std::unique_ptr<LibraryKernel> kernel;
  Tensor scratch, output;
  std::vector<Tensor> converted;  // instead of the parameters
};

std::vector<Tensor> ConvertedToF32(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> converted;
  for (const Tensor& input : inputs) {
    Tensor& wide = converted.emplace_back(MakeTensor(ArrayShape(DType::kF32, input.shape.dims)));
    for (int64_t i = 0; i < ElementCount(input.shape); ++i)
      wide.as<float>()[i] = static_cast<float>(ElementAt(input, i).real());
  }
  return converted;
}

std::optional<LibraryType> LibraryTypeOf(const Types& types) {
  if (types.lhs == DType::kF32) return LibraryType::kF32;
  if (types.lhs == DType::kBF16 && types.result == DType::kBF16) return LibraryType::kBF16;
  if (types.lhs == DType::kS8) return LibraryType::kS8;
  if (types.lhs == DType::kU8) return LibraryType::kU8;
  return std::nullopt;
}

Result<LibraryProduct> PrepareLibrary(const Product& p, const Module& module,
                                      const std::vector<Tensor>& inputs) {
  const auto type = LibraryTypeOf(p.types);
  MatmulSpec spec;
  spec.type = type.value_or(LibraryType::kF32);
  if (p.batch > 1) {
    spec.batch = {p.batch};
    spec.lhs_batch_strides = {p.m * p.k};
    spec.rhs_batch_strides = {p.k * p.n};
  }
  spec.m = p.m;
  spec.n = p.n;
  spec.k = p.k;
  spec.lhs_m_stride = p.k;
  spec.rhs_k_stride = p.n;
  LibraryProduct library;
  library.kernel = MakeMatmul(spec);
  if (library.kernel == nullptr) return Unsupported("oneDNN has no product of this shape");
  library.scratch = MakeTensor(ArrayShape(DType::kU8, {library.kernel->scratch_bytes()}));
  Shape output = OutputLeaves(module)[0];
  if (!type) {
    output.dtype = DType::kF32;
    library.converted = ConvertedToF32(inputs);
  }
  library.output = MakeTensor(output);
  return library;
}

Result<void> Run(LibraryProduct& library, const std::vector<const void*>& params) {
  const auto& own = library.converted;
  return library.kernel->Run(own.empty() ? params[0] : own[0].data.get(),
                             own.empty() ? params[1] : own[1].data.get(), library.output.data.get(),
                             library.scratch.data.get());
}

Result<Runnable> Prepare(const Module& module, int threads) {
  CompileOptions options;
  options.engine = Engine::kOn;
  options.threads = threads;
  options.target = HostTarget();
  options.target.threads = threads;
  FM_TRY(OnProblem problem, PrepareOn(module, options));
  for (const Task& task : problem.tasks) {
    if (task.klass != loops::KernelClass::kContraction) continue;
    problem.config.schedules.at(task.id).schedule.use_library = false;
  }
  options.config_text = PrintConfig(problem.config);
  Runnable runnable;
  FM_TRY(runnable.executable, Compile(module, options));
  runnable.output = MakeTensor(OutputLeaves(module)[0]);
  return runnable;
}

Result<void> Run(Runnable& runnable, const std::vector<const void*>& params) {
  void* output = runnable.output.data.get();
  return runnable.executable->Run(params, {&output, 1});
}

template <class Side>
double SecondsOf(Side& side, const std::vector<const void*>& params) {
  const auto begin = std::chrono::steady_clock::now();
  const bool ok = Run(side, params).ok();
  const auto end = std::chrono::steady_clock::now();
  return ok ? std::chrono::duration<double>(end - begin).count() : 0;
}

// Largest difference over the RMS of the library's result.
double Disagreement(const Tensor& own, const Tensor& library) {
  double worst = 0, square = 0;
  const int64_t count = ElementCount(own.shape);
  for (int64_t i = 0; i < count; ++i) {
    const double x = ElementAt(own, i).real(), y = ElementAt(library, i).real();
    worst = std::max(worst, std::isnan(x) ? 1e30 : std::abs(x - y));
    square += y * y;
  }
  return worst / std::sqrt(square / static_cast<double>(count));
}

// Of the RMS: the order of the sums, and the rounding of what is stored; integers are exact.
double Tolerance(DType result) {
  switch (result) {
    case DType::kF32: return 1e-4;
    case DType::kBF16: return 0.05;
    case DType::kF16: return 0.01;
    default: return 0;
  }
}

// Measured once per thread count.
double PeakGflops(int threads) {
  static std::map<int, double> peaks;
  const auto [place, fresh] = peaks.try_emplace(threads, 0);
  if (fresh) {
    loops::Target target = HostTarget();
    target.threads = threads;
    const auto limits = MeasureMachineLimits(target);
    if (limits.ok()) place->second = limits->flops_per_s * 1e-9;
  }
  return place->second;
}

void BM_Product(benchmark::State& state, const Product& product) {
  const auto threads = static_cast<int>(state.range(0));
  const auto module = ParseModule(Text(product), "bench");
  if (!module.ok()) return state.SkipWithError(module.error().message.c_str());
  auto own = Prepare(*module, threads);
  const auto inputs = SynthesiseInputs(*module, "product", {});
  if (!own.ok()) return state.SkipWithError(own.error().message.c_str());
  if (!inputs.ok()) return state.SkipWithError(inputs.error().message.c_str());
  auto library = PrepareLibrary(product, *module, *inputs);
  if (!library.ok()) return state.SkipWithError(library.error().message.c_str());
  std::vector<const void*> params;
  for (const Tensor& input : *inputs) params.push_back(input.data.get());
  double own_least = 1e30, library_least = 1e30;
  for (auto _ : state) {
    const double seconds = SecondsOf(*own, params);
    own_least = std::min(own_least, seconds);
    library_least = std::min(library_least, SecondsOf(*library, params));
    state.SetIterationTime(seconds);
  }
  const double error = Disagreement(own->output, library->output);
  if (!(error <= Tolerance(product.types.result))) {
    return state.SkipWithError(
        ("results differ by " + std::to_string(error) + " of the RMS").c_str());
  }
  const double flops = 2.0 * static_cast<double>(product.batch) * static_cast<double>(product.m) *
                       static_cast<double>(product.n) * static_cast<double>(product.k);
  state.counters["own"] = flops / own_least * 1e-9;
  state.counters["onednn"] = flops / library_least * 1e-9;
  state.counters["of_peak"] = flops / own_least * 1e-9 / PeakGflops(threads);
  state.counters["ratio"] = library_least / own_least;
  state.counters["own_ns"] = own_least * 1e9;
  state.counters["onednn_ns"] = library_least * 1e9;
  state.counters["least_dim"] = static_cast<double>(std::min({product.m, product.n, product.k}));
  state.counters["largest_dim"] = static_cast<double>(std::max({product.m, product.n, product.k}));
}

void Register() {
  for (const Product& product : kProducts) {
    benchmark::RegisterBenchmark(product.name, BM_Product, product)
        ->Arg(1)
        ->Arg(2)
        ->ArgName("threads")
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  fusemark::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
