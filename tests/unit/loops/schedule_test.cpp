// From knob values to loop primitives on the CPU: the lists that come out, and that every schedule
// of the knob domains keeps the results (within rounding where sums are reassociated).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/loops/knobs.h"
#include "compiler/loops/load_analysis.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/verify.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

Target TwoThreads() {
  Target target;
  target.threads = 2;
  return target;
}

// Caches so small that the test kernels' products do not fit.
Target SmallCaches() {
  Target target = TwoThreads();
  target.l2_bytes = 2560;
  return target;
}

constexpr const char* kElementwise = R"(kernel @elementwise class=loop
  operand %a: f32[40,36]
  operand %b: f32[40,36]
  result %r: f32[40,36]
{
  for i0 in 40 { for i1 in 36 { %r[i0, i1] = %a[i0, i1] * %b[i0, i1] } }
}
)";

constexpr const char* kFlat = R"(kernel @flat class=loop
  operand %a: f32[1440]
  result %r: f32[1440]
{
  for i0 in 40 { for i1 in 36 { %r[i0 * 36 + i1] = tanh(%a[i0 * 36 + i1]) } }
}
)";

constexpr const char* kRowSum = R"(kernel @row_sum class=reduce
  operand %a: f32[12,100]
  result %r: f32[12]
{
  for i0 in 12 {
    alloc %acc: f32[] register
    %acc[] = 0:f32
    for k0 in 100 reduces { %acc[] = %acc[] + %a[i0, k0] }
    %r[i0] = %acc[]
  }
}
)";

// As the lowering writes it: every value behind a let.
constexpr const char* kRowSumLets = R"(kernel @row_sum class=reduce
  operand %a: f32[12,100]
  result %r: f32[12]
{
  for i0 in 12 {
    alloc %acc: f32[] register
    %acc[] = 0:f32
    for k0 in 100 reduces {
      let a: f32 = %acc[]
      let x: f32 = %a[i0, k0]
      let s: f32 = a + x
      %acc[] = s
    }
    let r: f32 = %acc[]
    %r[i0] = r
  }
}
)";

constexpr const char* kColumnSum = R"(kernel @column_sum class=reduce
  operand %a: f32[30,77]
  result %r: f32[77]
{
  for i0 in 77 {
    alloc %acc: f32[] register
    %acc[] = 0:f32
    for k0 in 30 reduces { %acc[] = %acc[] + %a[k0, i0] }
    %r[i0] = %acc[]
  }
}
)";

constexpr const char* kDot = R"(kernel @dot class=contraction
  operand %a: f32[2,13,20]
  operand %b: f32[2,20,37]
  result %r: f32[2,13,37]
{
  for i0 in 2 {
    for i1 in 13 {
      for i2 in 37 {
        alloc %acc: f32[] register
        %acc[] = 0:f32
        for k0 in 20 reduces { %acc[] = %acc[] + %a[i0, i1, k0] * %b[i0, k0, i2] }
        %r[i0, i1, i2] = maximum(%acc[], 0:f32)
      }
    }
  }
}
)";

constexpr const char* kNorm = R"(kernel @norm class=row
  operand %a: f32[6,50]
  result %r: f32[6,50]
{
  for r0 in 6 {
    alloc %sum: f32[] register
    %sum[] = 0:f32
    for j0 in 50 reduces { %sum[] = %sum[] + %a[r0, j0] * %a[r0, j0] }
    let scale: f32 = rsqrt(%sum[] + 1:f32)
    for j0 in 50 { %r[r0, j0] = %a[r0, j0] * scale }
  }
}
)";

constexpr const char* kScatter = R"(kernel @scatter class=update
  operand %u: f32[200]
  operand %i: s32[200]
  result %r: f32[50]
{
  for i0 in 50 { %r[i0] = 0:f32 }
  for k0 in 200 reduces {
    let d: s64 = s64(%i[k0])
    if (and(d >= 0, d < 50)) { %r[d] = %r[d] + %u[k0] }
  }
}
)";

