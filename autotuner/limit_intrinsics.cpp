// The limits that need instructions by name. Each function is compiled for its instruction set
// alone and given out only where this CPU has it.
#include <cstdint>

#include "autotuner/limit_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fusemark {

#if defined(__x86_64__)
namespace {

constexpr int64_t kVector = 8;  // f32 in a 32-byte store

[[gnu::target("avx")]] int32_t StreamCopyAvx(const void* const* operands, void* const* results,
                                             void*, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(operands[0]);
  auto* r = static_cast<float*>(results[0]);
  for (int64_t i = begin * kLimitChunk; i < end * kLimitChunk; i += kVector) {
    _mm256_stream_ps(r + i, _mm256_load_ps(x + i));
  }
  _mm_sfence();
  return 0;
}

[[gnu::target("avx")]] int32_t StreamWriteAvx(const void* const* operands, void* const* results,
                                              void*, int64_t begin, int64_t end) {
  const __m256 value = _mm256_load_ps(static_cast<const float*>(operands[0]));
  auto* r = static_cast<float*>(results[0]);
  for (int64_t i = begin * kLimitChunk; i < end * kLimitChunk; i += kVector) {
    _mm256_stream_ps(r + i, value);
  }
  _mm_sfence();
  return 0;
}

constexpr int kChains = 12;
constexpr int64_t kSteps = 50'000;
constexpr int64_t kBytes = 64;

[[gnu::target("avx512f,avx512bf16")]] int32_t Bf16DotAvx512(const void* const* operands,
                                                            void* const* results, void*,
                                                            int64_t begin, int64_t end) {
  // Factors of 0 keep the sums finite whatever the bits of the operand mean.
  const auto x = reinterpret_cast<__m512bh>(_mm512_load_si512(operands[0]));
  const auto zero = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  for (int64_t t = begin; t < end; ++t) {
    __m512 sums[kChains];
    for (__m512& sum : sums) sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < kSteps; ++k) {
#pragma GCC unroll 12
      for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, x, zero);
    }
    for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    _mm512_store_ps(static_cast<std::byte*>(results[0]) + t * kBytes, sums[0]);
  }
  return 0;
}

[[gnu::target("avx512f,avx512vnni")]] int32_t S8DotAvx512(const void* const* operands,
                                                          void* const* results, void*,
                                                          int64_t begin, int64_t end) {
  const __m512i x = _mm512_load_si512(operands[0]);
  for (int64_t t = begin; t < end; ++t) {
    __m512i sums[kChains];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    for (int64_t k = 0; k < kSteps; ++k) {
#pragma GCC unroll 12
      for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, x, x);
    }
    for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
    _mm512_store_si512(static_cast<std::byte*>(results[0]) + t * kBytes, sums[0]);
  }
  return 0;
}

// Products and sums of one vector: two of each 2-byte, four of each 1-byte pair of a 4-byte lane.
constexpr double kDotSteps = 2.0 * 16 * kChains * static_cast<double>(kSteps);

}  // namespace

KernelFunction StreamCopy() {
  return __builtin_cpu_supports("avx") != 0 ? StreamCopyAvx : nullptr;
}
KernelFunction StreamWrite() {
  return __builtin_cpu_supports("avx") != 0 ? StreamWriteAvx : nullptr;
}
DotKernel Bf16Dot() {
  if (__builtin_cpu_supports("avx512bf16") == 0) return {};
  return {Bf16DotAvx512, 2 * kDotSteps};
}
DotKernel S8Dot() {
  if (__builtin_cpu_supports("avx512vnni") == 0) return {};
  return {S8DotAvx512, 4 * kDotSteps};
}

#else

KernelFunction StreamCopy() {
  return nullptr;
}
KernelFunction StreamWrite() {
  return nullptr;
}
DotKernel Bf16Dot() {
  return {};
}
DotKernel S8Dot() {
  return {};
}

#endif

}  // namespace fusemark
