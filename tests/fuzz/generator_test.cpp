// The generator's promises: what it makes is valid, survives printing, and covers what it claims.
#include <gtest/gtest.h>

#include <set>

#include "compiler/compile.h"
#include "compiler/ir/verify.h"
#include "compiler/text/text.h"
#include "tests/fuzz/hlo_generator.h"

namespace fusemark {
namespace {

constexpr uint64_t kModules = 500;

TEST(HloGenerator, ModulesAreValidAndSurvivePrinting) {
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = HloGenerator(seed).Make();
    const auto verdict = VerifyModule(module);
    ASSERT_TRUE(verdict.ok()) << seed << ": " << verdict.error().message << PrintModule(module);
    const std::string text = PrintModule(module);
    const auto parsed = ParseModule(text, "generated");
    ASSERT_TRUE(parsed.ok()) << seed << ": " << parsed.error().message << text;
    ASSERT_EQ(PrintModule(*parsed), text) << seed;
    ASSERT_TRUE(*parsed == module) << seed << text;
  }
}

TEST(HloGenerator, SameSeedSameModule) {
  EXPECT_TRUE(HloGenerator(7).Make() == HloGenerator(7).Make());
  EXPECT_FALSE(HloGenerator(7).Make() == HloGenerator(8).Make());
}

// Otherwise a step that never succeeds would go unnoticed.
TEST(HloGenerator, EveryStepSucceedsOften) {
  std::map<std::string_view, int> done, undone;
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    HloGenerator generator(seed);
    generator.Make();
    for (const auto& [name, count] : generator.done()) done[name] += count;
    for (const auto& [name, count] : generator.undone()) undone[name] += count;
  }
  for (const auto& [name, count] : undone) {
    EXPECT_GT(done[name] * 2, count) << name << " is undone " << count << " times";
  }
  EXPECT_EQ(done.size(), 52U);
}

// An opcode without a step has to be named here, with the reason.
TEST(HloGenerator, EveryOpcodeIsMadeOrNamed) {
  const std::set<Op> left_out = {
      // Refused by every engine: rounds by bits whose use HLO leaves open.
      Op::kStochasticConvert,
      // Dynamic shapes: tests/unit/program.
      Op::kDynamicReshape, Op::kSetDimensionSize,
      // Refused: no program for one CPU holds them.
      Op::kRaggedDot, Op::kScaledDot, Op::kInfeed, Op::kOutfeed, Op::kSend, Op::kSendDone,
      Op::kRecv, Op::kRecvDone, Op::kRaggedAllToAll,
      // A library's: tests/unit/calls.
      Op::kCustomCall};
  std::set<Op> made;
  for (uint64_t seed = 0; seed < 4 * kModules; ++seed) {
    const Module module = HloGenerator(seed).Make();
    for (const Computation& computation : module.computations)
      for (const Instr& instr : computation.instrs) made.insert(instr.op);
  }
  constexpr Op kAll[] = {
#define FM_OP(enumerator, name, arity, klass) Op::enumerator,
#include "compiler/ir/ops.def"
#undef FM_OP
  };
  for (const Op op : kAll) EXPECT_NE(made.contains(op), left_out.contains(op)) << OpName(op);
}

TEST(HloGenerator, EnginesTakeMostModules) {
  std::map<std::string, int> refused;
  int total = 0;
  for (uint64_t seed = 0; seed < kModules; ++seed) {
    const auto supported = CheckSupported(HloGenerator(seed).Make());
    if (supported.ok()) continue;
    ++refused[supported.error().message];
    ++total;
  }
  for (const auto& [message, count] : refused) std::printf("%d x %s\n", count, message.c_str());
  EXPECT_LT(total * 5, static_cast<int>(kModules));
}

}  // namespace
}  // namespace fusemark
