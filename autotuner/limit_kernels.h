// The code that machine_limits.cpp times: loops of our own compiler, and functions with intrinsics
// where the loop IR has no words for it (streaming stores, dot products of narrow types). Internal
// to the measuring.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/loops/schedule.h"
#include "compiler/program/abi.h"

namespace fusemark {

// Elements that one iteration of the parallel loop handles where an array lies in memory.
inline constexpr int64_t kLimitChunk = 16 * 1024;

// Every thread runs chains of multiply-adds of one vector each, enough of them to hide the latency.
// `dtype`: f32 or f64.
std::string FmaText(const std::string& dtype, int64_t lanes, int threads);
double FmaWork(int64_t lanes);  // of one thread

// Thread t sums up slice t of x, f32[slices, slice], `passes` times.
std::string ReadText(int64_t lanes, int64_t slices, int64_t slice, int64_t passes);

// r = `value` over f32[chunks, kLimitChunk]. {at}, {v} in `value`: the index of the element and of
// its lane.
std::string MapText(int64_t lanes, int64_t chunks, const std::string& operands,
                    const std::string& value);

// Null where the CPU or the compiler cannot; both have the ABI of a kernel's phase. The stream
// functions handle chunks of f32, the dot functions one thread per iteration.
KernelFunction StreamCopy();
KernelFunction StreamWrite();
struct DotKernel {
  KernelFunction function = nullptr;
  double work = 0;  // operations of one thread
};
DotKernel Bf16Dot();
DotKernel S8Dot();

}  // namespace fusemark
