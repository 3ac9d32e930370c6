// Schedule primitives: what they make, what they refuse, and that results stay bit for bit the same
// under random lists of them.
#include "compiler/loops/primitives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/loops/block_layout.h"
#include "compiler/loops/simplify.h"
#include "compiler/loops/verify.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

constexpr const char* kElementwise = R"(kernel @elementwise class=loop
  operand %a: f32[5,12]
  operand %b: f32[12]
  result %r: f32[5,12]
{
  for i0 in 5 {
    for i1 in 12 {
      let x: f32 = %a[i0, i1]
      %r[i0, i1] = tanh(x) + %b[i1] * x
    }
  }
}
)";

constexpr const char* kRows = R"(kernel @rows class=reduce
  operand %a: f32[3,22]
  result %r: f32[3]
{
  for i0 in 3 {
    alloc %acc: f32[] register
    %acc[] = 0:f32
    for k0 in 22 reduces {
      %acc[] = %acc[] + %a[i0, k0]
    }
    %r[i0] = %acc[] * 0.5:f32
  }
}
)";

constexpr const char* kMatmul = R"(kernel @matmul class=contraction
  operand %a: f32[7,9]
  operand %b: f32[9,10]
  operand %bias: f32[10]
  result %r: f32[7,10]
{
  for i0 in 7 {
    for i1 in 10 {
      let scale: f32 = %bias[i1]
      alloc %acc: f32[] register
      %acc[] = 0:f32
      for k0 in 9 reduces {
        let x: f32 = %a[i0, k0]
        %acc[] = fma(x, %b[k0, i1], %acc[])
      }
      let y: f32 = %acc[]
      %r[i0, i1] = maximum(y + scale, 0:f32)
    }
  }
}
)";

constexpr const char* kWindow = R"(kernel @pool class=window
  operand %a: s32[9,11]
  result %r: s32[5,6]
{
  for i0 in 5 {
    for i1 in 6 {
      alloc %best: s32[] register
      %best[] = -2147483648:s32
      for k0 in 3 reduces {
        for k1 in 3 reduces {
          let y: s64 = i0 * 2 + k0 - 1
          let x: s64 = i1 * 2 + k1 - 1
          if (and(and(y >= 0, y < 9), and(x >= 0, x < 11))) {
            %best[] = maximum(%best[], %a[y, x])
          }
        }
      }
      %r[i0, i1] = %best[]
    }
  }
}
)";

constexpr const char* kSoftmax = R"(kernel @softmax class=row
  operand %a: f32[4,13]
  result %r: f32[4,13]
{
  for r0 in 4 {
    alloc %max: f32[] register
    %max[] = -inf:f32
    for j0 in 13 reduces { %max[] = maximum(%max[], %a[r0, j0]) }
    let m: f32 = %max[]
    alloc %sum: f32[] register
    alloc %row: f32[13] stack
    %sum[] = 0:f32
    for j0 in 13 reduces {
      %row[j0] = exponential(%a[r0, j0] - m)
      %sum[] = %sum[] + %row[j0]
    }
    let s: f32 = %sum[]
    for j0 in 13 { %r[r0, j0] = %row[j0] / s }
  }
}
)";

Kernel MustReplay(const char* text, const char* primitives) {
  const auto list = ParsePrimitives(primitives);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  const auto kernel = Replay(MustParse(text), *list);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  return kernel.ok() ? Simplify(*kernel) : Kernel{};
}

void ExpectSameResults(const Kernel& before, const Kernel& after) {
  const auto verdict = Verify(after);
  EXPECT_TRUE(verdict.ok()) << (verdict.ok() ? "" : verdict.error().message) << "\n"
                            << Print(after);
  const auto expected = RunKernel(before), actual = RunKernel(after);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(actual.ok()) << actual.error().message << "\n" << Print(after);
  EXPECT_EQ(*expected, *actual) << Print(after);
}

TEST(LoopsPrimitives, TileWithATail) {
  const Kernel kernel = MustReplay(kElementwise, "tile i1 5 o i; vectorise i; parallel i0");
  EXPECT_EQ(Print(kernel), R"(kernel @elementwise class=loop
  operand %a: f32[5,12]
  operand %b: f32[12]
  result %r: f32[5,12]
{
  for i0 in 5 parallel {
    for o in 3 {
      if (o < 2) {
        for i in 5 vector {
          let x: f32 = %a[i0, o * 5 + i]
          %r[i0, o * 5 + i] = tanh(x) + %b[o * 5 + i] * x
        }
      } else {
        for i in 2 vector {
          let x: f32 = %a[i0, o * 5 + i]
          %r[i0, o * 5 + i] = tanh(x) + %b[o * 5 + i] * x
        }
      }
    }
  }
}
)");
  ExpectSameResults(MustParse(kElementwise), kernel);
}

