// The off engine: what a user gets without a graph compiler. Instructions run one after another in
// program order; each is its own kernel (oneDNN for dot and convolution), each result in its own
// reference-counted buffer from a caching allocator; a run-time loop looks the kernel up by its
// signature and dispatches it.
//
// It has to be a fair opponent, so it does what eager frameworks do:
//   * reshape, copy, tuple and get-tuple-element are views: no kernel, no copy;
//   * a broadcast that only elementwise instructions read is their implicit broadcast: computed
//     inside each of them, never materialised; scalar constants are immediate operands;
//   * kernels are vectorised and threaded by the same schedules as those of on; buffers are
//   recycled.
// Narrow floats are rounded after every instruction.
#pragma once

#include <atomic>
#include <memory>

#include "compiler/ir/module.h"
#include "compiler/loops/schedule.h"
#include "compiler/program/executable.h"

namespace fusemark {

// kUnsupported names the first instruction that no lowering takes. Calls must have been inlined
// except where they grow the module too far; composites must have been expanded (compiler/passes).
// `cancelled` is checked between kernels; may be null.
Result<std::unique_ptr<Executable>> CompileOff(const Module& module, const loops::Target& target,
                                               int threads, const std::atomic<bool>* cancelled);

}  // namespace fusemark
