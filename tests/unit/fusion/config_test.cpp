// Configuration text: what is printed parses back, what is damaged is refused with the line, and
// no text crashes the parser.
#include "compiler/fusion/config.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace fusemark {
namespace {

loops::ScheduleLine RandomSchedule(std::mt19937_64& random) {
  constexpr int kClasses = static_cast<int>(loops::KernelClass::kUpdate) + 1;
  loops::ScheduleLine line;
  line.klass = static_cast<loops::KernelClass>(random() % kClasses);
  for (const loops::Knob& knob : loops::Knobs()) {
    if (knob.AppliesTo(line.klass))
      knob.Set(line.schedule, knob.domain[random() % knob.domain.size()]);
  }
  return line;
}

Config RandomConfig(std::mt19937_64& random) {
  constexpr int kClasses = static_cast<int>(loops::KernelClass::kUpdate) + 1;
  Config config;
  config.module_hash = {random(), random()};
  config.plan.computations.resize(1 + random() % 4);
  for (ComputationPlan& computation : config.plan.computations) {
    const auto kernels = 1 + random() % 5;
    for (size_t k = 0; k < kernels; ++k) {
      KernelPlan kernel;
      kernel.klass = static_cast<loops::KernelClass>(random() % kClasses);
      for (size_t n = 1 + random() % 3; n > 0; --n)
        kernel.roots.push_back({static_cast<uint32_t>(random() % 1000)});
      for (size_t n = random() % 4; n > 0; --n)
        kernel.members.push_back({static_cast<uint32_t>(random() % 1000)});
      computation.kernels.push_back(std::move(kernel));
    }
  }
  for (size_t n = random() % 4; n > 0; --n)
    config.schedules[{random(), random()}] = RandomSchedule(random);
  return config;
}

TEST(Config, ParsesWhatIsPrinted) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const Config config = RandomConfig(random);
    const std::string text = PrintConfig(config);
    const auto parsed = ParseConfig(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << text;
    EXPECT_EQ(*parsed, config) << text;
    EXPECT_EQ(PrintConfig(*parsed), text);
  }
}

// The text is stored in databases: a change of its form is a new version of the header line.
TEST(Config, HasThisText) {
  Config config;
  config.module_hash = {0x0123456789abcdef, 0xfedcba9876543210};
  config.plan.computations.resize(3);
  config.plan.computations[2].kernels = {
      {{{17}}, {{12}, {14}}, loops::KernelClass::kLoop},
      {{{18}, {21}}, {}, loops::KernelClass::kRow},
  };
  config.schedules[{1, 2}] = {loops::KernelClass::kUpdate, {}};
  EXPECT_EQ(PrintConfig(config),
            "fusemark-config 1\n"
            "knobs 1\n"
            "module 0123456789abcdeffedcba9876543210\n"
            "computation 2\n"
            "kernel loop roots=17 members=12,14\n"
            "kernel row roots=18,21\n"
            "schedule 00000000000000010000000000000002 update vector_bytes=0 unroll=4 "
            "parallel_grain=0\n");
}

constexpr std::string_view kGood =
    "fusemark-config 1\n"
    "knobs 1\n"
    "module 0123456789abcdeffedcba9876543210\n"
    "computation 2\n"
    "kernel loop roots=17 members=12,14\n"
    "kernel row roots=18,21\n"
    "schedule 00000000000000010000000000000002 loop vector_bytes=0 unroll=4 parallel_grain=0\n";

std::string With(std::string_view what, std::string_view by) {
  std::string text(kGood);
  text.replace(text.find(what), what.size(), by);
  return text;
}

struct Bad {
  std::string_view name, what, by;
  std::string_view message;  // part of it
};

