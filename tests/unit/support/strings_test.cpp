#include "compiler/support/strings.h"

#include <gmock/gmock.h>

namespace fusemark {
namespace {

using testing::ElementsAre;

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(Strings, WordsAreNeverEmpty) {
  EXPECT_THAT(Words("  tile i0  4 \t\n"), ElementsAre("tile", "i0", "4"));
  EXPECT_THAT(Words("   "), ElementsAre());
}

TEST(Strings, ParseIntTakesWholeNumbersOnly) {
  EXPECT_EQ(ParseInt("-12"), -12);
  EXPECT_EQ(ParseInt("12x"), std::nullopt);
  EXPECT_EQ(ParseInt(""), std::nullopt);
  EXPECT_EQ(ParseInt("9223372036854775808"), std::nullopt);
}

TEST(Strings, EditDistanceCountsChanges) {
  EXPECT_EQ(EditDistance("unroll", "unrol"), 1U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("same", "same"), 0U);
}

}  // namespace
}  // namespace fusemark
