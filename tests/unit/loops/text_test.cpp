// Print and parse of loop nest IR: the round trip, the canonical form, and errors with their place.
#include <gtest/gtest.h>

#include "compiler/loops/builder.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/print.h"

namespace fusemark::loops {
namespace {

constexpr const char* kEverything = R"(kernel @every.thing-1 class=row
  operand %a: f32[128,768]
  operand %Arg_0.1: bf16[7]
  operand %idx: s32[4]
  result %r: f32[128,768] in_place_of=0
  result %p: pred[]
  scratch %s: f64[3]
{
  for i0 in 128 parallel {
    alloc %acc: f32[] register
    %acc[] = -0:f32
    for k0 in 768 reduces {
      %acc[] = %acc[] + %a[i0, k0] * 0.5:f32
    }
    for i1 in 48 {
      for i2 in 16 vector {
        let v0: f32 = tanh(%a[i0, i1 * 16 + i2])
        let v1: pred = and(v0 < 1e-10:f32, is-finite(v0))
        if (i1 * 16 + (i2 - 3) >= 5) {
          %r[i0, i1 * 16 + i2] = select(v1, maximum(v0, inf:f32), nan:f32)
        } else {
          %r[i0, i1 * 16 + i2] = fma(v0, f32(%Arg_0.1[i2 % 7]), nan(0xffc00001):f32)
        }
      }
    }
  }
  let d: s64 = minimum(maximum(s64(%idx[3]), 0), -3 + 4)
  %s[d] = f64(bitcast<f32>(4294967295:u32))
  barrier
  %p[] = true
}
)";

TEST(LoopsText, PrintsWhatItParsed) {
  const auto kernel = Parse(kEverything);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(Print(*kernel), kEverything);
}

TEST(LoopsText, ParseOfPrintIsTheCompactedKernel) {
  Kernel kernel;
  kernel.name = "k";
  Builder b(kernel);
  const BufferId a = b.AddOperand("a", DType::kF32, {8});
  b.AddLocal("unused", DType::kF32, {2}, Space::kStack);
  const BufferId r = b.AddResult("r", DType::kF32, {8});
  b.AddVar("unused");
  const VarId i = b.AddVar("i");
  const ExprId use = b.Use(i);  // shared by two trees: the compacted form copies it
  kernel.body.push_back(b.For(i, 8, {b.Store(r, {use}, b.Load(a, {use}))}));
  const auto parsed = Parse(Print(kernel));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, Compacted(kernel));
  EXPECT_EQ(Print(Compacted(kernel)), Print(kernel));
}

TEST(LoopsText, BuilderFoldsIndexArithmetic) {
  Kernel kernel;
  Builder b(kernel);
  const VarId i = b.AddVar("i");
  const auto text = [&](ExprId id) { return PrintExpr(kernel, id); };
  EXPECT_EQ(text(b.Add(b.Mul(b.Use(i), 1), b.Index(0))), "i");
  EXPECT_EQ(text(b.Mul(b.Use(i), 0)), "0");
  EXPECT_EQ(text(b.Add(b.Index(2), b.Add(b.Use(i), b.Index(3)))), "i + 5");
  EXPECT_EQ(text(b.Mul(b.Mul(b.Use(i), 4), 6)), "i * 24");
  EXPECT_EQ(text(b.Sub(b.Use(i), b.Index(3))), "i + -3");
  EXPECT_EQ(text(b.Mod(b.Use(i), 1)), "0");
  EXPECT_EQ(text(b.Div(b.Index(7), 2)), "3");
  EXPECT_EQ(text(b.Mul(b.Add(b.Use(i), b.Index(1)), 2)), "(i + 1) * 2");
}

TEST(LoopsText, NamesAreUniqueAndPrintable) {
  Kernel kernel;
  Builder b(kernel);
  EXPECT_EQ(kernel[b.AddVar("i0")].name, "i0");
  EXPECT_EQ(kernel[b.AddVar("i0")].name, "i0_1");
  EXPECT_EQ(kernel[b.AddVar("v")].name, "v");
  EXPECT_EQ(kernel[b.AddVar("v")].name, "v1");
  EXPECT_EQ(kernel[b.AddVar("a/b c")].name, "a_b_c");
  EXPECT_EQ(kernel[b.AddVar("nan")].name, "nan_");
  EXPECT_EQ(b.SameVar("i0"), VarId{0});
  EXPECT_EQ(kernel[b.AddOperand("0", DType::kF32, {})].name, "_0");
}

TEST(LoopsText, CanonicalTextHasNoNames) {
  const auto first = Parse(R"(kernel @a class=loop
  operand %x: f32[4]
  result %y: f32[4]
{
  for i in 4 {
    let t: f32 = %x[i]
    %y[i] = t * t
  }
})");
  const auto second = Parse(R"(kernel @b class=loop
  operand %in: f32[4]
  result %out: f32[4]
{
  for row in 4 { let q: f32 = %in[row]  %out[row] = q * q }  // on one line
})");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(Print(*first, {.canonical = true}), Print(*second, {.canonical = true}));
  EXPECT_EQ(TaskId(*first), TaskId(*second));
  const auto again = Parse(Print(*first, {.canonical = true}));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(TaskId(*again), TaskId(*first));
}

struct BadText {
  const char* body;
  const char* message;
};

class LoopsTextErrors : public testing::TestWithParam<BadText> {};

TEST_P(LoopsTextErrors, SaysWhatAndWhere) {
  const std::string text =
      std::string("kernel @k class=loop\n  operand %a: f32[4]\n{\n") + GetParam().body + "\n}\n";
  const auto kernel = Parse(text);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, LoopsTextErrors,
    testing::Values(
        BadText{"for i on 4 {}", "4:7: expected 'in', found 'on'"},
        BadText{"for i in 4 vectors {}",
                "4:19: unknown loop kind 'vectors', expected serial, parallel, vector, unroll, "
                "block, thread or reduces"},
        BadText{"%b[0] = 1:f32", "4:1: unknown buffer %b"},
        BadText{"%a[j] = 1:f32", "4:4: unknown variable 'j'"},
        BadText{"%a[0, 1] = 1:f32", "4:9: %a has 1 dimensions, found 2 indices"},
        BadText{"%a[0] = 1", "5:1: expected a value of type f32, found s64"},
        BadText{"%a[0] = tanh(1:f32, 2:f32)", "4:27: tanh takes 1 arguments, found 2"},
        BadText{"%a[0] = tnah(1:f32)", "4:9: unknown function 'tnah'"},
        BadText{"%a[0] = 300:u8", "4:9: '300' is not a constant of type u8"},
        BadText{"let x: f31 = 1", "4:8: expected an element type, found 'f31'"},
        BadText{"alloc %t: f32[2] cache",
                "4:23: expected register, stack or shared, found 'cache'"},
        BadText{"if (1) {}", "4:6: expected a value of type pred, found s64"},
        BadText{"for i in 99999999999999999999 {}", "4:10: the integer does not fit in s64"}));

TEST(LoopsText, DeepNestingIsAnErrorNotACrash) {
  const std::string head = "kernel @k class=loop\n{\n";
  const auto brackets = Parse(head + "if (" + std::string(1000000, '('));
  ASSERT_FALSE(brackets.ok());
  EXPECT_NE(brackets.error().message.find("nested too deeply"), std::string::npos);
  std::string loops = head;
  for (int i = 0; i < 100000; ++i) loops += "for i in 2 { ";
  EXPECT_FALSE(Parse(loops).ok());
}

}  // namespace
}  // namespace fusemark::loops
