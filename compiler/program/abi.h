// The ABI of compiled code. The same for JIT, AOT and off.
//
// Kernel: one function per phase. `operands` and `results` are the kernel's buffers in order, dense
// row-major; `scratch` holds the kernel's scratch buffers (loops::ScratchBytes), 64-byte aligned;
// [begin, end) is a range of the phase's outer parallel loop (0, 1 for a serial phase). Returns 0.
//
// Host program: `params` and `outputs` are flattened leaves in depth-first order. Returns 0, or 1
// with an error text in the context.
#pragma once

#include <cstdint>

namespace fusemark {

using KernelFunction = int32_t (*)(const void* const* operands, void* const* results, void* scratch,
                                   int64_t begin, int64_t end);

// A loop of the host program: `places` are its memory in the order of NativeStep, `arena` that of
// its condition and body. Returns 1 if *cancelled was not 0 after some trip, else 0.
using NativeFunction = int32_t (*)(void* const* places, void* arena, const uint8_t* cancelled);

}  // namespace fusemark