TEST(LoopsPrimitives, FuseMakesTheContiguousLoopWithoutDivisions) {
  const Kernel kernel = MustReplay(R"(kernel @copy class=loop
  operand %a: f32[60]
  result %r: f32[60]
{
  for i0 in 5 { for i1 in 12 { %r[i0 * 12 + i1] = %a[i0 * 12 + i1] } }
})",
                                   "fuse i0 i1 f");
  EXPECT_EQ(Print(kernel), R"(kernel @copy class=loop
  operand %a: f32[60]
  result %r: f32[60]
{
  for f in 60 {
    %r[f] = %a[f]
  }
}
)");
}

TEST(LoopsPrimitives, RegisterTileOfAContraction) {
  const Kernel kernel = MustReplay(kMatmul,
                                   "tile i1 5 no ni; tile i0 7 mo mi; reorder mi no; distribute "
                                   "ni; distribute mi; vectorise ni; unroll mi; parallel mo");
  EXPECT_EQ(Print(kernel), R"(kernel @matmul class=contraction
  operand %a: f32[7,9]
  operand %b: f32[9,10]
  operand %bias: f32[10]
  result %r: f32[7,10]
{
  for no in 2 {
    alloc %acc1_1: f32[7,5] register
    for mi in 7 unroll {
      for ni in 5 vector {
        %acc1_1[mi, ni] = 0:f32
      }
    }
    for k0 in 9 reduces {
      for mi in 7 unroll {
        for ni in 5 vector {
          let x: f32 = %a[mi, k0]
          %acc1_1[mi, ni] = fma(x, %b[k0, no * 5 + ni], %acc1_1[mi, ni])
        }
      }
    }
    for mi in 7 unroll {
      for ni in 5 vector {
        let scale: f32 = %bias[no * 5 + ni]
        let y: f32 = %acc1_1[mi, ni]
        %r[mi, no * 5 + ni] = maximum(y + scale, 0:f32)
      }
    }
  }
}
)");
  ExpectSameResults(MustParse(kMatmul), kernel);
}

TEST(LoopsPrimitives, PrefetchTileAsksForEveryLineOfTheTile) {
  const Kernel kernel =
      MustReplay(kMatmul,
                 "tile i1 5 no ni; tile i0 7 mo mi; reorder mi no; distribute ni; distribute mi; "
                 "vectorise ni; prefetch_tile r no; prefetch_tile bias no");
  const std::string text = Print(kernel);
  EXPECT_NE(text.find("  for no in 2 {\n    prefetch %bias[no * 5]\n    for pf0 in 7 unroll {\n"
                      "      prefetch %r[pf0, no * 5]\n    }\n"),
            std::string::npos)
      << text;
  ExpectSameResults(MustParse(kMatmul), kernel);
}

TEST(LoopsPrimitives, RegisterTileWithTailsOnBothSides) {
  const Kernel kernel = MustReplay(kMatmul,
                                   "tile i1 4 no ni; tile i0 3 mo mi; reorder mi no; distribute "
                                   "ni; distribute mi; tile ni 4 nu nv; vectorise nv; parallel mo");
  ExpectSameResults(MustParse(kMatmul), kernel);
}

TEST(LoopsPrimitives, DistributeMovesPastOneReductionAtATime) {
  const std::string cut = "tile k0 3 kb ki; privatise ki 1 ks kl; distribute i1; distribute i0";
  const Kernel outside = MustReplay(kMatmul, cut.c_str());
  const std::string text = Print(outside);
  // The sums of all rows and columns wait while a block is added to each.
  EXPECT_NE(text.find("alloc %acc1_1: f32[7,10]"), std::string::npos) << text;
  EXPECT_LT(text.find("for kb in"), text.find("for ks in")) << text;
  EXPECT_NE(text.find("for kb in 3 reduces {\n    for i0 in 7 {\n      for i1 in 10 {\n"),
            std::string::npos)
      << text;
  // Loops that hold no reduction, of the first and the last statements, stay in the next step.
  const Kernel inside = MustReplay(kMatmul, (cut + "; distribute i1; pack b kb 10").c_str());
  EXPECT_NE(Print(inside).find("for ks in 3 reduces {\n        for i1 in 10 {"), std::string::npos)
      << Print(inside);
  EXPECT_TRUE(Verify(inside).ok());
}

