#include "compiler/ir/rewrite.h"

#include <gtest/gtest.h>

namespace fusemark {
namespace {

InstrId AddParameter(Builder& builder, int64_t number, Dims dims) {
  Instr instr;
  instr.op = Op::kParameter;
  instr.name = "p" + std::to_string(number);
  instr.shape = ArrayShape(DType::kF32, std::move(dims));
  instr.attrs = ParameterAttrs{number};
  return builder.Keep(std::move(instr));
}

// f(p0, p1) = negate(p0 + p1), plus a dead multiply.
Computation AddThenNegate(const Effects& effects) {
  Builder builder(effects);
  const InstrId a = AddParameter(builder, 0, {4});
  const InstrId b = AddParameter(builder, 1, {4});
  const InstrId sum = builder.Binary(Op::kAdd, a, b);
  builder.Binary(Op::kMultiply, sum, sum);
  const InstrId root = builder.Unary(Op::kNegate, sum);
  return builder.Finish("f", root);
}

TEST(Builder, DropsDeadCodeAndKeepsParameters) {
  const Effects effects;
  const Computation f = AddThenNegate(effects);
  ASSERT_EQ(f.instrs.size(), 4u);
  EXPECT_EQ(f.parameters, (std::vector<InstrId>{{0}, {1}}));
  EXPECT_EQ(f.Root().op, Op::kNegate);
  EXPECT_EQ(f[f.Root().operands[0]].op, Op::kAdd);
}

TEST(Builder, KeepsUnusedParameter) {
  const Effects effects;
  Builder builder(effects);
  AddParameter(builder, 0, {4});
  const InstrId b = AddParameter(builder, 1, {4});
  const Computation f = builder.Finish("f", b);
  EXPECT_EQ(f.instrs.size(), 2u);
  EXPECT_EQ(f.root, InstrId{1});
}

TEST(Builder, KeepsSideEffects) {
  const Effects effects;
  Builder builder(effects);
  const InstrId a = AddParameter(builder, 0, {4});
  builder.Emit(Op::kCustomCall, ArrayShape(DType::kF32, {}), {a}, CustomCallAttrs{"log", true});
  builder.Emit(Op::kCustomCall, ArrayShape(DType::kF32, {}), {a}, CustomCallAttrs{"pure", false});
  const Computation f = builder.Finish("f", a);
  ASSERT_EQ(f.instrs.size(), 2u);
  EXPECT_EQ(f.instrs[1].As<CustomCallAttrs>().target, "log");
}

TEST(Builder, MakesNamesUniqueAndLeavesKeptOnesAlone) {
  const Effects effects;
  Builder builder(effects);
  InstrId value = AddParameter(builder, 0, {4});
  Instr kept;
  kept.op = Op::kNegate;
  kept.name = "abs.1";
  kept.shape = ArrayShape(DType::kF32, {4});
  for (int i = 0; i < 3; ++i) value = builder.Unary(Op::kAbs, value);
  kept.operands = {value};
  const InstrId root = builder.Keep(std::move(kept));
  const Computation f = builder.Finish("f", root);
  std::vector<std::string> names;
  for (const Instr& instr : f.instrs) names.push_back(instr.name);
  EXPECT_EQ(names, (std::vector<std::string>{"p0", "abs", "abs.2", "abs.3", "abs.1"}));
}

TEST(Builder, InlinesABody) {
  const Effects effects;
  const Computation f = AddThenNegate(effects);
  Builder builder(effects);
  const InstrId a = AddParameter(builder, 0, {4});
  const InstrId arguments[] = {a, a};
  const InstrId first = builder.Inline(f, arguments);
  const InstrId second = builder.Inline(f, arguments);
  const Computation g = builder.Finish("g", builder.Binary(Op::kAdd, first, second));
  EXPECT_EQ(g.instrs.size(), 6u);
  EXPECT_EQ(g.parameters.size(), 1u);
}

TEST(Rewrite, ReportsDroppedInstructions) {
  const Effects effects;
  Computation f = AddThenNegate(effects);
  const auto keep = [](Builder& builder, Instr&& instr) { return builder.Keep(std::move(instr)); };
  const Computation before = f;
  EXPECT_FALSE(Rewrite(f, effects, keep));
  EXPECT_EQ(f, before);
  f.root = f.Root().operands[0];
  EXPECT_TRUE(Rewrite(f, effects, keep));
  EXPECT_EQ(f.instrs.size(), 3u);
}

Instr CallOf(uint32_t callee, const Computation& computation) {
  Instr call;
  call.op = Op::kCall;
  call.name = "call";
  call.shape = computation.Root().shape;
  call.called = {{callee}};
  call.operands = {{0}, {0}};
  return call;
}

TEST(CollectComputations, DropsUncalledAndMovesCalleesFirst) {
  const Effects effects;
  Module module;
  module.name = "m";
  const Computation f = AddThenNegate(effects);
  Builder builder(effects);
  AddParameter(builder, 0, {4});
  const InstrId root = builder.Keep(CallOf(2, f));
  module.computations = {f, builder.Finish("main", root), f};
  module.computations[0].name = "unused";
  module.computations[2].name = "late";
  module.entry = {1};
  EXPECT_TRUE(CollectComputations(module));
  ASSERT_EQ(module.computations.size(), 2u);
  EXPECT_EQ(module.computations[0].name, "late");
  EXPECT_EQ(module.entry, ComputationId{1});
  EXPECT_EQ(module.Entry().Root().called[0], ComputationId{0});
  EXPECT_FALSE(CollectComputations(module));
}

TEST(CollectComputations, SurvivesDeepCallChains) {
  const Effects effects;
  Module module;
  const Computation f = AddThenNegate(effects);
  module.computations.push_back(f);
  constexpr uint32_t kDepth = 50'000;
  for (uint32_t i = 1; i < kDepth; ++i) {
    Builder builder(effects);
    AddParameter(builder, 0, {4});
    module.computations.push_back(
        builder.Finish("c" + std::to_string(i), builder.Keep(CallOf(i - 1, f))));
  }
  module.entry = {kDepth - 1};
  EXPECT_FALSE(CollectComputations(module));
}

TEST(ScalarLiteralOf, RoundsAndWraps) {
  EXPECT_EQ(ScalarLiteralOf(DType::kF32, 1.0), ScalarLiteral(DType::kF32, 0x3f800000));
  EXPECT_EQ(ScalarLiteralOf(DType::kBF16, 1.0), ScalarLiteral(DType::kBF16, 0x3f80));
  EXPECT_EQ(ScalarLiteralOf(DType::kS8, -1.0), ScalarLiteral(DType::kS8, 0xff));
  EXPECT_EQ(ScalarLiteralOf(DType::kU32, -1.0), ScalarLiteral(DType::kU32, 0xffffffff));
  EXPECT_EQ(ScalarLiteralOf(DType::kPred, 0.5), ScalarLiteral(DType::kPred, 1));
  EXPECT_FALSE(ScalarLiteralOf(DType::kF32, -0.0) == ScalarLiteralOf(DType::kF32, 0.0));
}

}  // namespace
}  // namespace fusemark
