// The verifier: what it proves, and the message of everything it refuses.
#include "compiler/loops/verify.h"

#include <gtest/gtest.h>

#include "tests/unit/loops/run.h"

namespace fusemark::loops {
namespace {

struct Case {
  const char* name;
  const char* body;     // with the declarations below
  const char* message;  // "" = passes
};

constexpr const char* kHead = R"(kernel @k class=loop
  operand %a: f32[128,768]
  operand %idx: s32[128]
  operand %h: bf16[8]
  result %r: f32[128,768]
  scratch %s: f32[64]
{
)";

class LoopsVerify : public testing::TestWithParam<Case> {};

TEST_P(LoopsVerify, Judges) {
  const Kernel kernel = MustParse(kHead + std::string(GetParam().body) + "\n}");
  const auto verdict = Verify(kernel);
  const std::string message = GetParam().message;
  if (message.empty()) {
    EXPECT_TRUE(verdict.ok()) << (verdict.ok() ? "" : verdict.error().message);
  } else {
    ASSERT_FALSE(verdict.ok());
    EXPECT_EQ(verdict.error().message, "kernel @k: " + message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, LoopsVerify,
    testing::Values(
        Case{"plain", "for i in 128 { for j in 768 { %r[i, j] = %a[i, j] } }", ""},
        Case{"one_too_far", "for i in 129 { %r[i, 0] = 0:f32 }",
             "store to %r: index `i` of dimension 0 is only known to be in [0, 128], the extent is "
             "128"},
        Case{"load_before_begin", "for i in 128 { %r[i, 0] = %a[i, i - 1] }",
             "load from %a: index `i - 1` of dimension 1 is only known to be in [-1, 126], the "
             "extent is 768"},
        Case{"flattened", "for f in 98304 { %r[f / 768, f % 768] = %a[f / 768, f % 768] }", ""},
        Case{"correlated", "for i in 128 { for j in 768 { %r[(i * 768 + j) / 768, j] = 0:f32 } }",
             ""},
        Case{"remainder_of_shifted", "for i in 128 { %r[i, (i + 700) % 768] = 0:f32 }", ""},
        Case{"tile_tail", R"(for o in 8 {
          if (o < 7) { for i in 17 { %r[o * 17 + i, 0] = 0:f32 } }
          else { for i in 9 { %r[o * 17 + i, 0] = 0:f32 } } })",
             ""},
        Case{"tile_tail_too_long", R"(for o in 8 {
          if (o < 7) { for i in 17 { %r[o * 17 + i, 0] = 0:f32 } }
          else { for i in 10 { %r[o * 17 + i, 0] = 0:f32 } } })",
             "store to %r: index `o * 17 + i` of dimension 0 is only known to be in [119, 128], "
             "the extent is 128"},
        Case{"guard_on_a_sum", R"(for o in 9 { for i in 16 {
          if (o * 16 + i < 128) { %r[o * 16 + i, 0] = 0:f32 } } })",
             ""},
        Case{"guard_through_lets", R"(for y in 128 { for k in 3 {
          let p: s64 = y * 2 + k - 1
          let ok: pred = and(p >= 0, p < 128)
          if (ok) { %r[y, p] = %a[p, y] } } })",
             ""},
        Case{"guard_on_a_dividend", R"(for o in 3 { for t in 6 { for k in 3 {
          if (o * 6 + t + k - 2 >= 0) {
            %r[0, 0] = %a[o * 3 + (t + k) / 2 - 1, 0] } } } })",
             ""},
        Case{"negated_guard", "for i in 200 { if (i >= 128) { } else { %r[i, 0] = 0:f32 } }", ""},
        Case{"or_says_nothing", R"(for i in 200 {
          if (or(i < 128, i == 5)) { %r[i, 0] = 0:f32 } })",
             "store to %r: index `i` of dimension 0 is only known to be in [0, 199], the extent is "
             "128"},
        Case{"else_of_or", R"(for i in 200 {
          if (or(i > 127, i == 5)) { } else { %r[i, 0] = 0:f32 } })",
             ""},
        Case{"not_equal_cuts_an_end", "for i in 129 { if (i != 128) { %r[i, 0] = 0:f32 } }", ""},
        Case{"data_dependent", "for i in 128 { %r[i, 0] = %a[s64(%idx[i]), 0] }",
             "load from %a: index `s64(%idx[i])` of dimension 0 is only known to be in "
             "[-2147483648, 2147483647], the extent is 128"},
        Case{"clamped", R"(for i in 128 {
          let d: s64 = minimum(maximum(s64(%idx[i]), 0), 127)
          %r[i, 0] = %a[d, d] })",
             ""},
        Case{"clamped_window", R"(for i in 128 {
          let d: s64 = minimum(maximum(s64(%idx[i]), 0), 120)
          for w in 8 { %r[i, w] = %a[d + w, 0] } })",
             ""},
        Case{"guarded_data", R"(for i in 128 {
          let d: s32 = %idx[i]
          if (and(d >= 0:s32, d < 128:s32)) { %r[i, 0] = %a[s64(d), 0] } })",
             ""},
        Case{"guard_in_s64_of_s32", R"(for i in 128 {
          let d: s64 = s64(%idx[i])
          if (and(d >= 0, d + 3 < 128)) { for w in 4 { %r[i, w] = %a[d + w, 0] } } })",
             ""},
        Case{"negative_index_wraps", R"(for i in 128 {
          let d: s64 = minimum(maximum(s64(%idx[i]), -128), 127)
          %r[i, 0] = %a[select(d < 0, d + 128, d), 0] })",
             ""},
        Case{"loads_in_a_select_run_anyway",
             "for i in 200 { if (i < 128) { %r[i, 0] = select(i < 100, %a[i + 28, 0], 0:f32) } }",
             "load from %a: index `i + 28` of dimension 0 is only known to be in [28, 155], the "
             "extent is 128"},
        Case{"unreachable", "for i in 10 { if (i > 20) { %r[500, 0] = 0:f32 } }", ""},
        Case{"empty_loop", "for i in 0 { %r[500, i] = 0:f32 }", ""},
        Case{"overflow_is_not_proved",
             "for i in 9000000000000000000 { %r[(i * 4) / 9000000000000000000, 0] = 0:f32 }",
             "store to %r: index `i * 4 / 9000000000000000000` of dimension 0 is only known to be "
             "in [-1, 1], the extent is 128"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Structure, LoopsVerify,
    testing::Values(
        Case{"out_of_scope", "for i in 8 { }\n %r[0, i] = 0:f32", "i is used outside its scope"},
        Case{"bound_twice", "for i in 8 { for i in 2 { } }",
             "i is bound again inside its own scope"},
        Case{"disjoint_scopes", "for i in 8 { }\n for i in 9 { let x: s64 = i }\n let x: s64 = 1",
             ""},
        Case{"let_does_not_cross_phases",
             "let x: s64 = 1\n for i in 8 parallel { %r[i, x] = 0:f32 }",
             "x is used outside its scope"},
        Case{"store_to_operand", "%a[0, 0] = 0:f32", "store to operand %a"},
        Case{"parallel_inside", "for i in 8 { for j in 8 parallel { %r[i, j] = 0:f32 } }",
             "parallel loop j is not the outermost statement of its phase"},
        Case{"alloc_scope", "if (true) { alloc %t: f32[2] stack }\n %r[0, 0] = %t[0]",
             "%t is used outside the scope of its alloc"},
        Case{"barrier", "barrier", "a barrier stands outside a block loop"},
        Case{"shared", "alloc %t: f32[2] shared",
             "%t is shared but allocated outside a block loop"},
        Case{"thread", "for t in 8 thread { }", "thread loop t stands outside a block loop"},
        Case{"vector_in_vector", "for i in 8 vector { for j in 8 vector { %r[i, j] = 0:f32 } }",
             "vector loop j stands inside another vector loop"},
        Case{"narrow_arithmetic", "let x: bf16 = %h[0] + %h[1]",
             "%h[0] + %h[1]: the operation does not exist on bf16 (narrow floats convert first)"},
        Case{"reduces", "for i in 8 vector reduces { %r[i, 0] = 0:f32 }",
             "loop i reduces, so it must be serial or unroll, not vector"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Races, LoopsVerify,
    testing::Values(
        Case{"parallel", "for i in 8 parallel { for j in 8 { %r[j, 0] = 0:f32 } }",
             "store to %r: no index depends on the parallel loop i, so its iterations write the "
             "same elements"},
        Case{"vector_accumulator", R"(alloc %acc: f32[] register
          for i in 8 vector { %acc[] = %a[0, i] })",
             "store to %acc: no index depends on the vector loop i, so its iterations write the "
             "same elements"},
        Case{"private_accumulator", R"(for i in 8 vector {
          alloc %acc: f32[] register
          %acc[] = %a[0, i] })",
             ""},
        Case{"one_iteration", "for i in 8 parallel { if (i == 3) { %r[0, 0] = 0:f32 } }", ""},
        Case{"through_lets", R"(for f in 98304 parallel {
          let i: s64 = f / 768
          let j: s64 = f % 768
          %r[i, j] = 0:f32 })",
             ""},
        Case{"scatter", R"(for i in 128 parallel {
          let d: s64 = minimum(maximum(s64(%idx[i]), 0), 127)
          %r[d, 0] = 0:f32 })",
             "store to %r: no index depends on the parallel loop i, so its iterations write the "
             "same elements"},
        Case{"shared_by_threads", R"(for b in 128 block { for t in 32 thread {
          alloc %t1: f32[4] shared
          %t1[0] = 0:f32 } })",
             "store to %t1: no index depends on the thread loop t, so its iterations write the "
             "same elements"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fusemark::loops
