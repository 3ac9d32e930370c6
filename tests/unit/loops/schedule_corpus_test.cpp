// Every distinct task of the corpus (each instruction as a kernel of its own) under several
// schedules: the result passes the verifier, small ones are run and compared with the unscheduled
// kernel. Equal task ids mean equal task texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "compiler/ir/number.h"
#include "compiler/loops/knobs.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/verify.h"
#include "compiler/text/text.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

constexpr int64_t kSmall = 30000;  // elements of all buffers together: worth interpreting

int64_t Elements(const Kernel& kernel) {
  int64_t total = 0;
  for (const Buffer& buffer : kernel.buffers) {
    int64_t count = 1;
    for (const int64_t dim : buffer.dims) count *= dim;
    total += count;
  }
  return total;
}

// Iterations of the innermost bodies, saturated.
double Iterations(const Block& block) {
  double total = 0;
  for (const Stmt& stmt : block) {
    const double inside = std::max(1.0, Iterations(stmt.body) + Iterations(stmt.else_body));
    total += stmt.kind == StmtKind::kFor ? static_cast<double>(stmt.extent) * inside : inside;
  }
  return total;
}

// `product`: a product that overflows is infinite, NaN or zero depending on the order of its
// factors.
bool Close(const Buffer& buffer, const Bytes& a, const Bytes& b, bool product) {
  if (!IsFloat(buffer.dtype)) return a == b;
  const auto size = static_cast<size_t>(ByteSize(buffer.dtype));
  const double tolerance = size == 2 ? 0.02 : 1e-4;
  for (size_t i = 0; i + size <= a.size(); i += size) {
    uint64_t x = 0, y = 0;
    std::memcpy(&x, &a[i], size);
    std::memcpy(&y, &b[i], size);
    if (x == y) continue;
    const double u = FloatFromBits(buffer.dtype, x), v = FloatFromBits(buffer.dtype, y);
    if (std::isnan(u) && std::isnan(v)) continue;
    if (product && (u == 0 || !std::isfinite(u))) continue;
    if (!(std::fabs(u - v) <= tolerance * (1 + std::fabs(u)))) return false;
  }
  return true;
}

struct Sweep {
  std::map<Hash128, std::string> tasks;
  std::mt19937 random{1};
  int scheduled = 0, compared = 0, failures = 0;

  void Fail(const std::string& where, const std::string& message, const Kernel& kernel) {
    if (++failures < 6) ADD_FAILURE() << where << ": " << message << "\n" << Print(kernel);
  }

  Schedule RandomSchedule(KernelClass klass) {
    Schedule schedule;
    for (const Knob* knob : KnobsOf(klass, Numerics::kReassociates))
      knob->Set(schedule, knob->domain[random() % knob->domain.size()]);
    return schedule;
  }

  void Task(const Kernel& kernel, const std::string& where) {
    const auto [place, fresh] = tasks.emplace(TaskId(kernel), Print(kernel, {.canonical = true}));
    if (!fresh) {
      EXPECT_EQ(place->second, Print(kernel, {.canonical = true}));
      return;
    }
    if (!Verify(kernel).ok()) return;  // the lowering's own test reports it
    Target target;
    target.threads = 2;
    for (const Schedule& schedule : {Schedule{}, RandomSchedule(kernel.klass)}) {
      const auto result = ApplySchedule(kernel, schedule, target);
      if (!result.ok()) return Fail(where, result.error().message, kernel);
      ++scheduled;
      const auto verdict = Verify(*result);
      if (!verdict.ok()) return Fail(where, verdict.error().message, *result);
      if (Elements(kernel) > kSmall || Iterations(kernel.body) > 20 * kSmall) continue;
      const auto before = RunKernel(kernel), after = RunKernel(*result);
      if (!before.ok() || !after.ok())
        return Fail(where, before.ok() ? after.error().message : before.error().message, *result);
      ++compared;
      const bool product = Print(kernel).find(" * ") != std::string::npos;
      for (size_t i = 0; i < before->size(); ++i) {
        if (!Close(kernel[kernel.results[i]], (*before)[i], (*after)[i], product))
          return Fail(where, PrintSchedule(kernel.klass, schedule) + " changes the result",
                      *result);
      }
    }
  }

  void File(const std::string& file) {
    const auto module = ParseModuleFile(file);
    if (!module.ok()) return;
    for (uint32_t c = 0; c < module->computations.size(); ++c) {
      for (uint32_t i = 0; i < module->computations[c].instrs.size(); ++i) {
        const Instr& in = module->computations[c].instrs[i];
        const OpClass klass = ClassOf(in.op);
        if (klass == OpClass::Tuple || klass == OpClass::Control) continue;
        LowerRequest request{.module = &*module, .computation = {c}};
        request.roots = {{i}};
        request.klass = ClassOfInstr(*module, {c}, {i});
        const auto lowered = Lower(request);
        if (lowered.ok()) Task(lowered->kernel, file + " " + in.name);
      }
    }
  }
};

class ScheduleCorpus : public testing::TestWithParam<const char*> {};

TEST_P(ScheduleCorpus, EveryTaskKeepsItsMeaning) {
  const char* corpus = std::getenv("FUSEMARK_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "FUSEMARK_CORPUS does not name the corpus";
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(corpus) + "/" + GetParam()))
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  Sweep sweep;
  for (const std::string& file : files) sweep.File(file);
  std::printf("%zu tasks, %d schedules, %d compared\n", sweep.tasks.size(), sweep.scheduled,
              sweep.compared);
  EXPECT_GT(sweep.scheduled, 0);
  EXPECT_EQ(sweep.failures, 0);
}

INSTANTIATE_TEST_SUITE_P(Folders, ScheduleCorpus, testing::Values("ops", "lit", "jax", "hlo"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fusemark::loops