TEST(LoopsPrimitives, PrivatiseKeepsTheSumWithinRounding) {
  const Kernel before = MustParse(kRows);
  for (const char* list : {"privatise k0 8 ko l; vectorise l; vectorise lc",
                           "privatise k0 6 ko l; vectorise l", "privatise k0 22 ko l"}) {
    const Kernel after = MustReplay(kRows, list);
    EXPECT_TRUE(Verify(after).ok()) << Print(after);
    const auto expected = As<float>(RunKernel(before).value()[0]);
    const auto actual = As<float>(RunKernel(after).value()[0]);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])));
  }
}

TEST(LoopsPrimitives, OneAccumulatorMayBePrivatisedAgain) {
  const Kernel after = MustReplay(kRows,
                                  "tile k0 9 kb kp; privatise kp 1 ks kl; tile ks 4 sb sp; "
                                  "privatise sp 1 ss sl");
  EXPECT_TRUE(Verify(after).ok()) << Print(after);
  EXPECT_NE(Print(after).find("acc_l_l"), std::string::npos) << Print(after);
  const auto expected = As<float>(RunKernel(MustParse(kRows)).value()[0]);
  const auto actual = As<float>(RunKernel(after).value()[0]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::fabs(expected[i])));
}

TEST(LoopsPrimitives, PrivatiseOfAnOrderFreeReductionIsExact) {
  ExpectSameResults(MustParse(kWindow),
                    MustReplay(kWindow, "fuse k0 k1 k; privatise k 4 ko l; vectorise l"));
  const Kernel after = MustReplay(kSoftmax, "privatise j0 4 jo l; vectorise l; tile j0 4 a b");
  EXPECT_TRUE(Verify(after).ok()) << Print(after);
}

TEST(LoopsPrimitives, StageCopiesTheTile) {
  const Kernel kernel = MustReplay(R"(kernel @gather class=loop
  operand %a: f32[10,8]
  result %r: f32[4,6]
{
  for i0 in 4 {
    for i1 in 6 { %r[i0, i1] = %a[i0 * 2 + 1, i1 + 2] + %a[i0 * 2 + 2, i1] }
  }
})",
                                   "stage a i0 stack");
  EXPECT_EQ(Print(kernel), R"(kernel @gather class=loop
  operand %a: f32[10,8]
  result %r: f32[4,6]
{
  for i0 in 4 {
    alloc %a_tile: f32[2,8] stack
    for t0 in 2 {
      for t1 in 8 {
        %a_tile[t0, t1] = %a[i0 * 2 + t0 + 1, t1]
      }
    }
    for i1 in 6 {
      %r[i0, i1] = %a_tile[0, i1 + 2] + %a_tile[1, i1]
    }
  }
}
)");
}

TEST(LoopsPrimitives, PackCutsTheLastDimensionIntoRuns) {
  const Kernel kernel = MustReplay(R"(kernel @columns class=loop
  operand %b: f32[5,16]
  result %r: f32[5,16]
{
  for i1p in 2 {
    for i1o in 2 {
      for k in 5 {
        for i1t in 4 { %r[k, i1p * 8 + i1o * 4 + i1t] = %b[k, i1p * 8 + i1o * 4 + i1t] }
      }
    }
  }
})",
                                   "pack b i1p 4");
  EXPECT_EQ(Print(Simplify(kernel)), R"(kernel @columns class=loop
  operand %b: f32[5,16]
  result %r: f32[5,16]
{
  for i1p in 2 {
    alloc %b_tile: f32[2,5,4] stack
    for t0 in 5 {
      for t1 in 2 {
        for t2 in 4 {
          %b_tile[t1, t0, t2] = %b[t0, i1p * 8 + t1 * 4 + t2]
        }
      }
    }
    for i1o in 2 {
      for k in 5 {
        for i1t in 4 {
          %r[k, i1p * 8 + i1o * 4 + i1t] = %b_tile[i1o, k, i1t]
        }
      }
    }
  }
}
)");
}

TEST(LoopsPrimitives, BlockedOperandsComeInRuns) {
  const Kernel kernel = MustReplay(R"(kernel @columns class=loop
  operand %b: f32[5,16]
  result %r: f32[5,16]
{
  for i1o in 4 {
    for k in 5 {
      for i1t in 4 { %r[k, i1o * 4 + i1t] = %b[k, i1o * 4 + i1t] }
    }
  }
})",
                                   "block b 4");
  EXPECT_EQ(Print(Simplify(kernel)), R"(kernel @columns class=loop
  operand %b: f32[4,5,4]
  result %r: f32[5,16]
{
  for i1o in 4 {
    for k in 5 {
      for i1t in 4 {
        %r[k, i1o * 4 + i1t] = %b[i1o, k, i1t]
      }
    }
  }
}
)");
}

