#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

TEST(LowerLoop, ElementwiseChainIsOneNest) {
  const std::string text = LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)
  b = f32[8] parameter(1)
  c = f32[] constant(0.5)
  cb = f32[4,8] broadcast(c), dimensions={}
  bb = f32[4,8] broadcast(b), dimensions={1}
  a = f32[4,8] add(x, bb)
  m = f32[4,8] multiply(a, cb)
  ROOT t = f32[4,8] tanh(m)
})",
                                      {});
  EXPECT_EQ(text.find('%', text.find("cb")), std::string::npos) << text;
}

TEST(LowerLoop, IntegerArithmeticFollowsHlo) {
  for (const std::string type : {"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"}) {
    for (const std::string op :
         {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
          "xor", "power", "shift-left", "shift-right-logical", "shift-right-arithmetic"}) {
      LowerFused("HloModule m\nENTRY e {\n a = " + type + "[50] parameter(0)\n b = " + type +
                     "[50] parameter(1)\n ROOT r = " + type + "[50] " + op + "(a, b)\n}",
                 {});
    }
  }
}

TEST(LowerLoop, PredArithmeticIsLogical) {
  for (const std::string op : {"add", "multiply", "and", "or", "xor", "maximum", "minimum"}) {
    LowerFused(
        "HloModule m\nENTRY e {\n a = pred[9] parameter(0)\n b = pred[9] parameter(1)\n c = "
        "pred[9] " +
            op + "(a, b)\n ROOT r = pred[9] not(c)\n}",
        {});
  }
}

TEST(LowerLoop, NarrowFloatsRoundAfterEveryOperation) {
  for (const std::string type : {"bf16", "f16"}) {
    LowerFused("HloModule m\nENTRY e {\n a = " + type + "[70] parameter(0)\n b = " + type +
                   "[70] parameter(1)\n s = " + type + "[70] multiply(a, b)\n t = " + type +
                   "[70] add(s, b)\n u = " + type + "[70] exponential(t)\n ROOT r = " + type +
                   "[70] subtract(u, a)\n}",
               {});
  }
}

TEST(LowerLoop, NarrowFloatsMayKeepF32BetweenOperations) {
  const std::string text = LowerFused(R"(
HloModule m
ENTRY e {
  a = bf16[70] parameter(0)
  b = bf16[70] parameter(1)
  s = bf16[70] multiply(a, b)
  ROOT r = bf16[70] add(s, a)
})",
                                      {.rounding = Rounding::kAtStores, .tolerance = 0.02});
  size_t rounds = 0;
  for (size_t at = text.find("bf16("); at != std::string::npos; at = text.find("bf16(", at + 1))
    ++rounds;
  EXPECT_EQ(rounds, 1U) << text;
}

TEST(LowerLoop, ConvertsBetweenAllTypes) {
  const std::vector<std::string> types = {"pred", "s8",  "s16",  "s32", "s64", "u8", "u16",
                                          "u32",  "u64", "bf16", "f16", "f32", "f64"};
  for (const std::string& from : types) {
    for (const std::string& to : types) {
      LowerFused("HloModule m\nENTRY e {\n a = " + from + "[40] parameter(0)\n ROOT r = " + to +
                     "[40] convert(a)\n}",
                 {});
    }
  }
}

TEST(LowerLoop, CompareSelectClamp) {
  for (const std::string type : {"f32", "bf16", "f16", "f64", "s32", "u8"}) {
    LowerFused("HloModule m\nENTRY e {\n a = " + type + "[60] parameter(0)\n b = " + type +
                   "[60] parameter(1)\n lo = " + type + "[] constant(0)\n hi = " + type +
                   "[] constant(1)\n p = pred[60] compare(a, b), direction=GT\n k = " + type +
                   "[60] clamp(lo, a, hi)\n ROOT r = " + type + "[60] select(p, k, b)\n}",
               {});
  }
  LowerFused(R"(
HloModule m
ENTRY e {
  a = f32[60] parameter(0)
  b = f32[60] parameter(1)
  ROOT p = pred[60] compare(a, b), direction=LT, type=TOTALORDER
})",
             {});
}

