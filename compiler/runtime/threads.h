// The one thread pool: the OpenMP runtime (libgomp), because the distribution's oneDNN runs on it
// too and a second set of spinning workers would only fight it. Called through its C entry points,
// so that GCC and clang builds use the same runtime and no file needs -fopenmp.
#pragma once

#include <cstdint>

#include "compiler/program/abi.h"

namespace fusemark {

// Sets the team size of own kernels and of library kernels in this process. At least 1.
void SetThreads(int threads);
int CurrentThreads();

// Runs body(context, thread, threads) on every thread of the team and returns when all are done.
using TeamBody = void (*)(void* context, int thread, int threads);
void RunTeam(TeamBody body, void* context, int threads);

// Runs one phase of a kernel over [0, extent), split into equal contiguous ranges, one per thread.
// The split depends on extent and thread count only, and kernels make every iteration independent,
// so results do not depend on it.
void LaunchPhase(KernelFunction function, const void* const* operands, void* const* results,
                 void* scratch, int64_t extent, int threads);

// Median cost of an empty fork-join over `threads` threads in ns (measured once per thread count,
// then remembered).
double ForkJoinNs(int threads);

}  // namespace fusemark
