// Random schedules on kernels lowered from generated modules. Where only knobs differ that keep
// results bit for bit, the loop interpreter and the compiled code must give the same bytes as the
// unscheduled kernel in the interpreter does (compiled: as the unscheduled compiled kernel does).
#include <gtest/gtest.h>

#include <random>

#include "compiler/loops/knobs.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/verify.h"
#include "tests/fuzz/hlo_generator.h"
#include "tests/fuzz/values.h"
#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

constexpr int kShards = 4;
constexpr uint64_t kModulesPerShard = 40;
constexpr int kSchedules = 2;

std::vector<TestBuffer> OperandsOf(const loops::Kernel& kernel, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TestBuffer> operands;
  for (const loops::BufferId id : kernel.operands) {
    operands.emplace_back(BytesOf(kernel[id]));
    const TestBuffer& buffer = operands.back();
    FillRandom(kernel[id].dtype, {reinterpret_cast<std::byte*>(buffer.data()), buffer.size()},
               ValueKind::kPlain, random);
  }
  return operands;
}

bool SameBytes(const std::vector<TestBuffer>& a, const std::vector<TestBuffer>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].data(), b[i].data(), a[i].size()) != 0) return false;
  return true;
}

struct ScheduleFuzz {
  std::mt19937_64 random;
  int kernels = 0, compared = 0, failures = 0;

  loops::Schedule RandomSchedule(loops::KernelClass klass) {
    loops::Schedule schedule;
    for (const loops::Knob* knob : loops::KnobsOf(klass, loops::Numerics::kBitwise))
      knob->Set(schedule, knob->domain[random() % knob->domain.size()]);
    return schedule;
  }

  void Check(const loops::Kernel& kernel, uint64_t seed) {
    ++kernels;
    const loops::Target target = HostTarget();
    const auto operands = OperandsOf(kernel, seed);
    const auto base = loops::ApplySchedule(kernel, loops::Schedule{}, target);
    ASSERT_TRUE(base.ok()) << base.error().message << loops::Print(kernel);
    const auto compiled = RunJit(*base, operands);
    for (int i = 0; i < kSchedules; ++i) {
      const loops::Schedule schedule = RandomSchedule(kernel.klass);
      const std::string what = "seed " + std::to_string(seed) + ": " +
                               loops::PrintSchedule(kernel.klass, schedule) + "\n" +
                               loops::Print(kernel);
      const auto result = loops::ApplySchedule(kernel, schedule, target);
      ASSERT_TRUE(result.ok()) << what << result.error().message;
      const auto verdict = loops::Verify(*result);
      ASSERT_TRUE(verdict.ok()) << what << verdict.error().message;
      const bool interprets_same =
          SameBytes(RunInterpreter(*base, operands), RunInterpreter(*result, operands));
      const bool compiles_same = SameBytes(compiled, RunJit(*result, operands));
      EXPECT_TRUE(interprets_same) << "interpreted: " << what;
      EXPECT_TRUE(compiles_same) << "compiled: " << what;
      failures += interprets_same && compiles_same ? 0 : 1;
      ++compared;
    }
  }

  void Module(uint64_t seed) {
    const fusemark::Module module = HloGenerator(seed).Make();
    for (uint32_t c = 0; c < module.computations.size(); ++c) {
      for (uint32_t i = 0; i < module.computations[c].instrs.size() && failures < 3; ++i) {
        const Instr& instr = module.computations[c].instrs[i];
        const OpClass klass = ClassOf(instr.op);
        if (klass == OpClass::Tuple || klass == OpClass::Control) continue;
        loops::LowerRequest request{.module = &module, .computation = {c}};
        request.roots = {{i}};
        request.klass = loops::ClassOfInstr(module, {c}, {i});
        const auto lowered = loops::Lower(request);
        if (!lowered.ok() || !loops::Verify(lowered->kernel).ok()) continue;
        Check(lowered->kernel, seed);
      }
    }
  }
};

class ScheduleFuzzing : public ::testing::TestWithParam<int> {};

TEST_P(ScheduleFuzzing, BitwiseKnobsKeepEveryBit) {
  const auto shard = static_cast<uint64_t>(GetParam());
  ScheduleFuzz fuzz{std::mt19937_64(shard)};
  for (uint64_t i = 0; i < kModulesPerShard && fuzz.failures < 3; ++i)
    fuzz.Module(shard * kModulesPerShard + i);
  std::printf("%d kernels, %d schedules\n", fuzz.kernels, fuzz.compared);
  EXPECT_GT(fuzz.compared, 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScheduleFuzzing, ::testing::Range(0, kShards));

}  // namespace
}  // namespace fusemark
