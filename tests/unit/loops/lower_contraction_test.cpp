#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

std::string Entry(const std::string& body) {
  return "HloModule m\nENTRY e {\n" + body + "\n}";
}

TEST(LowerContraction, DotOfEveryForm) {
  for (const std::string& body : std::vector<std::string>{
           "a = f32[5,7] parameter(0)\n b = f32[7,6] parameter(1)\n ROOT d = f32[5,6] dot(a, b), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
           "a = f32[3,5,7] parameter(0)\n b = f32[3,6,7] parameter(1)\n ROOT d = f32[3,5,6] dot(a, "
           "b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
           "rhs_contracting_dims={2}",
           "a = f32[4,3,5,2] parameter(0)\n b = f32[2,6,4,3] parameter(1)\n ROOT d = f32[3,5,6] "
           "dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={3}, lhs_contracting_dims={3,0}, "
           "rhs_contracting_dims={0,2}",
           "a = f32[7] parameter(0)\n b = f32[7] parameter(1)\n ROOT d = f32[] dot(a, b), "
           "lhs_contracting_dims={0}, rhs_contracting_dims={0}",
           "a = f32[4] parameter(0)\n b = f32[3] parameter(1)\n ROOT d = f32[4,3] dot(a, b)",
           "a = f32[4,0] parameter(0)\n b = f32[0,3] parameter(1)\n ROOT d = f32[4,3] dot(a, b), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0}"}) {
    LowerFused(Entry(body), {.klass = KernelClass::kContraction, .tolerance = 1e-5});
  }
}

TEST(LowerContraction, DotTypes) {
  for (const auto& [in, out, tolerance] :
       std::vector<std::tuple<std::string, std::string, double>>{{"bf16", "bf16", 0.008},
                                                                 {"bf16", "f32", 1e-5},
                                                                 {"f16", "f16", 0.002},
                                                                 {"s8", "s32", 0},
                                                                 {"s32", "s32", 0},
                                                                 {"u8", "u8", 0},
                                                                 {"f64", "f64", 1e-13},
                                                                 {"s64", "s64", 0}}) {
    LowerFused(Entry("a = " + in + "[5,40] parameter(0)\n b = " + in +
                     "[40,6] parameter(1)\n ROOT d = " + out +
                     "[5,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
               {.klass = KernelClass::kContraction, .tolerance = tolerance});
  }
}

TEST(LowerContraction, DotWithPrologueAndEpilogue) {
  const std::string text = LowerFused(
      Entry(
          "a = f32[5,7] parameter(0)\n b = f32[6,7] parameter(1)\n c = f32[6] parameter(2)\n n = "
          "f32[5,7] negate(a)\n t = f32[7,6] transpose(b), dimensions={1,0}\n d = f32[5,6] dot(n, "
          "t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n cb = f32[5,6] broadcast(c), "
          "dimensions={1}\n s = f32[5,6] add(d, cb)\n ROOT r = f32[5,6] tanh(s)"),
      {.klass = KernelClass::kContraction, .tolerance = 1e-5});
  EXPECT_NE(text.find("fma("), std::string::npos) << text;
}

void Conv(const std::string& lhs, const std::string& rhs, const std::string& out,
          const std::string& attrs, const std::string& type = "f32") {
  LowerFused(
      Entry("a = " + type + "[" + lhs + "] parameter(0)\n b = " + type + "[" + rhs +
            "] parameter(1)\n ROOT c = " + type + "[" + out + "] convolution(a, b), " + attrs),
      {.klass = KernelClass::kContraction,
       .tolerance = type == "bf16" ? 0.008
                    : type == "s8" ? 0
                                   : 1e-5});
}

TEST(LowerContraction, ConvolutionOfEveryKind) {
  Conv("2,8,7,3", "3,3,3,4", "2,8,7,4",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
  Conv("2,3,8,7", "4,3,1,1", "2,4,8,7", "window={size=1x1}, dim_labels=bf01_oi01->bf01");
  Conv("1,9,9,2", "3,3,2,5", "1,4,4,5", "window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f");
  Conv("1,9,9,2", "3,3,2,5", "1,4,4,5",
       "window={size=3x3 stride=2x2 pad=0_1x1_0}, dim_labels=b01f_01io->b01f");
  Conv("1,9,9,2", "3,3,2,5", "1,5,5,5",
       "window={size=3x3 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f");
  Conv("1,4,5,2", "3,3,2,5", "1,7,9,5",
       "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f");
  Conv("1,9,9,2", "3,3,2,5", "1,6,7,5",
       "window={size=3x3 pad=-1_0x0_0 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f");
  Conv("1,6,6,4", "3,3,1,8", "1,4,4,8",
       "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=4");
  Conv("4,6,6,3", "3,3,3,4", "2,4,4,4",
       "window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=2");
  Conv("5,10,3", "4,3,6", "5,7,6", "window={size=4}, dim_labels=b0f_0io->b0f");
  Conv("5,3", "3,6", "5,6", "dim_labels=bf_io->bf");
  Conv("1,3,6,6", "2,3,3,3", "1,2,4,4", "window={size=3x3}, dim_labels=bf01_oi01->bf01", "bf16");
  Conv("1,8,6,6", "2,8,3,3", "1,2,4,4", "window={size=3x3}, dim_labels=bf01_oi01->bf01", "s8");
}

}  // namespace
}  // namespace fusemark::loops
