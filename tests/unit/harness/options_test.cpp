#include "harness/options.h"

#include <gmock/gmock.h>

namespace fusemark {
namespace {

TEST(OptionsTest, Durations) {
  const std::pair<const char*, int64_t> good[] = {{"3s", 3'000'000'000},
                                                  {"500ms", 500'000'000},
                                                  {"1.5s", 1'500'000'000},
                                                  {"2m", 120'000'000'000},
                                                  {"1h", 3'600'000'000'000},
                                                  {"10us", 10'000},
                                                  {"7ns", 7}};
  for (const auto& [text, ns] : good) {
    const Result<int64_t> parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, ns) << text;
  }
  for (const char* bad :
       {"", "3", "s", "-1s", "0s", "3 s", "3sec", "1e300s", "nan s", "infs", "1s2"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(OptionsTest, Warmups) {
  EXPECT_EQ(ParseWarmup("auto")->kind, Warmup::Kind::kAuto);
  EXPECT_EQ(ParseWarmup("20")->kind, Warmup::Kind::kIterations);
  EXPECT_EQ(ParseWarmup("20")->value, 20);
  EXPECT_EQ(ParseWarmup("0")->value, 0);
  EXPECT_EQ(ParseWarmup("2s")->kind, Warmup::Kind::kDuration);
  EXPECT_EQ(ParseWarmup("2s")->value, 2'000'000'000);
  for (const char* bad : {"", "-1", "some", "2x"}) EXPECT_FALSE(ParseWarmup(bad).ok()) << bad;
}

TEST(OptionsTest, Engines) {
  const std::vector<Engine> both = {Engine::kOff, Engine::kOn};
  EXPECT_EQ(*ParseEngines("off,on"), both);
  EXPECT_EQ(*ParseEngines("off, on"), both);
  EXPECT_EQ(*ParseEngines("reference"), std::vector<Engine>{Engine::kReference});
  for (const char* bad : {"", "off,", "xla", "on,on"}) EXPECT_FALSE(ParseEngines(bad).ok()) << bad;
  EXPECT_THAT(ParseEngines("xla").error().message, ::testing::HasSubstr("'xla'"));
}

TEST(OptionsTest, Residents) {
  const auto list = [](std::vector<int64_t> values) { return values; };
  EXPECT_EQ(*ParseResidents("none", 9), list({}));
  EXPECT_EQ(*ParseResidents("all", 3), list({0, 1, 2}));
  EXPECT_EQ(*ParseResidents("0-5,7", 9), list({0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(*ParseResidents("7,0-2,1", 9), list({0, 1, 2, 7}));
  for (const char* bad :
       {"", "a", "1-", "-1", "5-3", "1-2-3", "0,,1", "9", "99999999999999999999"}) {
    EXPECT_FALSE(ParseResidents(bad, 9).ok()) << bad;
  }
  EXPECT_THAT(ParseResidents("0-9", 9).error().message, ::testing::HasSubstr("has 9 parameters"));
}

}  // namespace
}  // namespace fusemark