TEST(LoopsPrimitives, BlockingKernelsLayRunsBehindEachOther) {
  EXPECT_EQ(Print(Simplify(BlockingKernel(DType::kF32, {5, 16}, 4))),
            R"(kernel @block class=loop
  operand %a: f32[5,16]
  result %r: f32[4,5,4]
{
  for i0 in 4 {
    for i1 in 5 {
      for i2 in 4 {
        %r[i0, i1, i2] = %a[i1, i0 * 4 + i2]
      }
    }
  }
}
)");
}

TEST(LoopsPrimitives, StageInSharedMemoryForAThreadBlock) {
  const Kernel before = MustParse(kMatmul);
  const Kernel after = MustReplay(kMatmul, "bind i0 block; stage a i0 shared; bind i1 thread");
  ExpectSameResults(before, after);
}

TEST(LoopsPrimitives, StageGuardsWhatStandsOutside) {
  ExpectSameResults(MustParse(kWindow), MustReplay(kWindow, "stage a i0 stack"));
}

TEST(LoopsPrimitives, TextRoundTrip) {
  const char* text =
      "tile i1 16 i1o i1i; reorder a b; fuse a b f; unroll u; vectorise i1i; parallel i0; bind x "
      "thread; distribute d; privatise k 8 ko l; stage a k shared; pack b k 16; "
      "block b 16; flatten; simplify";
  const auto list = ParsePrimitives(text);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->size(), 14U);
  EXPECT_EQ(PrintPrimitives(*list), text);
}

struct Bad {
  const char* kernel;
  const char* list;
  const char* message;
};

class LoopsPrimitiveErrors : public testing::TestWithParam<Bad> {};

