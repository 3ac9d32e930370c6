// Random damage to small modules, by byte and by token, with a fixed seed: parsing must never crash
// or hang, and what still parses must survive printing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "compiler/text/text.h"

namespace fusemark {
namespace {

constexpr std::string_view kSeeds[] = {
    R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0}, s32[])->(f32[2], s32[])}, input_output_alias={ {1}: (1, {}, may-alias) }
FileNames
1 "a"
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY e (a: f32[2,3], i: s32[]) -> (f32[2], s32[]) {
  a = f32[2,3]{1,0} parameter(0)
  i = s32[] parameter(1)
  z = f32[] constant(-1.5e-3)
  r = f32[2]{0} reduce(f32[2,3]{1,0} a, z), dimensions={1}, to_apply=add, metadata={op_name="r\"" source_line=3}
  ROOT t = (f32[2], s32[]) tuple(r, /*index=1*/i)
})",
    R"(cond { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  u = f32[1] slice(v), slice={[0:1]}
  w = f32[4] dynamic-update-slice(v, u, j)
  ROOT t = (s32[], f32[4]) tuple(j, w) }
ENTRY e { s = (s32[], f32[4]) parameter(0)
  ROOT w = (s32[], f32[4]) while(s), condition=cond, body=body })",
    R"(x = f32[1,8,8,4] parameter(0)
  k = f32[3,3,4,8] parameter(1)
  c = f32[1,4,4,8] convolution(x, k), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f
  l = s8[2,2] constant({ {1, -2}, {3, 4} })
  n = f32[3] constant({nan(0x12), -inf, .5})
  z = c64[] constant((1, -2))
  g = f32[2,4] gather(f32[10,4] parameter(2), s32[2,1] parameter(3)), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  d = f32[2,2] dot(g, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  p = f32[3,5] pad(d, f32[] constant(0)), padding=0_1x1_1_1
  s = f32[3,5] sort(p), dimensions={0}, to_apply={ a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT q = pred[] compare(a, b), direction=GT, type=TOTALORDER }
  u = ((f32[3,5]), f32[3,5], u32[]) negate-start(s)
  ROOT v = f32[3,5] negate-done(u), frontend_attributes={a="b",c={"d":1}})",
};

// Words and punctuation, the pieces that token damage moves around.
std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == at) ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

class Damage {
 public:
  explicit Damage(uint32_t seed) : random_(seed) {}

  std::string Bytes(std::string text) {
    constexpr std::string_view kBytes = "{}()[]<>=,:%\"'/*#?.-_x0919aE \n\t\\";
    for (size_t edits = 1 + Below(4); edits > 0 && !text.empty(); --edits) {
      const size_t at = Below(text.size());
      switch (Below(5)) {
        case 0: text.erase(at, 1 + Below(4)); break;
        case 1: text.insert(at, 1, kBytes[Below(kBytes.size())]); break;
        case 2: text[at] = kBytes[Below(kBytes.size())]; break;
        case 3: text[at] = static_cast<char>(1 + Below(255)); break;
        case 4: text.resize(at); break;
      }
    }
    return text;
  }

  std::string Words(std::string_view text) {
    std::vector<std::string> tokens = Tokens(text);
    const std::vector<std::string> more = {"f32",        "-1",       "99999999999999999999",
                                           "4294967296", "ROOT",     "ENTRY",
                                           "add",        "reduce",   "{}",
                                           "((",         "constant", "2"};
    for (size_t edits = 1 + Below(3); edits > 0; --edits) {
      const size_t at = Below(tokens.size());
      switch (Below(4)) {
        case 0: tokens.erase(tokens.begin() + static_cast<int64_t>(at)); break;
        case 1: tokens[at] = tokens[Below(tokens.size())]; break;
        case 2: std::swap(tokens[at], tokens[Below(tokens.size())]); break;
        case 3: tokens[at] = more[Below(more.size())]; break;
      }
      if (tokens.empty()) return "";
    }
    std::string damaged;
    for (const std::string& token : tokens) damaged += token;
    return damaged;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  std::mt19937 random_;
};

// 1 if the text still is a module.
int ParseAndPrint(const std::string& text) {
  const auto module = ParseModule(text, "damaged");
  if (!module.ok()) {
    EXPECT_FALSE(module.error().message.empty());
    EXPECT_EQ(module.error().code, Code::kInvalidInput) << module.error().message;
    return 0;
  }
  const auto again = ParseModule(PrintModule(*module), "printed");
  EXPECT_TRUE(again.ok()) << text << "\n" << again.error().message;
  EXPECT_TRUE(again.ok() && *again == *module) << text;
  return 1;
}

TEST(MutationTest, SeedsOfTheOtherTestsAreReal) {
  for (std::string_view seed : kSeeds) EXPECT_EQ(ParseAndPrint(std::string(seed)), 1) << seed;
}

TEST(MutationTest, DamagedBytes) {
  Damage damage(1);
  int survived = 0;
  for (int i = 0; i < 2000; ++i) {
    for (std::string_view seed : kSeeds) survived += ParseAndPrint(damage.Bytes(std::string(seed)));
  }
  EXPECT_GT(survived, 50);  // otherwise the damage is too heavy to test the printer
}

TEST(MutationTest, DamagedTokens) {
  Damage damage(2);
  int survived = 0;
  for (int i = 0; i < 2000; ++i) {
    for (std::string_view seed : kSeeds) survived += ParseAndPrint(damage.Words(seed));
  }
  EXPECT_GT(survived, 50);
}

TEST(MutationTest, EveryPrefix) {
  for (std::string_view seed : kSeeds) {
    for (size_t size = 0; size < seed.size(); ++size)
      ParseAndPrint(std::string(seed.substr(0, size)));
  }
}

}  // namespace
}  // namespace fusemark
