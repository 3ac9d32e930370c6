#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

std::string Hlo(const std::string& body, const std::string& type = "f32") {
  return "HloModule m\nadd { a = " + type + "[] parameter(0)\n b = " + type +
         "[] parameter(1)\n ROOT r = " + type + "[] add(a, b) }\nmax { a = " + type +
         "[] parameter(0)\n b = " + type + "[] parameter(1)\n ROOT r = " + type +
         "[] maximum(a, b) }\nsecond { a = " + type + "[] parameter(0)\n ROOT b = " + type +
         "[] parameter(1) }\nge { a = " + type + "[] parameter(0)\n b = " + type +
         "[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\nENTRY e {\n" + body +
         "\n}";
}

TEST(LowerWindow, MaxPoolSkipsPadding) {
  LowerFused(Hlo("x = f32[1,9,9,3] parameter(0)\n lo = f32[] constant(-inf)\n ROOT w = "
                 "f32[1,5,5,3] reduce-window(x, lo), window={size=1x3x3x1 stride=1x2x2x1 "
                 "pad=0_0x1_1x1_1x0_0}, to_apply=max"),
             {.klass = KernelClass::kWindow});
}

TEST(LowerWindow, DilationsAndNegativePads) {
  LowerFused(Hlo("x = f32[6,7] parameter(0)\n z = f32[] constant(0)\n ROOT w = f32[9,3] "
                 "reduce-window(x, z), window={size=3x3 pad=0_0x-1_1 lhs_dilate=2x1 "
                 "rhs_dilate=1x2}, to_apply=add"),
             {.klass = KernelClass::kWindow, .tolerance = 1e-5});
}

TEST(LowerWindow, RunningSumsAreLinear) {
  for (const std::string pad : {"0_0x11_0x0_0", "0_0x0_11x0_0"}) {
    const std::string text =
        LowerFused(Hlo("x = f32[3,12,5] parameter(0)\n z = f32[] constant(0)\n n = f32[3,12,5] "
                       "negate(x)\n w = f32[3,12,5] reduce-window(n, z), window={size=1x12x1 pad=" +
                       pad + "}, to_apply=add\n ROOT r = f32[3,12,5] multiply(w, x)"),
                   {.klass = KernelClass::kWindow, .tolerance = 1e-5});
    EXPECT_EQ(text.find("for k0"), text.rfind("for k")) << text;
  }
  LowerFused(Hlo("x = bf16[300] parameter(0)\n z = bf16[] constant(0)\n ROOT w = bf16[300] "
                 "reduce-window(x, z), window={size=300 pad=299_0}, to_apply=add",
                 "bf16"),
             {.klass = KernelClass::kWindow, .tolerance = 0.008});
}

TEST(LowerUpdate, DynamicUpdateSlice) {
  for (const std::string start : {"0", "2", "-4", "50"}) {
    LowerFused(
        Hlo("x = f32[6,5] parameter(0)\n u = f32[3,2] parameter(1)\n i = s32[] constant(" + start +
            ")\n j = s32[] parameter(2)\n ROOT r = f32[6,5] "
            "dynamic-update-slice(x, u, i, j)"),
        {.klass = KernelClass::kUpdate});
    LowerFused(
        Hlo("x = f32[6,5] parameter(0)\n u = f32[3,2] parameter(1)\n i = s32[] constant(" + start +
            ")\n j = s32[] parameter(2)\n d = f32[6,5] dynamic-update-slice(x, u, i, "
            "j)\n ROOT r = f32[6,5] negate(d)"),
        {.klass = KernelClass::kLoop});
  }
}

TEST(LowerUpdate, InPlaceCopiesNothing) {
  const Module module = MustParseHlo(
      Hlo("x = f32[6,5] parameter(0)\n u = f32[3,5] parameter(1)\n i = s32[] parameter(2)\n z = "
          "s32[] constant(0)\n ROOT r = f32[6,5] dynamic-update-slice(x, u, i, z)"));
  LowerRequest request{.module = &module, .computation = module.entry};
  request.roots = {module.Entry().root};
  request.klass = KernelClass::kUpdate;
  request.in_place = true;
  const auto lowered = Lower(request);
  ASSERT_TRUE(lowered.ok());
  const std::string text = Print(lowered->kernel);
  EXPECT_TRUE(Verify(lowered->kernel).ok()) << text;
  EXPECT_EQ(text.find("%x["), std::string::npos) << text;
  const Buffer& result = lowered->kernel[lowered->kernel.results[0]];
  ASSERT_GE(result.in_place_of, 0);
  EXPECT_EQ(lowered->operands[static_cast<size_t>(result.in_place_of)],
            module.Entry().parameters[0]);
}

TEST(LowerUpdate, AnOperandReadElsewhereIsNotShared) {
  const Module module =
      MustParseHlo(Hlo("x = f32[6] parameter(0)\n i = s32[] parameter(1)\n s = f32[3] slice(x), "
                       "slice={[1:4]}\n ROOT r = f32[6] dynamic-update-slice(x, s, i)"));
  LowerRequest request{.module = &module, .computation = module.entry};
  request.roots = {module.Entry().root};
  request.members = {InstrId{2}};
  request.klass = KernelClass::kUpdate;
  request.in_place = true;
  const auto lowered = Lower(request);
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->kernel[lowered->kernel.results[0]].in_place_of, -1);
}

TEST(LowerUpdate, ScatterOfEveryKindOfDimension) {
  for (const std::string region : {"add", "second", "max"}) {
    LowerFused(Hlo("x = f32[7,4] parameter(0)\n i = s32[9,1] parameter(1)\n u = f32[9,4] "
                   "parameter(2)\n ROOT s = f32[7,4] scatter(x, i, u), update_window_dims={1}, "
                   "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                   "index_vector_dim=1, to_apply=" +
                   region),
               {.klass = KernelClass::kUpdate, .tolerance = 1e-5});
  }
  LowerFused(Hlo("x = f32[6,7] parameter(0)\n i = s32[2,5] parameter(1)\n u = f32[2,5,3] "
                 "parameter(2)\n ROOT s = f32[6,7] scatter(x, i, u), update_window_dims={0,2}, "
                 "inserted_window_dims={}, scatter_dims_to_operand_dims={1,0}, "
                 "index_vector_dim=0, to_apply=add"),
             {.klass = KernelClass::kUpdate, .tolerance = 1e-5});
  LowerFused(Hlo("x = f32[3,6,4] parameter(0)\n i = s32[5,3] parameter(1)\n u = f32[5,3,4] "
                 "parameter(2)\n ROOT s = f32[3,6,4] scatter(x, i, u), update_window_dims={2}, "
                 "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
                 "input_batching_dims={0}, scatter_indices_batching_dims={1}, "
                 "index_vector_dim=2, to_apply=add"),
             {.klass = KernelClass::kUpdate, .tolerance = 1e-5});
}

TEST(LowerUpdate, SelectAndScatter) {
  LowerFused(Hlo("x = f32[1,8,8,2] parameter(0)\n s = f32[1,4,4,2] parameter(1)\n z = f32[] "
                 "constant(0)\n ROOT r = f32[1,8,8,2] select-and-scatter(x, s, z), "
                 "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, select=ge, "
                 "scatter=add"),
             {.klass = KernelClass::kUpdate, .tolerance = 1e-5});
}

}  // namespace
}  // namespace fusemark::loops
