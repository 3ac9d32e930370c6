#include "autotuner/machine_limits.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>

#include "autotuner/limit_kernels.h"
#include "autotuner/measure.h"
#include "compiler/ir/tensor.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/verify.h"
#include "compiler/runtime/threads.h"

namespace fusemark {
namespace {

constexpr LimitKind kLimits[] = {
    {"fma_f32", "FLOP/s", "fused multiply-adds of f32, counted as two"},
    {"fma_f64", "FLOP/s", "fused multiply-adds of f64, counted as two"},
    {"dot_bf16", "FLOP/s", "dot products of bf16 pairs into f32 (AVX-512 BF16)"},
    {"dot_s8", "OP/s", "dot products of u8 and s8 into s32 (AVX-512 VNNI)"},
    {"read_l1", "B/s", "sum over half of the L1 cache"},
    {"read_l2", "B/s", "sum over half of the L2 cache"},
    {"read_l3", "B/s", "sum over half of the L3 cache, at least twice the L2"},
    {"read_dram", "B/s", "sum over an array beyond the caches"},
    {"add_dram", "B/s", "two arrays added into a third"},
    {"copy_dram", "B/s", "one array negated into another"},
    {"copy_stream_dram", "B/s", "one array copied with non-temporal stores"},
    {"write_dram", "B/s", "one array written"},
    {"write_stream_dram", "B/s", "one array written with non-temporal stores"},
    {"fork_join", "ns", "an empty parallel loop"},
    {"timer", "ns", "one reading of the clock"},
};

constexpr int kLeastRepeats = 5;
constexpr int64_t kPassBytes = int64_t{32} << 20;  // read from a cache in one launch
constexpr int64_t kLeastArray = int64_t{32} << 20, kMostArray = int64_t{512} << 20;

// One limit as code: `work` (operations or bytes) of one launch, or of each thread of it.
struct Measured {
  std::string_view name;
  KernelFunction function = nullptr;
  double work = 0;
  bool per_thread = false;
  int64_t chunks = 0;  // iterations of a launch, unless per thread
};

int64_t RoundDown(int64_t value, int64_t unit) {
  return std::max(value / unit, int64_t{1}) * unit;
}

class LimitMeter {
 public:
  LimitMeter(const loops::Target& target, const LimitsOptions& options)
      : target_(target),
        options_(options),
        threads_(std::max(target.threads, 1)),
        lanes_(target.vector_bytes / 4) {}

  Result<std::vector<Limit>> Run() {
    FM_RETURN_IF_ERROR(Compile());
    AddIntrinsics();
    FM_RETURN_IF_ERROR(Allocate());
    const int before = CurrentThreads();
    SetThreads(threads_);
    FillArrays();
    Result<void> done = MeasureAll();
    SetThreads(before);
    if (!done.ok()) return done.error();
    return std::move(limits_);
  }

 private:
  struct Text {
    Measured measured;
    std::string text;
  };

  bool Wanted(std::string_view name) const {
    return options_.only.empty() ||
           std::find(options_.only.begin(), options_.only.end(), name) != options_.only.end();
  }

  // A cache is read by slices of its own for every thread; the widest step of a slice is 8 vectors.
  void AddRead(std::string_view name, int64_t slice_bytes, std::vector<Text>& texts) const {
    const int64_t slice = RoundDown(slice_bytes / 4, 8 * lanes_);
    const int64_t passes = std::max<int64_t>(1, kPassBytes / (4 * slice));
    texts.push_back({{name, nullptr, static_cast<double>(4 * slice * passes), true},
                     ReadText(lanes_, threads_, slice, passes)});
  }

  int64_t L3SliceBytes() const {
    return std::max(2 * target_.l2_bytes, target_.l3_bytes / 2 / threads_);
  }

  // Twice the last cache, so that nothing is left in it when a pass starts again; never more than
  // an eighth of the free memory.
  int64_t ArrayElements() const {
    const int64_t free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t bytes = std::clamp(2 * target_.l3_bytes, kLeastArray, kMostArray);
    if (free > 0) bytes = std::min(bytes, free / 8);
    bytes = std::max(bytes, L3SliceBytes() * threads_);
    return RoundDown(bytes / 4, kLimitChunk);
  }

