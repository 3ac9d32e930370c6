// Plans of random modules keep the planner's promises whatever the choices: every needed
// instruction is computed, kernels come in a possible order, the lowerings take them. The shape of
// particular plans is in tests/golden/fusion.
#include "compiler/fusion/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "compiler/ir/users.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/passes/random_module.h"

namespace fusemark {
namespace {

Module Prepared(uint64_t seed, bool passes) {
  Module module = RandomModule(seed).Make();
  if (!passes) return module;
  PipelineOptions options;
  options.context.evaluate = EvaluateInstr;
  options.verify = true;
  const auto reports = RunPipeline(module, options);
  FM_CHECK(reports.ok(), reports.error().message);
  return module;
}

// "" if the plan computes everything once as a root or inside its readers. Stated anew here, not
// by CheckPlan, which is under test too.
std::string Flaw(const Computation& computation, const ComputationPlan& plan) {
  std::set<InstrId> materialised;
  std::set<InstrId> placed;
  for (const KernelPlan& kernel : plan.kernels) {
    std::set<InstrId> inside(kernel.members.begin(), kernel.members.end());
    if (inside.size() != kernel.members.size()) return "a member is listed twice";
    if (kernel.roots.empty()) return "a kernel without roots";
    for (const InstrId root : kernel.roots) {
      if (!inside.insert(root).second) return "root among the members";
      if (materialised.contains(root)) return computation[root].name + " is materialised twice";
    }
    for (const InstrId id : inside) {
      placed.insert(id);
      for (const InstrId operand : computation[id].operands) {
        if (!IsStructural(computation[operand].op) && !inside.contains(operand) &&
            !materialised.contains(operand)) {
          return computation[operand].name + " is read before it is computed";
        }
      }
    }
    materialised.insert(kernel.roots.begin(), kernel.roots.end());
  }
  const auto live = Live(computation);
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    if (!live[i]) continue;
    const Instr& instr = computation.instrs[i];
    if (!IsStructural(instr.op)) {
      if (!placed.contains({i})) return instr.name + " has no place";
      continue;
    }
    for (const InstrId operand : instr.operands) {
      if (!IsStructural(computation[operand].op) && !materialised.contains(operand))
        return instr.name + " reads " + computation[operand].name + ", which has no memory";
    }
  }
  return "";
}

void ExpectValid(const Module& module, const PlanChoices& choices) {
  const auto planned = MakePlan(module, choices);
  ASSERT_TRUE(planned.ok()) << planned.error().message << "\n" << PrintModule(module);
  const auto checked = CheckPlan(module, planned->plan);
  ASSERT_TRUE(checked.ok()) << checked.error().message << "\n" << PrintModule(module);
  for (const ComputationId id : WholeComputations(module))
    ASSERT_EQ(Flaw(module[id], planned->plan.computations[id.index]), "") << PrintModule(module);
}

class RandomPlans : public ::testing::TestWithParam<int> {};

TEST_P(RandomPlans, AreValidWhateverIsChosen) {
  for (int i = 0; i < 100; ++i) {
    const auto seed = static_cast<uint64_t>(GetParam() * 100 + i);
    const Module module = Prepared(seed, i % 2 == 0);
    std::mt19937_64 random(seed);
    ExpectValid(module, {});
    const auto planned = MakePlan(module);
    ASSERT_TRUE(planned.ok());
    for (int trial = 0; trial < 4; ++trial) {
      PlanChoices flips, any;
      for (const auto& flip : FlippableChoices(module, *planned))
        if (random() % 2 == 0) flips.insert(flip);
      for (uint32_t n = 0; n < module.Entry().instrs.size(); ++n)
        if (random() % 2 == 0) any[{module.entry.index, n}] = random() % 2 == 0;
      ExpectValid(module, flips);
      ExpectValid(module, any);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, ::testing::Range(0, 6));

TEST(Planner, MakesTheSamePlanAgain) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Module module = Prepared(seed, true);
    EXPECT_EQ(MakePlan(module)->plan, MakePlan(module)->plan) << seed;
  }
}

// A flip has an effect, or it is not worth a trial.
TEST(Planner, FlipsChangeThePlan) {
  int flips = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Module module = Prepared(seed, true);
    const auto planned = MakePlan(module);
    ASSERT_TRUE(planned.ok());
    for (const auto& flip : FlippableChoices(module, *planned)) {
      const auto changed = MakePlan(module, {flip});
      ASSERT_TRUE(changed.ok());
      EXPECT_NE(changed->plan, planned->plan)
          << module[ComputationId{flip.first.first}].instrs[flip.first.second].name << " to "
          << flip.second << "\n"
          << PrintModule(module);
      ++flips;
    }
  }
  EXPECT_GT(flips, 20);
}

