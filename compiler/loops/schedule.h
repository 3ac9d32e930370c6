// Schedule: the kernel-level decisions as a flat struct of knob values. One struct for all kernel
// classes; which knobs mean something for a class is in the knob table (knobs.cpp), where each knob
// is declared once: name, field, domain, classes, targets, numerics tag, effect. From the table
// derive the search space, --set, the canonical text, the listing and the features. Measurement
// settings are not knobs.
//
// ScheduleToPrimitives() (schedule_cpu.cpp) turns a schedule into the list of loop primitives for
// one kernel; that list is printed for people and tests but is not the stored form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

struct Schedule {
  int64_t vector_bytes =
      0;               // SIMD width of the innermost loop in bytes; 0 = the target's native width
  int64_t unroll = 4;  // vectors per iteration of the innermost loop
  int64_t parallel_grain =
      0;  // least elements per parallel iteration; 0 = from the target's fork-join cost
  int64_t reduce_lanes = 4;  // independent vector accumulators of a reduction
  int64_t row_block = 1;     // rows handled together in a row kernel
  bool keep_row = true;      // row kernels: keep shared row values in a buffer (else recompute)
  int64_t tile_m = 0;        // contraction register tile, rows; 0 = as the registers allow
  int64_t tile_n = 2;        // contraction register tile, vectors
  int64_t tile_k = 128;      // contraction: most of a sum in one cache block; 0 = not cut
  bool use_library = true;   // contraction: oneDNN instead of own code, where it applies
  bool operator==(const Schedule&) const = default;
};

// What the schedule is for. `features` is LLVM's feature string of the target CPU; loops read only
// the numbers.
struct Target {
  std::string cpu;  // "x86-64-v3", "znver3", ...; LLVM's name
  std::string features;
  int64_t vector_bytes =
      32;  // widest useful SIMD register: 16 (SSE, NEON), 32 (AVX2), 64 (AVX-512)
  int64_t vector_registers = 16;
  // Neighbours in a sum that one instruction multiplies and adds up in s32, when they are bytes: 4
  // with dot product instructions, 2 where bytes have to be widened to 16 bits first.
  int64_t byte_group = 2;
  int64_t l1_bytes = 32 << 10, l2_bytes = 512 << 10, l3_bytes = 16 << 20;
  int threads = 1;
  double fork_join_ns = 3000;  // measured at start-up
};

}  // namespace fusemark::loops