constexpr const char* kBias = R"(kernel @bias class=contraction
  operand %a: f32[45,20]
  operand %b: f32[20,37]
  operand %c: f32[37]
  result %d: f32[45,37]
  result %r: f32[45,37]
{
  for i0 in 45 {
    for i1 in 37 {
      alloc %acc: f32[] register
      %acc[] = 0:f32
      for k0 in 20 reduces { %acc[] = %acc[] + %a[i0, k0] * %b[k0, i1] }
      let x: f32 = %acc[]
      let c: f32 = %c[i1]
      let y: f32 = x + c
      %d[i0, i1] = x
      %r[i0, i1] = maximum(y, 0:f32)
    }
  }
}
)";

// What the epilogue adds is loaded, and worked on, before the sum.
constexpr const char* kResidual = R"(kernel @residual class=contraction
  operand %a: f32[45,20]
  operand %b: f32[20,37]
  operand %c: f32[45,37]
  operand %p: f32[37]
  result %r: f32[45,37]
{
  for i0 in 45 {
    for i1 in 37 {
      let c: f32 = %c[i0, i1]
      let p: f32 = %p[i1]
      let s: f32 = c + p
      alloc %acc: f32[] register
      %acc[] = 0:f32
      for k0 in 20 reduces { %acc[] = %acc[] + %a[i0, k0] * %b[k0, i1] }
      %r[i0, i1] = s + %acc[]
    }
  }
}
)";

std::string ListFor(const char* text, const char* line, const Target& target = TwoThreads()) {
  const auto schedule = ParseSchedule(line);
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().message);
  const auto list = ScheduleToPrimitives(MustParse(text), schedule->schedule, target);
  EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().message);
  return PrintPrimitives(*list);
}

TEST(LoopsSchedule, Lists) {
  EXPECT_EQ(
      ListFor(kElementwise, "loop unroll=2"),
      "flatten; fuse i0 i1 f0; simplify; tile f0 16 f0o f0b; tile f0b 8 f0u f0v; vectorise f0v; "
      "unroll f0u");
  EXPECT_EQ(ListFor(kFlat, "loop unroll=1 vector_bytes=16"),
            "fuse i0 i1 f0; tile f0 4 f0o f0v; vectorise f0v");
  EXPECT_EQ(ListFor(kRowSum, "reduce reduce_lanes=2"),
            "privatise k0 16 k0s k0l; vectorise k0lc; tile k0l 8 k0lu k0lv; vectorise k0lv; "
            "unroll k0lu");
  EXPECT_EQ(ListFor(kRowSumLets, "reduce reduce_lanes=2"),
            ListFor(kRowSum, "reduce reduce_lanes=2"));
  EXPECT_EQ(ListFor(kColumnSum, "reduce"),
            "tile i0 32 i0o i0t; distribute i0t; tile i0t 8 i0u i0v; vectorise i0v; unroll i0u");
  EXPECT_EQ(ListFor(kDot, "contraction tile_m=4 tile_n=2"),
            "tile i2 16 i2o i2t; tile i1 4 i1o i1t; reorder i1t i2o; distribute i2t; distribute "
            "i1t; unroll i1t; tile i2t 8 i2u i2v; vectorise i2v; unroll i2u");
}

TEST(LoopsSchedule, LargeProductsUseCopiedPanels) {
  EXPECT_EQ(ListFor(kBias, "contraction tile_m=4 tile_n=2", SmallCaches()),
            "reorder i0 i1; tile i1 16 i1p i1c; tile i1c 16 i1o i1t; reorder i1t i0; reorder i1o "
            "i0; tile i0 4 i0o i0t; reorder i0t i1o; distribute i1t; distribute i0t; prefetch b "
            "i1p k0; pack b i1p 16; vectorise t2; tile i1t 8 i1u i1v; vectorise i1v; unroll i1u; "
            "unroll i0t");
  // Too few rows to share a panel.
  EXPECT_EQ(ListFor(kDot, "contraction tile_m=4", SmallCaches()).find("stage"), std::string::npos);
}

