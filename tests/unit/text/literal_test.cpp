// Numbers in literals, to the bit: every value of every narrow float type survives printing and
// reading, and decimals round once.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/number.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

// The storage of a scalar constant.
uint64_t BitsOf(std::string_view type, std::string_view number) {
  const auto module = ParseModule(
      "ROOT a = " + std::string(type) + "[] constant(" + std::string(number) + ")", "literal");
  EXPECT_TRUE(module.ok()) << module.error().message;
  if (!module.ok()) return 0;
  const auto bytes = module->Entry().Root().As<ConstantAttrs>().literal.bytes();
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  return bits;
}

constexpr DType kNarrow[] = {
    DType::kF4E2M1FN,      DType::kF8E5M2,     DType::kF8E4M3,     DType::kF8E4M3FN,
    DType::kF8E4M3B11FNUZ, DType::kF8E5M2FNUZ, DType::kF8E4M3FNUZ, DType::kF8E3M4,
    DType::kF8E8M0FNU,     DType::kBF16,       DType::kF16,
};

TEST(LiteralTest, EveryNarrowFloatSurvivesPrinting) {
  for (DType dtype : kNarrow) {
    const int64_t count = int64_t{1} << BitWidth(dtype);
    const auto size = static_cast<size_t>(ByteSize(dtype));
    std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
    for (int64_t bits = 0; bits < count; ++bits)
      std::memcpy(bytes.data() + static_cast<size_t>(bits) * size, &bits, size);
    Instr constant;
    constant.op = Op::kConstant;
    constant.name = "c";
    constant.shape = ArrayShape(dtype, {count});
    constant.attrs = ConstantAttrs{MakeLiteral(constant.shape, bytes), false};
    Module module;
    module.name = "m";
    module.computations.emplace_back();
    module.computations[0].name = "e";
    module.computations[0].instrs.push_back(constant);
    const auto again = ParseModule(PrintModule(module), "printed");
    ASSERT_TRUE(again.ok()) << DTypeName(dtype) << ": " << again.error().message;
    EXPECT_TRUE(*again == module) << DTypeName(dtype);
  }
}

TEST(LiteralTest, RoundsOnceFromDouble) {
  // 1 + 2^-8 + 2^-40: through f32 the last bit would be lost and the tie would round to even.
  EXPECT_EQ(BitsOf("bf16", "1.003906250000909494701772928237915"), 0x3f81U);
  EXPECT_EQ(BitsOf("bf16", "1.00390625"), 0x3f80U);
  EXPECT_EQ(BitsOf("f16", "65519"), 0x7bffU);
  EXPECT_EQ(BitsOf("f32", "0.1"), 0x3dcccccdU);
  EXPECT_EQ(BitsOf("f32", "16777217"), 0x4b800000U);
  EXPECT_EQ(BitsOf("f32", "1e-46"), 0U);
  EXPECT_EQ(BitsOf("f32", "-1e-46"), 0x80000000U);
  EXPECT_EQ(BitsOf("f64", "4.9406564584124654e-324"), 1U);
  EXPECT_EQ(BitsOf("f64", "1e-500"), 0U);
  EXPECT_EQ(BitsOf("f64", "18446744073709551615"), 0x43f0000000000000U);
}

TEST(LiteralTest, Spellings) {
  EXPECT_EQ(BitsOf("f32", ".5"), 0x3f000000U);
  EXPECT_EQ(BitsOf("f32", "5."), 0x40a00000U);
  EXPECT_EQ(BitsOf("f32", "1E2"), 0x42c80000U);
  EXPECT_EQ(BitsOf("f32", "-nan(0x1)"), 0xff800001U);
  EXPECT_EQ(BitsOf("f32", "nan"), 0x7fc00000U);
  EXPECT_EQ(BitsOf("f32", "-nan"), 0xffc00000U);
  EXPECT_EQ(BitsOf("f64", "-inf"), 0xfff0000000000000U);
  EXPECT_EQ(BitsOf("pred", "true"), 1U);
  EXPECT_EQ(BitsOf("s8", "-1"), 0xffU);
  EXPECT_EQ(BitsOf("s4", "-1"), 0xffU);  // sub-byte integers are sign-extended to a byte
  EXPECT_EQ(BitsOf("u4", "15"), 0x0fU);
  EXPECT_EQ(BitsOf("u32", "-0"), 0U);
  EXPECT_EQ(BitsOf("c64", "(1, -2)"), 0xc00000003f800000U);
}

// Random f32 and f64 patterns print with the fewest digits that read back.
TEST(LiteralTest, RandomBitsSurvivePrinting) {
  uint64_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const uint64_t bits = dtype == DType::kF32 ? state >> 32 : state ^ (state >> 29);
      std::vector<std::byte> bytes(static_cast<size_t>(ByteSize(dtype)));
      std::memcpy(bytes.data(), &bits, bytes.size());
      Computation computation;
      computation.instrs.emplace_back();
      Instr& constant = computation.instrs[0];
      constant.op = Op::kConstant;
      constant.name = "c";
      constant.shape = ArrayShape(dtype, {});
      constant.attrs = ConstantAttrs{MakeLiteral(constant.shape, bytes), false};
      const std::string text = PrintInstr(Module(), computation, {0});
      const size_t open = text.find("constant(") + 9;
      EXPECT_EQ(BitsOf(DTypeName(dtype), text.substr(open, text.rfind(')') - open)), bits) << text;
    }
  }
}

}  // namespace
}  // namespace fusemark