  std::vector<Text> Texts() const {
    const int64_t elements = ArrayElements(), chunks = elements / kLimitChunk;
    const auto array_bytes = static_cast<double>(4 * elements);
    const std::string array =
        "f32[" + std::to_string(chunks) + "," + std::to_string(kLimitChunk) + "]\n";
    const std::string x = "  operand %x: " + array, y = "  operand %y: " + array;
    const std::string at = "[i, j * " + std::to_string(lanes_) + " + v]";
    std::vector<Text> texts = {
        {{"fma_f32", nullptr, FmaWork(lanes_), true}, FmaText("f32", lanes_, threads_)},
        {{"fma_f64", nullptr, FmaWork(lanes_ / 2), true}, FmaText("f64", lanes_ / 2, threads_)}};
    AddRead("read_l1", target_.l1_bytes / 2, texts);
    AddRead("read_l2", target_.l2_bytes / 2, texts);
    if (target_.l3_bytes >= 2 * target_.l2_bytes) AddRead("read_l3", L3SliceBytes(), texts);
    texts.push_back({{"read_dram", nullptr, array_bytes, false, chunks},
                     ReadText(lanes_, chunks, kLimitChunk, 1)});
    texts.push_back({{"add_dram", nullptr, 3 * array_bytes, false, chunks},
                     MapText(lanes_, chunks, x + y, "%x" + at + " + %y" + at)});
    // Not a plain copy: LLVM would call memcpy, which chooses its stores itself.
    texts.push_back({{"copy_dram", nullptr, 2 * array_bytes, false, chunks},
                     MapText(lanes_, chunks, x, "negate(%x" + at + ")")});
    texts.push_back(
        {{"write_dram", nullptr, array_bytes, false, chunks},
         MapText(lanes_, chunks, "  operand %x: f32[" + std::to_string(lanes_) + "]\n", "%x[v]")});
    return texts;
  }

  Result<void> Compile() {
    std::vector<loops::Kernel> kernels;
    for (const Text& text : Texts()) {
      if (!Wanted(text.measured.name)) continue;
      FM_TRY(loops::Kernel kernel, loops::Parse(text.text));
      FM_RETURN_IF_ERROR(loops::Verify(kernel));
      kernels.push_back(std::move(kernel));
      measured_.push_back(text.measured);
    }
    std::vector<const loops::Kernel*> pointers;
    for (const loops::Kernel& kernel : kernels) pointers.push_back(&kernel);
    FM_TRY(jit_, Jit::Create(target_));
    FM_TRY(const std::vector<CompiledKernel> compiled, jit_->Compile(pointers, threads_));
    for (size_t i = 0; i < compiled.size(); ++i) measured_[i].function = compiled[i].phases[0];
    return Ok();
  }

  void AddIntrinsics() {
    const int64_t chunks = ArrayElements() / kLimitChunk;
    const auto array_bytes = static_cast<double>(4 * chunks * kLimitChunk);
    const Measured more[] = {{"dot_bf16", Bf16Dot().function, Bf16Dot().work, true},
                             {"dot_s8", S8Dot().function, S8Dot().work, true},
                             {"copy_stream_dram", StreamCopy(), 2 * array_bytes, false, chunks},
                             {"write_stream_dram", StreamWrite(), array_bytes, false, chunks}};
    for (const Measured& measured : more) {
      if (measured.function != nullptr && Wanted(measured.name)) measured_.push_back(measured);
    }
  }

  Result<void> Allocate() {
    try {
      const Shape shape = ArrayShape(DType::kF32, {ArrayElements()});
      for (Tensor& array : arrays_) array = MakeTensor(shape, /*zero=*/false);
      halves_ = MakeTensor(ArrayShape(DType::kF64, {64}));
    } catch (const std::bad_alloc&) {
      return Error{Code::kLaunchFailed, "out of memory while measuring the machine's limits"};
    }
    std::fill(halves_.as<double>(), halves_.as<double>() + 64, 0.5);
    return Ok();
  }

  // Every thread touches its own part first, so that its pages lie in its memory. With x = 1/2
  // every chain of multiply-adds converges to 1: no denormals, no overflow.
  void FillArrays() {
    const auto fill = [](void* context, int thread, int threads) {
      for (const Tensor& array : static_cast<LimitMeter*>(context)->arrays_) {
        const int64_t count = ElementCount(array.shape);
        std::fill(array.as<float>() + count * thread / threads,
                  array.as<float>() + count * (thread + 1) / threads, 0.5F);
      }
    };
    RunTeam(fill, this, threads_);
  }