// A product with so many columns on the right and elements in a sum.
std::string Product(int64_t rows, int64_t columns, int64_t depth) {
  const std::string m = std::to_string(rows), n = std::to_string(columns),
                    k = std::to_string(depth);
  return "kernel @product class=contraction\n  operand %a: f32[" + m + "," + k +
         "]\n  operand %b: f32[" + k + "," + n + "]\n  result %r: f32[" + m + "," + n +
         "]\n{ for i0 in " + m + " { for i1 in " + n +
         " {\n  alloc %acc: f32[] register\n  %acc[] = 0:f32\n  for k0 in " + k +
         " reduces { %acc[] = %acc[] + %a[i0, k0] * %b[k0, i1] }\n  %r[i0, i1] = %acc[]\n} } }";
}

TEST(LoopsSchedule, TilesAskForTheirResidualsAndResults) {
  std::string text = Product(48, 64, 1040);
  text.replace(text.find("  result"), 0, "  operand %x: f32[48,64]\n  operand %y: f32[48,64]\n");
  text.replace(text.rfind("%acc[]"), 6, "%acc[] + %x[i0, i1] * %y[i0, i1]");
  Target target = TwoThreads();
  target.l1_bytes = 8 << 10;
  const std::string far = ListFor(text.c_str(), "contraction tile_k=0", target);
  EXPECT_NE(far.find("prefetch_tile r i1o; prefetch_tile x i1o; prefetch_tile y i1o"),
            std::string::npos)
      << far;
  target.l1_bytes = 64 << 10;  // they stay near by themselves
  const std::string near = ListFor(text.c_str(), "contraction tile_k=0", target);
  EXPECT_EQ(near.find("prefetch_tile"), std::string::npos) << near;
}

TEST(LoopsSchedule, RowsAPowerOfTwoApartAreCopiedSideBySide) {
  Target target = TwoThreads();
  target.l2_bytes = 100 << 10;
  const std::string apart =
      ListFor(Product(48, 64, 1024).c_str(), "contraction tile_m=6 tile_k=0", target);
  EXPECT_NE(apart.find("tile k0 64 k0o k0i; pack a i0o 64"), std::string::npos) << apart;
  const std::string few =
      ListFor(Product(48, 64, 1024).c_str(), "contraction tile_m=4 tile_k=0", target);
  EXPECT_EQ(few.find("pack a"), std::string::npos) << few;
  const std::string other =
      ListFor(Product(48, 64, 1040).c_str(), "contraction tile_m=6 tile_k=0", target);
  EXPECT_NE(other.find("pack b"), std::string::npos) << other;
  EXPECT_EQ(other.find("pack a"), std::string::npos) << other;
}

TEST(LoopsSchedule, DeepSumsAreCutIntoBlocks) {
  Target target = TwoThreads();
  target.l2_bytes = 100 << 10;
  EXPECT_EQ(ListFor(Product(48, 64, 1024).c_str(), "contraction tile_m=6", target),
            "reorder i0 i1; tile i1 32 i1p i1c; reorder i1c i0; tile i0 24 i0p i0c; tile k0 128 "
            "k0b k0i; privatise k0i 1 k0is k0il; distribute i1c; distribute i0c; tile i1c 16 i1o "
            "i1t; reorder i0c i1o; tile i0c 6 i0o i0t; distribute i1t; distribute i0t; prefetch b "
            "i1o k0is; pack b i1o 16; vectorise t2; pack a k0b 128; vectorise t2_1; tile i1t 8 i1u "
            "i1v; vectorise i1v; unroll i1u; unroll i0t; parallel i1p");
  // Not where a panel of the whole sum finds a place, nor where no block divides the sum.
  const std::string shallow = ListFor(Product(48, 640, 96).c_str(), "contraction", target);
  EXPECT_EQ(shallow.find("privatise"), std::string::npos) << shallow;
  const std::string prime = ListFor(Product(48, 64, 1021).c_str(), "contraction", target);
  EXPECT_EQ(prime.find("i1o k0is"), std::string::npos) << prime;
  EXPECT_FALSE(DefaultSchedule(MustParse(Product(48, 64, 4096).c_str())).use_library);
  EXPECT_TRUE(DefaultSchedule(MustParse(Product(48, 64, 4099).c_str())).use_library);
}