TEST(LowerLoop, BitcastConvertKeepsChangesAndSplitsWidth) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"f32[6]", "s32[6]"},
                                                        {"bf16[6]", "u16[6]"},
                                                        {"f16[6]", "s16[6]"},
                                                        {"u16[6]", "bf16[6]"},
                                                        {"f32[6]", "u8[6,4]"},
                                                        {"s64[3]", "f32[3,2]"},
                                                        {"u8[6,4]", "f32[6]"},
                                                        {"bf16[5,2]", "u32[5]"},
                                                        {"u32[5]", "f16[5,2]"},
                                                        {"f64[2,3]", "u64[2,3]"}}) {
    LowerFused("HloModule m\nENTRY e {\n a = " + from + " parameter(0)\n ROOT r = " + to +
                   " bitcast-convert(a)\n}",
               {});
  }
}

TEST(LowerLoop, ReducePrecision) {
  for (const std::string attrs :
       {"exponent_bits=8, mantissa_bits=7", "exponent_bits=5, mantissa_bits=2",
        "exponent_bits=3, mantissa_bits=0"}) {
    for (const std::string type : {"f32", "f64", "bf16", "f16"}) {
      if (type == "f16" && attrs[14] == '8') continue;
      LowerFused("HloModule m\nENTRY e {\n a = " + type + "[60] parameter(0)\n ROOT r = " + type +
                     "[60] reduce-precision(a), " + attrs + "\n}",
                 {});
    }
  }
}

TEST(LowerLoop, ReshapesNeedNoDivision) {
  // Splitting, merging and 1-dims; a merge above a transpose runs over the finer dims.
  for (const std::string& body : std::vector<std::string>{
           "x = f32[6,4] parameter(0)\n n = f32[6,4] negate(x)\n ROOT r = f32[2,3,4] reshape(n)",
           "x = f32[2,3,4] parameter(0)\n n = f32[2,3,4] negate(x)\n ROOT r = f32[6,4] reshape(n)",
           "x = f32[2,3,4] parameter(0)\n ROOT r = f32[24] reshape(x)",
           "x = f32[4,1,6] parameter(0)\n n = f32[4,1,6] negate(x)\n ROOT r = f32[1,4,6,1] "
           "reshape(n)",
           "x = f32[2,3,4,5] parameter(0)\n t = f32[2,4,3,5] transpose(x), "
           "dimensions={0,2,1,3}\n s = f32[2,4,15] reshape(t)\n ROOT r = f32[2,4,15] negate(s)"}) {
    const std::string text = LowerFused("HloModule m\nENTRY e {\n" + body + "\n}", {});
    EXPECT_EQ(text.find(" / "), std::string::npos) << text;
    EXPECT_EQ(text.find(" % "), std::string::npos) << text;
  }
}

TEST(LowerLoop, ReshapeOfIncompatibleDims) {
  LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  n = f32[4,6] negate(x)
  s = f32[3,8] reshape(n)
  t = f32[8,3] transpose(s), dimensions={1,0}
  ROOT r = f32[2,12] reshape(t)
})",
             {});
}

TEST(LowerLoop, IndexMapsCompose) {
  LowerFused(R"(
HloModule m
ENTRY e {
  x = s32[6,10] parameter(0)
  s = s32[3,4] slice(x), slice={[1:6:2], [2:10:2]}
  r = s32[3,4] reverse(s), dimensions={0}
  t = s32[4,3] transpose(r), dimensions={1,0}
  i = s32[4,3] iota(), iota_dimension=1
  ROOT a = s32[4,3] add(t, i)
})",
             {});
  for (const std::string type : {"s8", "u8", "f32", "bf16", "f16", "f64", "s64"}) {
    LowerFused("HloModule m\nENTRY e {\n ROOT i = " + type + "[3,300] iota(), iota_dimension=1\n}",
               {});
  }
}

constexpr const char* kPads[] = {"1_2x0_3",        "-1_-2x2_0", "0_0_1x1_1_2",
                                 "-2_3_1x-1_-1_2", "5_0x0_0",   "-6_0x0_0"};

TEST(LowerLoop, PadAsRootAndMember) {
  const char* results[] = {"7,8", "1,7", "7,15", "8,11", "9,5", nullptr};
  for (size_t i = 0; i < std::size(kPads); ++i) {
    if (results[i] == nullptr) continue;
    for (const bool member : {false, true}) {
      const std::string shape = "f32[" + std::string(results[i]) + "]";
      LowerFused(
          "HloModule m\nENTRY e {\n x = f32[4,5] parameter(0)\n v = f32[] parameter(1)\n n = "
          "f32[4,5] negate(x)\n " +
              std::string(member ? "" : "ROOT ") + "p = " + shape + " pad(n, v), padding=" +
              kPads[i] + (member ? "\n ROOT r = " + shape + " abs(p)" : "") + "\n}",
          {});
    }
  }
}

