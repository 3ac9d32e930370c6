// Text made to exhaust something: deep nesting, one long line, many of everything. The parser must
// answer with a message (or a module) in linear time and bounded stack. The time bounds are
// generous: they catch quadratic behaviour, not slow machines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/text/text.h"

namespace fusemark {
namespace {

std::string Repeat(std::string_view part, size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

// Parses within a minute; quadratic time over these sizes would take hours.
Result<Module> ParseInTime(const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  auto result = ParseModule(text, "big");
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
  EXPECT_LT(seconds.count(), 60) << text.size() << " bytes";
  return result;
}

void ExpectError(const std::string& text, std::string_view part) {
  const auto result = ParseInTime(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_LT(result.error().message.size(), 2000U);
}

constexpr size_t kMillion = 1000000;

TEST(LimitsTest, DeepBracesInALiteral) {
  ExpectError("ROOT a = f32[2] constant(" + Repeat("{", kMillion) + "1", "f32[2]");
}

TEST(LimitsTest, DeepBracesInAnAttribute) {
  const std::string value = Repeat("{", kMillion) + Repeat("}", kMillion);
  const auto module = ParseInTime("ROOT a = f32[2] parameter(0), sharding=" + value);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->Entry().Root().extra[0].second.size(), 2 * kMillion);
  ExpectError("ROOT a = f32[2] parameter(0), sharding=" + Repeat("{", kMillion), "never closed");
}

TEST(LimitsTest, DeepTupleShapes) {
  ExpectError("ROOT a = " + Repeat("(", kMillion) + "f32[]", "nest deeper than");
}

TEST(LimitsTest, DeepNestedOperands) {
  ExpectError("a = f32[] parameter(0) ROOT b = f32[] " + Repeat("negate(", kMillion) + "a",
              "deeper than");
}

TEST(LimitsTest, DeepInlineComputations) {
  ExpectError("ROOT b = f32[] " + Repeat("call(), to_apply={ x = f32[] ", 100000), "");
}

TEST(LimitsTest, DeepTuplesFromInference) {
  std::string text = "t0 = f32[] parameter(0)\n";
  for (int i = 0; i < 2000; ++i)
    text += "t" + std::to_string(i + 1) + " = tuple(t" + std::to_string(i) + ")\n";
  ExpectError(text, "nests deeper than");
}

TEST(LimitsTest, FiftyMegabytesOnOneLine) {
  std::string text = "HloModule m ENTRY e { x0 = f32[4] parameter(0)";
  uint32_t count = 0;
  while (text.size() < 50 * kMillion) {
    text += " x" + std::to_string(count + 1) + " = f32[4] add(x" + std::to_string(count) + ", x" +
            std::to_string(count / 2) + "), metadata={op_name=\"" + std::string(200, 'n') + "\"}";
    ++count;
  }
  const auto module = ParseInTime(text + " }");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->Entry().instrs.size(), count + 1);
  EXPECT_EQ(module->Entry().instrs.back().loc.line, 1U);
  ExpectError(text + " y = f32[4] add(x0, nowhere) }", "found the unknown operand %nowhere");
}

TEST(LimitsTest, ManyLinesWithAnErrorAtTheEnd) {
  ExpectError(Repeat("// comment\n", kMillion) + "ENTRY e { a = f32[] parametr(0) }",
              "big:1000001:");
}

TEST(LimitsTest, ManyParameters) {
  std::string text = "ENTRY e {";
  for (int i = 0; i < 100000; ++i)
    text += "p" + std::to_string(i) + " = f32[] parameter(" + std::to_string(i) + ")\n";
  const auto module = ParseInTime(text + "}");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->Entry().parameters.size(), 100000U);
}

TEST(LimitsTest, ManyComputationsAfterALargeOne) {
  std::string text = "large {";
  for (int i = 0; i < 50000; ++i) text += "p" + std::to_string(i) + " = s32[] constant(1)\n";
  text += "}\n";
  for (int i = 0; i < 50000; ++i)
    text += "c" + std::to_string(i) + " { ROOT a = f32[] parameter(0) }\n";
  const auto module = ParseInTime("HloModule m\n" + text);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->computations.size(), 50001U);
}

TEST(LimitsTest, ManyAttributesAndQuotes) {
  std::string text = "ROOT a = f32[] parameter(0)";
  for (int i = 0; i < 100000; ++i) text += ", a" + std::to_string(i) + "=1";
  ExpectError(text, "more than 64 attributes");
  ExpectError("ROOT a = f32[] parameter(0), x={" + Repeat("' ", kMillion), "never closed");
  ExpectError("ROOT a = f32[] parameter(0), x={" + Repeat("\\' '\\'", kMillion), "never closed");
  ExpectError("ROOT a = f32[] parameter(0), x={" + Repeat("/*", kMillion), "never closed");
}

TEST(LimitsTest, LargeLiteral) {
  const auto module =
      ParseInTime("ROOT a = f32[2000000] constant({" + Repeat("0.1,", 2 * kMillion) + "})");
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->Entry().Root().As<ConstantAttrs>().literal.bytes().size(), 8 * kMillion);
}

// Reserving what the shape promises would take 4 TB.
TEST(LimitsTest, AShapeThatPromisesMoreThanTheTextHolds) {
  ExpectError("ROOT a = f32[1000000000000] constant({1, 2})", "found 2 elements");
}

class ParseFileTest : public testing::Test {
 protected:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("fusemark_text_test_" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
};

TEST_F(ParseFileTest, SaysWhyAFileCannotBeRead) {
  const auto missing = ParseModuleFile((directory_ / "missing.hlo").string());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kIo);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos);
  const auto directory = ParseModuleFile(directory_.string());
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, Code::kIo);
  EXPECT_NE(directory.error().message.find("is a directory"), std::string::npos);
}

TEST_F(ParseFileTest, BinaryAndGoodFiles) {
  const std::string binary = (directory_ / "binary.hlo").string();
  std::ofstream(binary, std::ios::binary) << std::string(
      "\x7f"
      "ELF\0\0\0",
      7);
  const auto bad = ParseModuleFile(binary);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Code::kIo);
  EXPECT_NE(bad.error().message.find("binary"), std::string::npos);
  const auto text = ParseModule(std::string_view("ENTRY\0", 6), "t");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("NUL"), std::string::npos);
  const std::string good = (directory_ / "good.hlo").string();
  std::ofstream(good) << "ENTRY e { ROOT a = f32[] parameter(0) }\n";
  const auto module = ParseModuleFile(good);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(module->name, "module_e");
}

}  // namespace
}  // namespace fusemark