// 48 KiB of columns: more than the first-level cache, less than an eighth of the second-level one.
TEST(LoopsSchedule, TilesOfFewRowsCutTheirSumsSooner) {
  Target target = TwoThreads();
  target.l1_bytes = 32 << 10;
  target.l2_bytes = 512 << 10;
  const std::string product = Product(48, 1024, 768);
  EXPECT_NE(ListFor(product.c_str(), "contraction tile_m=6", target).find("pack a k0b 128"),
            std::string::npos);
  EXPECT_EQ(ListFor(product.c_str(), "contraction tile_m=12", target).find("pack a k0b 128"),
            std::string::npos);
}

TEST(LoopsSchedule, DeepSumsStayWithinRounding) {
  for (const auto& [rows, columns, depth] : {std::array{48, 64, 1024}, std::array{29, 100, 1040}}) {
    const Kernel before = MustParse(Product(rows, columns, depth).c_str());
    Target target = TwoThreads();
    target.l2_bytes = 60 << 10;
    const auto after = ApplySchedule(before, Schedule(), target);
    ASSERT_TRUE(after.ok()) << after.error().message;
    ASSERT_TRUE(Verify(*after).ok());
    ASSERT_NE(Print(*after).find("k0b"), std::string::npos);
    const auto expected = As<float>(RunKernel(before).value()[0]);
    const auto actual = As<float>(RunKernel(*after).value()[0]);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-5 * depth);  // a term less would be far off
  }
}

TEST(LoopsSchedule, SumsOfRegisterTilesAreAddedUpInParts) {
  Target target = TwoThreads();
  target.l2_bytes = 400 << 10;
  const auto list = [&](int64_t depth, const std::string& knobs) {
    return ListFor(Product(48, 256, depth).c_str(), ("contraction tile_m=12 " + knobs).c_str(),
                   target);
  };
  // Equal parts, as few as they may be, and copies of rows inside of a part.
  const std::string parts = list(512, "");
  EXPECT_NE(parts.find("tile k0 256 k0b k0i; privatise k0i 1 k0is k0il"), std::string::npos)
      << parts;
  EXPECT_NE(parts.find("unroll k0b; tile k0is 64 k0iso k0isi; pack a i0o 64"), std::string::npos)
      << parts;
  EXPECT_EQ(list(384, "").find("privatise"), std::string::npos);
  EXPECT_EQ(list(512, "tile_k=0").find("privatise"), std::string::npos);
  // Code is not repeated without end.
  const std::string many = list(769, "tile_k=64");
  EXPECT_NE(many.find("tile k0 154 k0b k0i"), std::string::npos) << many;
  EXPECT_EQ(many.find("unroll k0b"), std::string::npos) << many;
}

// Root of the summed squares of what the product of Product() is off the exact one.
double ErrorOfProduct(const Kernel& kernel, int64_t rows, int64_t columns, int64_t depth) {
  const auto a = As<float>(MakeOperand(kernel[kernel.operands[0]], 1));
  const auto b = As<float>(MakeOperand(kernel[kernel.operands[1]], 2));
  const auto got = As<float>(RunKernel(kernel).value()[0]);
  double squares = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += double{a[i / columns * depth + k]} * b[k * columns + i % columns];
    squares += (got[i] - sum) * (got[i] - sum);
  }
  return std::sqrt(squares);
}

TEST(LoopsSchedule, PartsOfSumsRoundLess) {
  constexpr int64_t kRows = 28, kColumns = 64, kDepth = 1021;
  const Kernel kernel = MustParse(Product(kRows, kColumns, kDepth).c_str());
  Target target = TwoThreads();
  target.l2_bytes = 100 << 10;
  Schedule whole, parts;
  whole.tile_k = 0;
  const auto before = ApplySchedule(kernel, whole, target);
  const auto after = ApplySchedule(kernel, parts, target);
  ASSERT_TRUE(before.ok() && after.ok());
  ASSERT_NE(Print(*after).find("k0b"), std::string::npos);
  EXPECT_LT(ErrorOfProduct(*after, kRows, kColumns, kDepth),
            0.75 * ErrorOfProduct(*before, kRows, kColumns, kDepth));
}

