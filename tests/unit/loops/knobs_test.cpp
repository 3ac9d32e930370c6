// The knob table: complete, consistent, and its text form with all its errors.
#include "compiler/loops/knobs.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace fusemark::loops {
namespace {

// Fails to compile when Schedule gets or loses a field; then the table needs a row too.
constexpr size_t FieldCount() {
  const auto& [a, b, c, d, e, f, g, h, i, j] = Schedule{};
  return std::tuple_size_v<decltype(std::tie(a, b, c, d, e, f, g, h, i, j))>;
}

TEST(LoopsKnobs, EveryFieldHasOneRow) {
  EXPECT_EQ(Knobs().size(), FieldCount());
  for (const Knob& knob : Knobs()) {
    for (const Knob& other : Knobs()) {
      EXPECT_EQ(&knob == &other, knob.field == other.field) << knob.name;
    }
  }
}

TEST(LoopsKnobs, NamesAreUniqueDefaultsInDomainAndDomainsAscend) {
  std::set<std::string_view> names;
  const Schedule defaults;
  for (const Knob& knob : Knobs()) {
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_TRUE(knob.InDomain(knob.Get(defaults))) << knob.name;
    EXPECT_TRUE(std::is_sorted(knob.domain.begin(), knob.domain.end())) << knob.name;
    EXPECT_NE(knob.classes, 0U) << knob.name;
    EXPECT_EQ(knob.reassociates & ~knob.classes, 0U) << knob.name;
  }
}

TEST(LoopsKnobs, ParseOfPrintIsTheSchedule) {
  for (int i = 0; i <= static_cast<int>(KernelClass::kUpdate); ++i) {
    const auto klass = static_cast<KernelClass>(i);
    Schedule schedule;
    for (const Knob& knob : Knobs()) {
      if (knob.AppliesTo(klass)) knob.Set(schedule, knob.domain.back());
    }
    const auto line = ParseSchedule(PrintSchedule(klass, schedule));
    ASSERT_TRUE(line.ok()) << line.error().message;
    EXPECT_EQ(*line, (ScheduleLine{klass, schedule}));
  }
}

TEST(LoopsKnobs, TextHasOnlyTheKnobsOfTheClass) {
  EXPECT_EQ(PrintSchedule(KernelClass::kReduce, {}),
            "reduce vector_bytes=0 parallel_grain=0 reduce_lanes=4");
  const auto line = ParseSchedule("  row   row_block=4 ");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->schedule.row_block, 4);
  EXPECT_EQ(line->schedule.reduce_lanes, Schedule{}.reduce_lanes);
}

TEST(LoopsKnobs, SearchSpaceFollowsTheNumericsLimit) {
  const auto has = [](const std::vector<const Knob*>& knobs, std::string_view name) {
    return std::any_of(knobs.begin(), knobs.end(), [&](const Knob* k) { return k->name == name; });
  };
  EXPECT_TRUE(has(KnobsOf(KernelClass::kReduce, Numerics::kReassociates), "reduce_lanes"));
  EXPECT_FALSE(has(KnobsOf(KernelClass::kReduce, Numerics::kBitwise), "reduce_lanes"));
  EXPECT_TRUE(has(KnobsOf(KernelClass::kLoop, Numerics::kBitwise), "vector_bytes"));
  EXPECT_FALSE(has(KnobsOf(KernelClass::kLoop, Numerics::kBitwise, true), "vector_bytes"));
}

TEST(LoopsKnobs, ErrorsSayWhatIsLegal) {
  const auto message = [](std::string_view text) { return ParseSchedule(text).error().message; };
  EXPECT_EQ(message("loop unrol=4"), "unknown knob 'unrol': did you mean unroll?");
  EXPECT_EQ(
      message("update everything=4"),
      "unknown knob 'everything': knobs of class update are vector_bytes, unroll, parallel_grain");
  EXPECT_EQ(message("loop unroll=3"), "knob unroll=3: expected one of 1, 2, 4, 8");
  EXPECT_EQ(message("loop unroll=x"), "knob unroll=x: expected one of 1, 2, 4, 8");
  EXPECT_EQ(message("loop tile_m=4"),
            "knob tile_m does not apply to kernels of class loop "
            "(it applies to: contraction,attention)");
  EXPECT_EQ(message("loop unroll=4 unroll=4"), "knob unroll is set twice");
  EXPECT_EQ(message("loop unroll"), "expected knob=value, found 'unroll'");
  EXPECT_EQ(message("lop unroll=4"),
            "unknown kernel class 'lop', expected one of loop, reduce, row, "
            "contraction, attention, window, update");
  EXPECT_EQ(message(" "), "empty schedule, expected a kernel class and knobs");
}

TEST(LoopsKnobs, ListingNamesEveryKnob) {
  const std::string listing = ListKnobs();
  EXPECT_NE(listing.find(
                "unroll          default 4    of {1, 2, 4, 8}; loop,window,update; bitwise; cpu, "
                "gpu\n                vectors per iteration of the innermost loop\n"),
            std::string::npos)
      << listing;
  for (const Knob& knob : Knobs())
    EXPECT_NE(listing.find(std::string(knob.name)), std::string::npos) << knob.name;
}

}  // namespace
}  // namespace fusemark::loops
