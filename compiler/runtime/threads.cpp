#include "compiler/runtime/threads.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>

// libgomp's stable C ABI (the calls that `#pragma omp parallel` compiles to).
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}

namespace fusemark {
namespace {

int g_threads = 1;

struct Team {
  TeamBody body;
  void* context;
};

void TeamEntry(void* data) {
  const auto* team = static_cast<const Team*>(data);
  team->body(team->context, omp_get_thread_num(), omp_get_num_threads());
}

struct PhaseLaunch {
  KernelFunction function;
  const void* const* operands;
  void* const* results;
  void* scratch;
  int64_t extent;
};

void RunRange(void* context, int thread, int threads) {
  const auto* launch = static_cast<const PhaseLaunch*>(context);
  const int64_t begin = launch->extent * thread / threads;
  const int64_t end = launch->extent * (thread + 1) / threads;
  if (begin < end) {
    launch->function(launch->operands, launch->results, launch->scratch, begin, end);
  }
}

}  // namespace

void SetThreads(int threads) {
  g_threads = std::max(1, threads);
  omp_set_dynamic(0);
  omp_set_num_threads(g_threads);
}

int CurrentThreads() {
  return g_threads;
}

void RunTeam(TeamBody body, void* context, int threads) {
  if (threads <= 1) {
    body(context, 0, 1);
    return;
  }
  Team team{body, context};
  GOMP_parallel(TeamEntry, &team, static_cast<unsigned>(threads), 0);
}

void LaunchPhase(KernelFunction function, const void* const* operands, void* const* results,
                 void* scratch, int64_t extent, int threads) {
  const int team = static_cast<int>(std::min<int64_t>(threads, extent));
  if (team <= 1) {
    if (extent > 0) function(operands, results, scratch, 0, extent);
    return;
  }
  PhaseLaunch launch{function, operands, results, scratch, extent};
  RunTeam(RunRange, &launch, team);
}

double ForkJoinNs(int threads) {
  static std::mutex mutex;
  static std::map<int, double> measured;
  if (threads <= 1) return 0;
  const std::lock_guard lock(mutex);
  if (const auto it = measured.find(threads); it != measured.end()) return it->second;
  using Clock = std::chrono::steady_clock;
  const auto empty = [](void*, int, int) {};
  for (int i = 0; i < 20; ++i) RunTeam(empty, nullptr, threads);
  std::array<double, 51> samples{};
  for (double& sample : samples) {
    const auto start = Clock::now();
    RunTeam(empty, nullptr, threads);
    sample = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return measured[threads] = samples[samples.size() / 2];
}

}  // namespace fusemark
