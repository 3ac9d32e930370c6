// Loops that update an array of their state: in place where nothing reads the old one later, right
// in every other case too.
#include <gtest/gtest.h>

#include <string>

#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

struct Body {
  const char* name;
  const char* text;  // defines b and c, the next arrays, from a and d, the present ones
  bool in_place;     // both arrays
};

void PrintTo(const Body& body, std::ostream* out) {
  *out << body.name;
}

constexpr Body kBodies[] = {
    {"update_only",
     "  b = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  c = f32[64,8] dynamic-update-slice(d, row, i, zero)\n",
     true},
    {"reads_before",
     "  s = f32[1,8] dynamic-slice(a, i, zero), dynamic_slice_sizes={1,8}\n"
     "  t = f32[1,8] add(s, row)\n"
     "  m = f32[1,8] reverse(t), dimensions={1}\n"
     "  b = f32[64,8] dynamic-update-slice(a, m, i, zero)\n"
     "  c = f32[64,8] dynamic-update-slice(d, t, i, zero)\n",
     true},
    {"reads_apart",
     "  s = f32[1,8] dynamic-slice(a, i, zero), dynamic_slice_sizes={1,8}\n"
     "  b = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  c = f32[64,8] dynamic-update-slice(d, s, j, zero)\n",
     true},
    {"reads_after",
     "  b = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  c = f32[64,8] add(a, b)\n",
     false},
    {"swapped",
     "  c = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  b = f32[64,8] dynamic-update-slice(d, row, i, zero)\n",
     false},
    {"returned_twice",
     "  b = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  c = f32[64,8] copy(b)\n",
     false},
    {"old_one_returned_too",
     "  b = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  c = f32[64,8] copy(a)\n",
     false},
    {"updates_with_itself",
     "  v = f32[8,8] slice(a), slice={[0:8], [0:8]}\n"
     "  w = f32[8,8] transpose(v), dimensions={1,0}\n"
     "  b = f32[64,8] dynamic-update-slice(a, w, i, zero)\n"
     "  c = f32[64,8] dynamic-update-slice(d, w, zero, zero)\n",
     true},
    {"twice_in_a_row",
     "  u = f32[64,8] dynamic-update-slice(a, row, i, zero)\n"
     "  b = f32[64,8] dynamic-update-slice(u, row, j, zero)\n"
     "  c = f32[64,8] dynamic-update-slice(d, row, j, zero)\n",
     false},
    {"through_a_reshape",
     "  f = f32[512] reshape(a)\n"
     "  g = f32[8] reshape(row)\n"
     "  h = f32[512] dynamic-update-slice(f, g, i)\n"
     "  b = f32[64,8] reshape(h)\n"
     "  c = f32[64,8] dynamic-update-slice(d, row, j, zero)\n",
     false},
};

Module LoopOf(const Body& body) {
  const std::string text =
      "HloModule loop\n"
      "more {\n"
      "  p = (s32[], f32[64,8], f32[64,8]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n"
      "  n = s32[] constant(50)\n"
      "  ROOT m = pred[] compare(i, n), direction=LT\n"
      "}\n"
      "body {\n"
      "  p = (s32[], f32[64,8], f32[64,8]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n"
      "  a = f32[64,8] get-tuple-element(p), index=1\n"
      "  d = f32[64,8] get-tuple-element(p), index=2\n"
      "  one = s32[] constant(1)\n"
      "  zero = s32[] constant(0)\n"
      "  j = s32[] add(i, one)\n"
      "  e = f32[] convert(i)\n"
      "  row = f32[1,8] broadcast(e), dimensions={}\n" +
      std::string(body.text) +
      "  ROOT next = (s32[], f32[64,8], f32[64,8]) tuple(j, b, c)\n"
      "}\n"
      "ENTRY main {\n"
      "  x = f32[64,8] parameter(0)\n"
      "  y = f32[64,8] parameter(1)\n"
      "  z = s32[] constant(0)\n"
      "  s = (s32[], f32[64,8], f32[64,8]) tuple(z, x, y)\n"
      "  ROOT w = (s32[], f32[64,8], f32[64,8]) while(s), condition=more, body=body\n"
      "}\n";
  auto module = ParseModule(text, body.name);
  EXPECT_TRUE(module.ok()) << module.error().message;
  return module.ok() ? std::move(*module) : Module{};
}

class LoopUpdates : public ::testing::TestWithParam<Body> {};

TEST_P(LoopUpdates, AgreeWithTheReference) {
  const Module module = LoopOf(GetParam());
  if (HasFailure()) return;
  EXPECT_EQ(EnginesDisagree(module, InputsOf(module)), "");
}

TEST(LoopUpdatesInPlace, NeedNoSecondCopy) {
  for (const Body& body : kBodies) {
    if (!body.in_place) continue;
    const Module module = LoopOf(body);
    if (HasFailure()) return;
    const auto executable = Compile(module, OptionsOf(Engine::kOn));
    ASSERT_TRUE(executable.ok()) << executable.error().message;
    // The results of the program hold the state; one second copy alone would take 2 KiB.
    EXPECT_LT((*executable)->Stats().peak_arena_bytes, 64 * 8 * 4) << body.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LoopUpdates, ::testing::ValuesIn(kBodies),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace fusemark