// Sums of so many columns, each of `rows` elements.
std::string ColumnSums(int64_t rows, int64_t columns) {
  const std::string n = std::to_string(columns), k = std::to_string(rows);
  return "kernel @sums class=reduce\n  operand %a: f32[" + k + "," + n + "]\n  result %r: f32[" +
         n + "]\n{ for i0 in " + n +
         " {\n  alloc %acc: f32[] register\n  %acc[] = 0:f32\n  for k0 in " + k +
         " reduces { %acc[] = %acc[] + %a[k0, i0] }\n  %r[i0] = %acc[]\n} }";
}

TEST(LoopsSchedule, LongColumnsAreAddedUpInPartsOfParts) {
  const std::string list = ListFor(ColumnSums(40000, 16).c_str(), "reduce");
  EXPECT_EQ(list.find("tile k0 32768 k0b k0p; privatise k0p 1 k0ps k0pl; tile k0ps 1024 k0psb "
                      "k0psp; privatise k0psp 1 k0psps k0pspl; tile k0psps 32 "),
            0U)
      << list;
  EXPECT_EQ(ListFor(ColumnSums(1024, 16).c_str(), "reduce").find("tile k0 32 k0b k0p; privatise"),
            0U);
  EXPECT_EQ(ListFor(ColumnSums(128, 16).c_str(), "reduce").find("privatise"), std::string::npos);
}

// Root of the summed squares of what the sums of columns are off the exact ones.
double ErrorOfSums(const Kernel& kernel, int64_t columns) {
  const auto a = As<float>(MakeOperand(kernel[kernel.operands[0]], 1));
  const auto got = As<float>(RunKernel(kernel).value()[0]);
  std::vector<double> sums(columns);
  for (size_t i = 0; i < a.size(); ++i) sums[i % columns] += a[i];
  double squares = 0;
  for (int64_t i = 0; i < columns; ++i) squares += (got[i] - sums[i]) * (got[i] - sums[i]);
  return std::sqrt(squares);
}

// Means of a batch run over all its pixels, and what they are off is the same for a whole channel.
TEST(LoopsSchedule, PartsOfPartsRoundLess) {
  constexpr int64_t kRows = 40001, kColumns = 16;
  const Kernel kernel = MustParse(ColumnSums(kRows, kColumns).c_str());
  const auto once =
      Replay(kernel, ParsePrimitives("tile k0 256 k0b k0p; privatise k0p 1 k0ps k0pl").value());
  const auto again = ApplySchedule(kernel, Schedule(), TwoThreads());
  ASSERT_TRUE(once.ok() && again.ok());
  ASSERT_TRUE(Verify(*again).ok());
  EXPECT_LT(ErrorOfSums(*again, kColumns), 0.7 * ErrorOfSums(*once, kColumns));
}

TEST(LoopsSchedule, AProductOfOneRowReadsLongRuns) {
  const std::string list = ListFor(Product(1, 3072, 32).c_str(), "contraction");
  EXPECT_NE(list.find("tile i1 96 "), std::string::npos) << list;
  EXPECT_FALSE(DefaultSchedule(MustParse(Product(1, 3072, 64).c_str())).use_library);
  // From memory long runs of some rows side by side.
  Target target = TwoThreads();
  target.l2_bytes = 100 << 10;
  const std::string far = ListFor(Product(1, 3072, 64).c_str(), "contraction", target);
  EXPECT_NE(far.find("tile i1 1536 i1o i1r; distribute i1r; tile i1r 32 i1b i1t; "
                     "tile k0 8 k0o k0i; reorder k0i i1b; unroll k0i"),
            std::string::npos)
      << far;
  // A tile for each thread, at least.
  const std::string small = ListFor(Product(1, 64, 64).c_str(), "contraction");
  EXPECT_NE(small.find("tile i1 16 "), std::string::npos) << small;
}

// Each column is a sum along memory.
TEST(LoopsSchedule, AProductOfOneRowWithTransposedColumnsIsOwnCode) {
  const char* text = R"(kernel @logits class=contraction
  operand %a: f32[1,256]
  operand %b: f32[500,256]
  result %r: f32[1,500]
{ for i0 in 1 { for i1 in 500 {
  alloc %acc: f32[] register
  %acc[] = 0:f32
  for k0 in 256 reduces { %acc[] = %acc[] + %a[i0, k0] * %b[i1, k0] }
  %r[i0, i1] = %acc[]
} } })";
  EXPECT_FALSE(DefaultSchedule(MustParse(text)).use_library);
  EXPECT_EQ(ListFor(text, "contraction").find("privatise k0 32 "), 0U)
      << ListFor(text, "contraction");
}