TEST_P(LoopsPrimitiveErrors, SayWhy) {
  const auto list = ParsePrimitives(GetParam().list);
  std::string message;
  if (!list.ok()) {
    message = list.error().message;
  } else {
    const auto kernel = Replay(MustParse(GetParam().kernel), *list);
    ASSERT_FALSE(kernel.ok());
    message = kernel.error().message;
  }
  EXPECT_EQ(message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, LoopsPrimitiveErrors,
    testing::Values(
        Bad{kRows, "tile x 4 a b", "tile x 4 a b: there is no loop named x"},
        Bad{kRows, "tile i0 4 k0 b", "tile i0 4 k0 b: the name k0 is taken"},
        Bad{kRows, "tile i0 0 a b", "'tile i0 0 a b': expected a positive factor, found '0'"},
        Bad{kRows, "tile i0 4 a", "'tile i0 4 a': tile takes 4 words, found 3"},
        Bad{kRows, "split i0", "unknown primitive 'split'"},
        Bad{kRows, "bind i0 grid", "'bind i0 grid': expected block or thread, found 'grid'"},
        Bad{kRows, "reorder i0 k0", "reorder i0 k0: loop k0 is not perfectly nested in loop i0"},
        Bad{kWindow, "reorder k0 k1",
            "reorder k0 k1: loops k0 and k1 both carry a value: their order is the order of the "
            "reduction"},
        Bad{kElementwise, "parallel i0; reorder i0 i1",
            "reorder i0 i1: loop i0 is parallel and must stay outermost"},
        Bad{kRows, "vectorise k0",
            "vectorise k0: cannot make vector of loop k0: its iterations carry a value (privatise "
            "or distribute it first)"},
        Bad{kElementwise, "parallel i1",
            "parallel i1: cannot make parallel of loop i1: it is not the outermost statement"},
        Bad{kElementwise, "vectorise i0; vectorise i1",
            "vectorise i1: cannot make vector of loop i1: it stands inside a vector loop"},
        Bad{kElementwise, "distribute i1",
            "distribute i1: cannot distribute loop i1: no reduction stands directly inside"},
        Bad{kElementwise, "privatise i1 4 a b",
            "privatise i1 4 a b: cannot privatise loop i1: it carries no value"},
        Bad{kRows, "privatise k0 32 a b",
            "privatise k0 32 a b: cannot privatise loop k0: it has 22 iterations, fewer than 32 "
            "lanes"},
        Bad{kElementwise, "stage c i0 stack", "stage c i0 stack: there is no operand named c"},
        Bad{kElementwise, "pack b i0 5",
            "pack b i0 5: cannot stage %b in loop i0: its last dimension is no multiple of 5"},
        Bad{kElementwise, "prefetch c i0 i1",
            "prefetch c i0 i1: there is no operand or result named c"},
        Bad{kElementwise, "prefetch b i1 i0",
            "prefetch b i1 i0: cannot prefetch %b in loop i1: it holds no loop i0"},
        Bad{kRows, "prefetch_tile r k0",
            "prefetch_tile r k0: cannot prefetch %r in loop k0: it is not used inside"},
        Bad{kElementwise, "block b 5",
            "block b 5: cannot block %b: its last dimension is no multiple of 5"},
        Bad{kElementwise, "block c 4", "block c 4: there is no operand named c"},
        Bad{kElementwise, "bind i1 thread",
            "bind i1 thread: cannot make thread of loop i1: it stands outside a block loop"}));

// ---- random lists ----

std::vector<std::string> LoopNames(const Block& block, const Kernel& kernel) {
  std::vector<std::string> names;
  for (const Stmt& stmt : block) {
    if (stmt.kind == StmtKind::kFor) names.push_back(kernel[stmt.var].name);
    for (const Block* inner : {&stmt.body, &stmt.else_body}) {
      for (std::string& name : LoopNames(*inner, kernel)) names.push_back(std::move(name));
    }
  }
  return names;
}

Primitive RandomPrimitive(const Kernel& kernel, std::mt19937& random, int step) {
  const std::vector<std::string> names = LoopNames(kernel.body, kernel);
  const auto pick = [&] { return names[random() % names.size()]; };
  const std::string fresh = "x" + std::to_string(step);
  switch (random() % 10) {
    case 0:
    case 1:
      return {PrimitiveKind::kTile,
              {pick(), fresh + "o", fresh + "i"},
              static_cast<int64_t>(random() % 6 + 1),
              ""};
    case 2: return {PrimitiveKind::kReorder, {pick(), pick()}, 0, ""};
    case 3: return {PrimitiveKind::kFuse, {pick(), pick(), fresh}, 0, ""};
    case 4: return {PrimitiveKind::kDistribute, {pick()}, 0, ""};
    case 5: return {PrimitiveKind::kVectorise, {pick()}, 0, ""};
    case 6: return {PrimitiveKind::kUnroll, {pick()}, 0, ""};
    case 7: return {PrimitiveKind::kFlatten, {}, 0, ""};
    case 8: return {PrimitiveKind::kSimplify, {}, 0, ""};
    default: return {PrimitiveKind::kParallel, {pick()}, 0, ""};
  }
}

class LoopsPrimitiveFuzz : public testing::TestWithParam<const char*> {};

TEST_P(LoopsPrimitiveFuzz, RandomListsKeepEveryBit) {
  const Kernel original = MustParse(GetParam());
  const auto expected = RunKernel(original);
  ASSERT_TRUE(expected.ok());
  int applied = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Kernel kernel = original;
    std::vector<Primitive> list;
    for (int step = 0; step < 14 && LoopNames(kernel.body, kernel).size() < 60; ++step) {
      const Primitive primitive = RandomPrimitive(kernel, random, step);
      if (!Apply(kernel, primitive).ok()) continue;
      list.push_back(primitive);
      ++applied;
    }
    const Kernel simple = Simplify(kernel);
    for (const Kernel& scheduled : {kernel, simple}) {
      const auto verdict = Verify(scheduled);
      ASSERT_TRUE(verdict.ok()) << verdict.error().message << "\n"
                                << PrintPrimitives(list) << "\n"
                                << Print(scheduled);
      const auto actual = RunKernel(scheduled);
      ASSERT_TRUE(actual.ok()) << actual.error().message << "\n" << PrintPrimitives(list);
      ASSERT_EQ(*expected, *actual) << PrintPrimitives(list) << "\n" << Print(scheduled);
    }
    const auto replayed = Replay(original, *ParsePrimitives(PrintPrimitives(list)));
    ASSERT_TRUE(replayed.ok());
    EXPECT_EQ(Print(*replayed), Print(kernel));
    EXPECT_EQ(*Parse(Print(kernel)), Compacted(kernel));
    EXPECT_EQ(Simplify(simple), simple) << Print(simple);
  }
  EXPECT_GT(applied, 120);
}

INSTANTIATE_TEST_SUITE_P(Kernels, LoopsPrimitiveFuzz,
                         testing::Values(kElementwise, kRows, kMatmul, kWindow, kSoftmax));

}  // namespace
}  // namespace fusemark::loops