TEST(LowerLoop, ConcatenateAsRootAndMember) {
  for (const bool member : {false, true}) {
    LowerFused(std::string("HloModule m\nENTRY e {\n x = f32[4,5] parameter(0)\n y = f32[4,0] "
                           "parameter(1)\n z = f32[4,2] parameter(2)\n n = f32[4,2] negate(z)\n ") +
                   (member ? "" : "ROOT ") +
                   "c = f32[4,9] concatenate(x, y, n, z), dimensions={1}" +
                   (member ? "\n ROOT r = f32[4,9] abs(c)" : "") + "\n}",
               {});
  }
}

TEST(LowerLoop, SliceOfConcatenateReadsOnePiece) {
  const std::string text = LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[4,5] parameter(0)
  y = f32[4,3] parameter(1)
  c = f32[4,8] concatenate(x, y), dimensions={1}
  ROOT s = f32[4,2] slice(c), slice={[0:4], [5:7]}
})",
                                      {});
  EXPECT_EQ(text.find("select"), std::string::npos) << text;
}

TEST(LowerLoop, DynamicSliceClampsItsStart) {
  for (const std::string type : {"s32", "u8", "s64", "u64", "u32"}) {
    for (const std::string start : {"0", "2", "100"}) {
      LowerFused("HloModule m\nENTRY e {\n x = f32[6,5] parameter(0)\n i = " + type +
                     "[] constant(" + start + ")\n j = " + type +
                     "[] parameter(1)\n ROOT r = f32[3,5] dynamic-slice(x, i, j), "
                     "dynamic_slice_sizes={3,5}\n}",
                 {});
    }
  }
}

TEST(LowerLoop, GatherOfEveryKindOfDimension) {
  LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[10,6] parameter(0)
  i = s32[7,1] parameter(1)
  ROOT g = f32[7,6] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}
})",
             {});
  LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[5,6,4] parameter(0)
  i = s64[2,3] parameter(1)
  ROOT g = f32[3,3,4] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,3,4}
})",
             {});
  LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[3,6,4] parameter(0)
  i = s32[5,3] parameter(1)
  ROOT g = f32[5,3,4] gather(x, i), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=2, slice_sizes={1,1,4}
})",
             {});
}

TEST(LowerLoop, SeveralRootsShareTheNest) {
  const std::string text = LowerFused(R"(
HloModule m
ENTRY e {
  x = f32[4,8] parameter(0)
  n = f32[4,8] exponential(x)
  a = f32[4,8] add(n, x)
  b = f32[4,8] multiply(n, x)
  ROOT t = (f32[4,8], f32[4,8]) tuple(a, b)
})",
                                      {});
  EXPECT_EQ(text.find("for i0"), text.rfind("for i0")) << text;
  EXPECT_EQ(text.find("exponential("), text.rfind("exponential(")) << text;
}

TEST(LowerLoop, EmptyAndScalarShapes) {
  LowerFused("HloModule m\nENTRY e {\n x = f32[0,3] parameter(0)\n ROOT r = f32[0,3] negate(x)\n}",
             {});
  LowerFused("HloModule m\nENTRY e {\n x = f32[] parameter(0)\n ROOT r = f32[] negate(x)\n}", {});
}

TEST(LowerLoop, UnsupportedNamesInstructionOpcodeAndLine) {
  const Module module = MustParseHlo(
      "HloModule m\nENTRY e {\n  x = c64[4] parameter(0)\n  ROOT bad = c64[4] negate(x)\n}");
  LowerRequest request{.module = &module, .computation = module.entry};
  request.roots = {module.Entry().root};
  const auto lowered = Lower(request);
  ASSERT_FALSE(lowered.ok());
  EXPECT_EQ(lowered.error().code, Code::kUnsupported);
  EXPECT_EQ(lowered.error().message,
            "instruction `bad` (line 4): opcode negate with type c64 is not supported");
}

}  // namespace
}  // namespace fusemark::loops