TEST(LoopsSchedule, RegisterTileFollowsTheRegisters) {
  Target wide = TwoThreads();
  wide.vector_bytes = 64;
  wide.vector_registers = 32;
  EXPECT_NE(ListFor(kBias, "contraction").find("tile i0 6 "), std::string::npos);
  EXPECT_NE(ListFor(kBias, "contraction", wide).find("tile i0 14 "), std::string::npos);
}

TEST(LoopsSchedule, OwnCodeSuitsPlainProductsOnly) {
  EXPECT_FALSE(DefaultSchedule(MustParse(kBias)).use_library);
  EXPECT_TRUE(DefaultSchedule(MustParse(kDot)).use_library);  // few rows
  std::string columns_far = kBias;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"f32[20,37]", "f32[37,20]"},
                                 {"%b[k0, i1]", "%b[i1, k0]"}})
    columns_far.replace(columns_far.find(from), from.size(), to);
  EXPECT_TRUE(DefaultSchedule(MustParse(columns_far.c_str())).use_library);
}

TEST(LoopsSchedule, ParallelOnlyWhereItPaysAndIsProved) {
  EXPECT_EQ(ListFor(kElementwise, "loop unroll=1 parallel_grain=1024").find("parallel"),
            std::string::npos);
  const std::string big = R"(kernel @big class=loop
  operand %a: f32[4096,4096]
  result %r: f32[4096,4096]
{
  for i0 in 4096 { for i1 in 4096 { %r[i0, i1] = %a[i1, i0] } }
})";
  EXPECT_NE(ListFor(big.c_str(), "loop unroll=1").find("parallel i"), std::string::npos);
  EXPECT_EQ(ListFor(kScatter, "update parallel_grain=1024").find("k0"), std::string::npos);
}

class LoopsScheduleAll : public testing::TestWithParam<const char*> {};

TEST_P(LoopsScheduleAll, EveryScheduleKeepsTheResults) {
  const Kernel kernel = MustParse(GetParam());
  const auto expected = RunKernel(kernel);
  ASSERT_TRUE(expected.ok());
  std::mt19937 random(7);
  const bool exact = kernel.klass != KernelClass::kReduce && kernel.klass != KernelClass::kRow;
  for (const Numerics limit : {Numerics::kBitwise, Numerics::kReassociates}) {
    for (int i = 0; i < 25; ++i) {
      Schedule schedule;
      if (limit == Numerics::kBitwise) schedule.reduce_lanes = 1;
      for (const Knob* knob : KnobsOf(kernel.klass, limit))
        knob->Set(schedule, knob->domain[random() % knob->domain.size()]);
      const Target target = i % 2 == 0 ? TwoThreads() : SmallCaches();
      const auto scheduled = ApplySchedule(kernel, schedule, target);
      ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
      const auto verdict = Verify(*scheduled);
      ASSERT_TRUE(verdict.ok()) << verdict.error().message << "\n" << Print(*scheduled);
      const auto actual = RunKernel(*scheduled);
      ASSERT_TRUE(actual.ok()) << actual.error().message << Print(*scheduled);
      const auto want = As<float>((*expected)[0]), have = As<float>((*actual)[0]);
      for (size_t e = 0; e < want.size(); ++e)
        ASSERT_NEAR(have[e], want[e], 2e-5F * (1 + std::fabs(want[e])))
            << PrintSchedule(kernel.klass, schedule) << "\n"
            << Print(*scheduled);
      if (exact && limit == Numerics::kBitwise) {
        ASSERT_EQ(*actual, *expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LoopsScheduleAll,
                         testing::Values(kElementwise, kFlat, kRowSum, kRowSumLets, kColumnSum,
                                         kDot, kBias, kResidual, kNorm, kScatter));

}  // namespace
}  // namespace fusemark::loops