  bool Cancelled() const { return options_.cancelled != nullptr && *options_.cancelled; }

  Result<void> MeasureAll() {
    std::vector<int> teams = {threads_};
    if (options_.one_thread && threads_ > 1) teams.insert(teams.begin(), 1);
    for (const LimitKind& kind : kLimits) {
      for (const int threads : teams) {
        if (Cancelled()) return Error{Code::kCancelled, "interrupted"};
        const std::optional<double> value = ValueOf(kind.name, threads);
        if (value)
          limits_.push_back({std::string(kind.name), std::string(kind.unit), threads, *value});
      }
    }
    return Ok();
  }

  std::optional<double> ValueOf(std::string_view name, int threads) {
    if (!Wanted(name)) return std::nullopt;
    if (name == "timer") {
      // The clock does not know of threads.
      if (threads > 1 && options_.one_thread) return std::nullopt;
      return static_cast<double>(std::max<int64_t>(1, TimerOverheadNs(SteadyClock())));
    }
    if (name == "fork_join") {
      const auto empty = [](const void* const*, void* const*, void*, int64_t, int64_t) {
        return 0;
      };
      if (threads == 1) return std::nullopt;
      return BestNs({.name = name, .function = empty, .per_thread = true}, threads);
    }
    for (const Measured& measured : measured_) {
      if (measured.name == name) return RateOf(measured, threads);
    }
    return std::nullopt;
  }

  // A team does each part as fast as one thread alone, unless somebody else has one of the CPUs:
  // then it is worth a few more tries.
  double RateOf(const Measured& measured, int threads) {
    constexpr int kTries = 5;
    const double work = measured.per_thread ? measured.work * threads : measured.work;
    const double alone = threads > 1 ? LimitOf(limits_, measured.name, 1) : 0;
    double rate = 0;
    for (int attempt = 0; attempt < kTries && (attempt == 0 || rate < alone); ++attempt) {
      rate = std::max(rate, work / BestNs(measured, threads) * 1e9);
    }
    return rate;
  }

  // The first launch touches what it works on and does not count.
  double BestNs(const Measured& measured, int threads) {
    const bool wants_f64 = measured.name == "fma_f64";
    const void* operands[] = {wants_f64 ? halves_.data.get() : arrays_[0].data.get(),
                              arrays_[1].data.get()};
    void* results[] = {arrays_[2].data.get()};
    const int64_t extent = measured.per_thread ? threads : measured.chunks;
    const Clock clock = SteadyClock();
    const int64_t begin = clock.Now();
    int64_t best = INT64_MAX;
    for (int repeat = 0; repeat <= kLeastRepeats || clock.Now() - begin < options_.each_ns;
         ++repeat) {
      const int64_t start = clock.Now();
      LaunchPhase(measured.function, operands, results, nullptr, extent, threads);
      if (repeat > 0) best = std::min(best, clock.Now() - start);
    }
    return static_cast<double>(std::max<int64_t>(best, 1));
  }

  const loops::Target& target_;
  const LimitsOptions& options_;
  const int threads_;
  const int64_t lanes_;
  std::unique_ptr<Jit> jit_;
  std::vector<Measured> measured_;
  std::array<Tensor, 3> arrays_;
  Tensor halves_;
  std::vector<Limit> limits_;
};

}  // namespace

std::span<const LimitKind> LimitKinds() {
  return kLimits;
}

Result<std::vector<Limit>> MeasureLimits(const loops::Target& target,
                                         const LimitsOptions& options) {
  return LimitMeter(target, options).Run();
}

double LimitOf(std::span<const Limit> limits, std::string_view name, int threads) {
  for (const Limit& limit : limits) {
    if (limit.name == name && limit.threads == threads) return limit.value;
  }
  return 0;
}

double MachineLimits::LeastNs(double flops, double bytes) const {
  return std::max(flops / flops_per_s, bytes / bytes_per_s) * 1e9;
}

Result<MachineLimits> MeasureMachineLimits(const loops::Target& target) {
  LimitsOptions options;
  options.only = {"fma_f32", "add_dram"};
  options.one_thread = false;
  FM_TRY(const std::vector<Limit> limits, MeasureLimits(target, options));
  const int threads = std::max(target.threads, 1);
  return MachineLimits{LimitOf(limits, "fma_f32", threads), LimitOf(limits, "add_dram", threads)};
}

}  // namespace fusemark
