// Which operands a kernel may write its result over.
#include "compiler/loops/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/loops/parse.h"

namespace fusemark::loops {
namespace {

std::vector<int32_t> OverwritableIn(const std::string& body) {
  const auto kernel = Parse(
      "kernel @k class=loop\n  operand %a: f32[4,8]\n  operand %b: f32[4,8]\n"
      "  operand %c: s32[4,8]\n  result %r: f32[4,8]\n{" +
      body + "}");
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  return kernel.ok() ? OverwritableOperands(*kernel) : std::vector<int32_t>{-1};
}

TEST(LoopsInPlace, AnElementReadWhereItIsWrittenMayShareItsPlace) {
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 { %r[i, j] = %a[i, j] + %b[i, j] } }"),
              testing::ElementsAre(0, 1));
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 {\n let x: f32 = %a[i, j]\n"
                             " %r[i, j] = x * x } }"),
              testing::Contains(0));
}

TEST(LoopsInPlace, AnEpilogueMayWriteOverWhatItAddsButNotOverWhatIsSummed) {
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 {\n alloc %acc: f32[] register\n"
                             " %acc[] = 0:f32\n"
                             " for k in 8 reduces { %acc[] = %acc[] + %a[i, k] }\n"
                             " %r[i, j] = %acc[] + %b[i, j] } }"),
              testing::ElementsAre(1));
}

TEST(LoopsInPlace, OtherElementsReadKeepTheOperand) {
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 { %r[i, j] = %a[3 - i, j] } }"),
              testing::Not(testing::Contains(0)));
  // Read again in another loop, after some of it was written.
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 { %r[i, j] = %a[i, j] + %a[0, j] } }"),
              testing::Not(testing::Contains(0)));
}

TEST(LoopsInPlace, ReadsAfterTheStoreKeepTheOperand) {
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 {\n %r[i, j] = 0:f32\n"
                             " let x: f32 = %a[i, j]\n } }"),
              testing::Not(testing::Contains(0)));
}

TEST(LoopsInPlace, ResultsWrittenMoreThanOnceKeepAllOperands) {
  EXPECT_THAT(OverwritableIn("for t in 2 { for i in 4 { for j in 8 {"
                             " %r[i, j] = %a[i, j] + 1:f32 } } }"),
              testing::IsEmpty());
  EXPECT_THAT(OverwritableIn("for i in 4 { for j in 8 {\n %r[i, j] = %a[i, j]\n"
                             " %r[i, j] = %r[i, j] + %a[i, j] } }"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace fusemark::loops