constexpr char kChain[] = R"(HloModule m
ENTRY main {
  x = f32[64,32] parameter(0)
  w = f32[32,16] parameter(1)
  e = f32[64,32] exponential(x)
  d = f32[64,16] dot(e, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = f32[64,16] negate(d)
  ROOT r = f32[64,16] sine(n)
})";

// Each kernel of `plan` damaged in ways a file could be.
std::vector<Plan> Damaged(const Plan& plan, size_t entry) {
  std::vector<Plan> all;
  const auto& kernels = plan.computations[entry].kernels;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto add = [&](const auto& change) {
      Plan damaged = plan;
      change(damaged.computations[entry].kernels);
      all.push_back(std::move(damaged));
    };
    add([&](auto& list) { list.erase(list.begin() + static_cast<int64_t>(k)); });
    add([&](auto& list) { list[k].roots = {{1000}}; });
    add([&](auto& list) { list[k].roots = {{0}}; });
    add([&](auto& list) { list[k].roots.clear(); });
    add([&](auto& list) { list[k].members.push_back({1000}); });
    add([&](auto& list) { list[k].members.push_back({0}); });
    add([&](auto& list) { list[k].members.push_back(list[k].roots[0]); });
    add([&](auto& list) { list[k].roots.push_back(list[k].roots[0]); });
    if (!kernels[k].members.empty()) add([&](auto& list) { list[k].members.clear(); });
    if (k > 0) add([&](auto& list) { std::swap(list[k], list[k - 1]); });
  }
  return all;
}

TEST(CheckPlan, RefusesDamagedPlans) {
  const auto module = ParseModule(kChain, "test");
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto planned = MakePlan(*module);
  ASSERT_TRUE(planned.ok());
  int index = 0;
  for (const Plan& plan : Damaged(planned->plan, module->entry.index)) {
    const auto checked = CheckPlan(*module, plan);
    EXPECT_FALSE(checked.ok()) << "damage " << index;
    if (!checked.ok()) {
      EXPECT_EQ(checked.error().code, Code::kInvalidInput);
    }
    ++index;
  }
  Plan shorter = planned->plan;
  shorter.computations.clear();
  EXPECT_FALSE(CheckPlan(*module, shorter).ok());
}

// Any plan text at all: an answer, never a crash. What CheckPlan accepts is a plan.
TEST(CheckPlan, AnswersForRandomPlans) {
  constexpr auto kLast = static_cast<uint32_t>(loops::KernelClass::kUpdate);
  int accepted = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Module module = Prepared(seed, true);
    const auto planned = MakePlan(module);
    ASSERT_TRUE(planned.ok());
    std::mt19937_64 random(seed);
    const auto count = module.Entry().instrs.size();
    for (int trial = 0; trial < 40; ++trial) {
      Plan plan = planned->plan;
      auto& kernels = plan.computations[module.entry.index].kernels;
      if (kernels.empty()) continue;
      KernelPlan& kernel = kernels[random() % kernels.size()];
      const InstrId any{static_cast<uint32_t>(random() % count)};
      switch (random() % 6) {
        case 0: kernel.members.push_back(any); break;
        case 1: kernel.members.insert(kernel.members.begin(), any); break;
        case 2: kernel.roots.push_back(any); break;
        case 3: kernel.roots[random() % kernel.roots.size()] = any; break;
        case 4: kernel.klass = static_cast<loops::KernelClass>(random() % (kLast + 1)); break;
        default: std::swap(kernel, kernels[random() % kernels.size()]); break;
      }
      const auto checked = CheckPlan(module, plan);
      if (!checked.ok()) continue;
      ++accepted;
      EXPECT_EQ(Flaw(module.Entry(), plan.computations[module.entry.index]), "");
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace fusemark