constexpr Bad kBad[] = {
    {"version", "fusemark-config 1", "fusemark-config 2", "first line"},
    {"no_header", "fusemark-config 1\n", "", "first line"},
    {"knob_table", "knobs 1", "knobs 99", "line 2"},
    {"knob_table_word", "knobs 1", "knobs one", "line 2"},
    {"no_knob_table", "knobs 1\n", "", "knobs"},
    {"short_module", "module 0123", "module 123", "line 3"},
    {"module_not_hex", "module 0123", "module 012x", "line 3"},
    {"no_module", "module 0123456789abcdeffedcba9876543210\n", "", "module"},
    {"two_modules", "computation 2\n", "module 00000000000000000000000000000000\ncomputation 2\n",
     "line 4"},
    {"computation_word", "computation 2", "computation two", "line 4"},
    {"computation_negative", "computation 2", "computation -1", "line 4"},
    {"computation_huge", "computation 2", "computation 99999999999", "line 4"},
    {"computation_twice", "kernel row", "computation 2\nkernel row", "line 6"},
    {"kernel_first", "computation 2\n", "", "line 4"},
    {"kernel_class", "kernel row", "kernel rows", "line 6"},
    {"kernel_without_roots", " roots=18,21", "", "line 6"},
    {"kernel_roots_empty", "roots=18,21", "roots=", "line 6"},
    {"kernel_roots_word", "roots=18,21", "roots=18,x", "line 6"},
    {"kernel_roots_comma", "roots=18,21", "roots=18,", "line 6"},
    {"kernel_roots_twice", "roots=18,21", "roots=18 roots=21", "line 6"},
    {"kernel_roots_negative", "roots=18,21", "roots=-18", "line 6"},
    {"kernel_roots_large", "roots=18,21", "roots=4294967296", "line 6"},
    {"kernel_unknown_field", "members=12,14", "parts=12,14", "line 5"},
    {"schedule_hash", "00000000000000010000000000000002", "0001", "line 7"},
    {"schedule_class", "0002 loop", "0002 looop", "line 7"},
    {"schedule_unknown_knob", "unroll=4", "unrol=4", "unroll"},
    {"schedule_value", "unroll=4", "unroll=5", "line 7"},
    {"schedule_not_a_number", "unroll=4", "unroll=", "line 7"},
    {"schedule_knob_of_another_class", "unroll=4", "tile_m=4", "line 7"},
    {"schedule_missing", " loop vector_bytes=0 unroll=4 parallel_grain=0", "", "line 7"},
    {"schedule_twice", "schedule 0", "schedule 00000000000000010000000000000002 loop\nschedule 0",
     "line 8"},
    {"word", "kernel row", "kernels row", "line 6"},
};

class BadConfig : public ::testing::TestWithParam<Bad> {};

TEST_P(BadConfig, IsRefusedWithThePlace) {
  ASSERT_TRUE(ParseConfig(kGood).ok());
  const auto parsed = ParseConfig(With(GetParam().what, GetParam().by));
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
  EXPECT_NE(parsed.error().message.find(GetParam().message), std::string::npos)
      << parsed.error().message;
}

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << std::string(bad.name);
}

INSTANTIATE_TEST_SUITE_P(All, BadConfig, ::testing::ValuesIn(kBad),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Config, RefusesGarbage) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("\n"), std::string_view("\0\0\0", 3),
        std::string_view("fusemark-config"), std::string_view("fusemark-config 1x\n")}) {
    const auto parsed = ParseConfig(text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
  }
}

// A text cut anywhere, or with any byte changed, is refused or means a config that prints.
TEST(Config, SurvivesDamage) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string text = PrintConfig(RandomConfig(random));
    switch (random() % 4) {
      case 0: text.resize(random() % text.size()); break;
      case 1: text[random() % text.size()] = static_cast<char>(random() % 256); break;
      case 2: text.erase(random() % text.size(), 1 + random() % 9); break;
      default: text.insert(random() % text.size(), text, random() % text.size(), 12); break;
    }
    const auto parsed = ParseConfig(text);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
      EXPECT_FALSE(parsed.error().message.empty());
      continue;
    }
    const auto again = ParseConfig(PrintConfig(*parsed));
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << text;
    EXPECT_EQ(PrintConfig(*again), PrintConfig(*parsed));
  }
}

}  // namespace
}  // namespace fusemark
