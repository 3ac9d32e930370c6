// Arg-max and arg-min over private lanes: the same index as in order, whatever NaNs and ties there
// are; bodies for which that cannot be are refused.
#include "compiler/loops/pair_reducer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compiler/loops/primitives.h"
#include "compiler/loops/simplify.h"
#include "compiler/loops/verify.h"
#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

constexpr size_t kRows = 64, kColumns = 22;

struct Spelling {
  std::string name;
  std::string value;           // the new value, from v and x
  std::string index;           // the new index, from v, i, x and xi
  std::string start = "-inf";  // of the value
  std::string start_index = "0";
  std::string type = "f32";
};

std::string KernelOf(const Spelling& spelling, const std::string& candidate = "s32(k0)") {
  const std::string& type = spelling.type;
  return "kernel @pick class=reduce\n  operand %a: " + type +
         "[64,22]\n  operand %j: s32[22]\n  result %v: " + type + "[64]\n  result %i: s32[64]\n" +
         "{\n  for i0 in 64 {\n    alloc %best: " + type +
         "[] register\n    %best[] = " + spelling.start + ":" + type +
         "\n    alloc %at: s32[] register\n    %at[] = " + spelling.start_index +
         ":s32\n    for k0 in 22 reduces {\n      let v: " + type +
         " = %best[]\n      let i: s32 = %at[]\n      let x: " + type +
         " = %a[i0, k0]\n      let xi: s32 = " + candidate + "\n      let nv: " + type + " = " +
         spelling.value + "\n      let ni: s32 = " + spelling.index +
         "\n      %best[] = nv\n      %at[] = ni\n    }\n    %v[i0] = %best[]\n    %i[i0] = "
         "%at[]\n  }\n}\n";
}

const std::string kMax = "select(or(v > x, v != v), v, x)";
const std::string kMin = "select(or(v < x, v != v), v, x)";
const std::string kMaxIndex = "select(or(or(v > x, v != v), and(v == x, i < xi)), i, xi)";
const std::string kMinIndex = "select(or(or(v < x, v != v), and(v == x, i < xi)), i, xi)";

// Few different values, so that ties and NaNs are everywhere; some rows of one value only.
template <class T>
std::vector<T> Values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(1), T(2), Limits::lowest(), Limits::max()};
  if constexpr (Limits::has_infinity) {
    for (const T special : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
      values.push_back(special);
  }
  std::mt19937 random(3);
  std::vector<T> all;
  for (size_t row = 0; row < kRows; ++row) {
    const size_t kinds = 1 + random() % values.size(), first = random() % values.size();
    for (size_t column = 0; column < kColumns; ++column)
      all.push_back(values[(first + random() % kinds) % values.size()]);
  }
  return all;
}

template <class T>
void SameInLanes(const Spelling& spelling) {
  const std::vector<T> values = Values<T>();
  const std::vector<int32_t> unused(kColumns, 0);
  const auto run = [&](const Kernel& kernel, std::vector<T>& best, std::vector<int32_t>& at) {
    best.resize(kRows);
    at.resize(kRows);
    const void* const operands[] = {values.data(), unused.data()};
    void* const results[] = {best.data(), at.data()};
    const auto done = Interpret(kernel, operands, results);
    ASSERT_TRUE(done.ok()) << done.error().message;
  };
  const Kernel before = MustParse(KernelOf(spelling));
  std::vector<T> want, got;
  std::vector<int32_t> want_at, got_at;
  run(before, want, want_at);
  for (const char* list : {"privatise k0 1 ko l", "privatise k0 4 ko l; vectorise l; vectorise lc",
                           "privatise k0 6 ko l", "privatise k0 22 ko l; vectorise l"}) {
    const auto primitives = ParsePrimitives(list);
    ASSERT_TRUE(primitives.ok());
    const auto after = Replay(before, *primitives);
    ASSERT_TRUE(after.ok()) << after.error().message;
    const auto proved = Verify(Simplify(*after));
    ASSERT_TRUE(proved.ok()) << proved.error().message << Print(*after);
    run(*after, got, got_at);
    EXPECT_EQ(got_at, want_at) << list;
    for (size_t row = 0; row < kRows; ++row)
      EXPECT_TRUE(got[row] == want[row] || (got[row] != got[row] && want[row] != want[row]));
  }
}

class PairReducers : public testing::TestWithParam<Spelling> {};

TEST_P(PairReducers, GiveTheSameInPrivateLanes) {
  if (GetParam().type == "s32") {
    SameInLanes<int32_t>(GetParam());
  } else {
    SameInLanes<float>(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Accepted, PairReducers,
    testing::Values(Spelling{"max", kMax, kMaxIndex}, Spelling{"min", kMin, kMinIndex, "inf"},
                    Spelling{"start_nan", kMax, kMaxIndex, "nan", "7"},
                    Spelling{"start_best", kMax, kMaxIndex, "inf", "100"},
                    Spelling{"first_of_equals", "select(or(v >= x, v != v), v, x)",
                             "select(or(v >= x, v != v), i, xi)", "2", "50"},
                    Spelling{"highest_of_equals", kMax,
                             "select(or(or(v > x, v != v), and(v == x, i > xi)), i, xi)"},
                    Spelling{"negated", "select(not(or(v > x, v != v)), x, v)",
                             "select(or(v > x, v != v), i, select(v == x, minimum(i, xi), xi))"},
                    Spelling{"integers", "select(v > x, v, x)",
                             "select(or(v > x, and(v == x, i < xi)), i, xi)", "-2147483648", "0",
                             "s32"}),
    [](const auto& instance) { return instance.param.name; });

struct Refused {
  Spelling spelling;
  std::string why;
  std::string candidate = "s32(k0)";
};
class RefusedPairReducers : public testing::TestWithParam<Refused> {};

TEST_P(RefusedPairReducers, SayWhy) {
  const Kernel kernel = MustParse(KernelOf(GetParam().spelling, GetParam().candidate));
  const auto after = Replay(kernel, ParsePrimitives("privatise k0 4 ko l").value());
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.error().message,
            "privatise k0 4 ko l: cannot privatise loop k0: the update of %best is not an "
            "associative operation: " +
                GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedPairReducers,
    testing::Values(Refused{{"nan_is_lost", "select(v >= x, v, x)", "select(v >= x, i, xi)"},
                            "a NaN does not always stay"},
                    Refused{{"last_of_equals", "select(or(v > x, v != v), v, x)",
                             "select(or(v > x, v != v), i, xi)"},
                            "of equal values it keeps the last"},
                    Refused{{"last_nan", "select(or(v > x, and(v != v, x == x)), v, x)",
                             "select(or(or(v > x, and(v != v, x == x)), and(v == x, i < xi)), i, "
                             "xi)"},
                            "of several NaNs it does not keep the first"},
                    Refused{{"value_and_index_disagree", kMax, kMinIndex},
                            "which of two values it keeps depends on their order"},
                    Refused{{"always_first", "select(v != v, v, v)", kMaxIndex},
                            "what it keeps is neither the accumulator nor one candidate"},
                    Refused{
                        {"compares_with_others", "select(or(v > x, v > 1:f32), v, x)", kMaxIndex},
                        "its body does more than compare and select"},
                    Refused{{"index_from_memory", kMax, kMaxIndex},
                            "its indices do not increase along the loop",
                            "%j[k0]"},
                    Refused{{"falling_index", kMax, kMaxIndex},
                            "its indices do not increase along the loop",
                            "s32(21 - k0)"}),
    [](const auto& instance) { return instance.param.spelling.name; });

}  // namespace
}  // namespace fusemark::loops
