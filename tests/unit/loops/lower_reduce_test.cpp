#include "tests/unit/arg_max.h"
#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

const std::string kRegions = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
)";

std::string Hlo(const std::string& body) {
  return "HloModule m\n" + kRegions + "\nENTRY e {\n" + body + "\n}";
}

size_t Count(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(LowerReduce, RowColumnMiddleAndAll) {
  for (const auto& [dims, result] : std::vector<std::pair<std::string, std::string>>{
           {"2", "4,5"}, {"0", "5,6"}, {"1", "4,6"}, {"0,2", "5"}, {"2,1", "4"}, {"0,1,2", ""}}) {
    LowerFused(Hlo("x = f32[4,5,6] parameter(0)\n z = f32[] constant(0)\n s = f32[" + result +
                   "] reduce(x, z), dimensions={" + dims + "}, to_apply=add\n ROOT n = f32[" +
                   result + "] negate(s)"),
               {.klass = KernelClass::kReduce, .tolerance = 1e-5});
  }
}

TEST(LowerReduce, IntegersAndPredAreExact) {
  for (const std::string type : {"s8", "u8", "s32", "u64", "s64"}) {
    for (const std::string op : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
      LowerFused("HloModule m\nf { a = " + type + "[] parameter(0)\n b = " + type +
                     "[] parameter(1)\n ROOT r = " + type + "[] " + op +
                     "(a, b) }\nENTRY e {\n x = " + type + "[9,7] parameter(0)\n z = " + type +
                     "[] constant(1)\n ROOT s = " + type +
                     "[7] reduce(x, z), dimensions={0}, to_apply=f\n}",
                 {.klass = KernelClass::kReduce});
    }
  }
}

TEST(LowerReduce, NarrowSumsAccumulateInF32) {
  for (const std::string type : {"bf16", "f16"}) {
    LowerFused("HloModule m\nf { a = " + type + "[] parameter(0)\n b = " + type +
                   "[] parameter(1)\n ROOT r = " + type +
                   "[] add(a, b) }\nENTRY e {\n x = " + type +
                   "[3,500] parameter(0)\n z = " + type + "[] constant(0)\n ROOT s = " + type +
                   "[3] reduce(x, z), dimensions={1}, to_apply=f\n}",
               {.klass = KernelClass::kReduce, .tolerance = 0.008});
  }
}

TEST(LowerReduce, ArgMaxRunsItsRegion) {
  LowerFused(std::string("HloModule m") + kArgMax + R"(
ENTRY e {
  x = f32[5,33] parameter(0)
  i = s32[5,33] iota(), iota_dimension=1
  lo = f32[] constant(-inf)
  z = s32[] constant(0)
  r = (f32[5], s32[5]) reduce(x, i, lo, z), dimensions={1}, to_apply=argmax
  v = f32[5] get-tuple-element(r), index=0
  k = s32[5] get-tuple-element(r), index=1
  ROOT t = (f32[5], s32[5]) tuple(v, k)
})",
             {.klass = KernelClass::kReduce});
}

TEST(LowerReduce, SiblingsShareOnePass) {
  const std::string text = LowerFused(Hlo(R"(
  x = f32[6,40] parameter(0)
  z = f32[] constant(0)
  lo = f32[] constant(-inf)
  sq = f32[6,40] multiply(x, x)
  s = f32[6] reduce(x, z), dimensions={1}, to_apply=add
  q = f32[6] reduce(sq, z), dimensions={1}, to_apply=add
  m = f32[6] reduce(x, lo), dimensions={1}, to_apply=max
  ROOT t = (f32[6], f32[6], f32[6]) tuple(s, q, m))"),
                                      {.klass = KernelClass::kReduce, .tolerance = 1e-5});
  EXPECT_EQ(Count(text, "for k0"), 1U) << text;
  EXPECT_EQ(Count(text, "%x["), 1U) << text;
}

TEST(LowerReduce, NothingToReduceGivesInit) {
  LowerFused(
      Hlo("x = f32[4,0] parameter(0)\n z = f32[] constant(3)\n ROOT s = f32[4] reduce(x, z), "
          "dimensions={1}, to_apply=add"),
      {.klass = KernelClass::kReduce});
}

constexpr const char* kSoftmax = R"(
  x = f32[3,4,20] parameter(0)
  z = f32[] constant(0)
  lo = f32[] constant(-inf)
  m = f32[3,4] reduce(x, lo), dimensions={2}, to_apply=max
  mb = f32[3,4,20] broadcast(m), dimensions={0,1}
  d = f32[3,4,20] subtract(x, mb)
  e = f32[3,4,20] exponential(d)
  s = f32[3,4] reduce(e, z), dimensions={2}, to_apply=add
  sb = f32[3,4,20] broadcast(s), dimensions={0,1}
  ROOT y = f32[3,4,20] divide(e, sb))";

TEST(LowerRow, SoftmaxKeepsTheExponentials) {
  const std::string text =
      LowerFused(Hlo(kSoftmax), {.klass = KernelClass::kRow, .tolerance = 1e-5});
  EXPECT_EQ(Count(text, "exponential("), 1U) << text;
  EXPECT_EQ(Count(text, "for j0"), 3U) << text;
}

TEST(LowerRow, SoftmaxAlongAnInnerDimension) {
  std::string body = kSoftmax;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"dimensions={2}", "dimensions={1}"},
                                                        {"f32[3,4] ", "f32[3,20] "},
                                                        {"dimensions={0,1}", "dimensions={0,2}"}}) {
    for (size_t at = body.find(from); at != std::string::npos; at = body.find(from, at + to.size()))
      body.replace(at, from.size(), to);
  }
  LowerFused(Hlo(body), {.klass = KernelClass::kRow, .tolerance = 1e-5});
}

TEST(LowerRow, LayerNormWithSideResults) {
  LowerFused(Hlo(R"(
  x = f32[2,5,24] parameter(0)
  g = f32[24] parameter(1)
  z = f32[] constant(0)
  n = f32[] constant(24)
  eps = f32[] constant(1e-5)
  nb = f32[2,5] broadcast(n), dimensions={}
  eb = f32[2,5] broadcast(eps), dimensions={}
  s = f32[2,5] reduce(x, z), dimensions={2}, to_apply=add
  mean = f32[2,5] divide(s, nb)
  mb = f32[2,5,24] broadcast(mean), dimensions={0,1}
  d = f32[2,5,24] subtract(x, mb)
  sq = f32[2,5,24] multiply(d, d)
  ss = f32[2,5] reduce(sq, z), dimensions={2}, to_apply=add
  var = f32[2,5] divide(ss, nb)
  ve = f32[2,5] add(var, eb)
  r = f32[2,5] rsqrt(ve)
  rb = f32[2,5,24] broadcast(r), dimensions={0,1}
  y = f32[2,5,24] multiply(d, rb)
  gb = f32[2,5,24] broadcast(g), dimensions={2}
  yg = f32[2,5,24] multiply(y, gb)
  flat = f32[10,24] reshape(yg)
  mk = f32[2,5,1] reshape(mean)
  ROOT t = (f32[10,24], f32[2,5,1], f32[2,5]) tuple(flat, mk, var))"),
             {.klass = KernelClass::kRow, .tolerance = 1e-5});
}

TEST(LowerRow, PerRowValuesStayOutOfTheRowLoop) {
  const std::string text = LowerFused(Hlo(R"(
  x = f32[7,24] parameter(0)
  z = f32[] constant(0)
  s = f32[7] reduce(x, z), dimensions={1}, to_apply=add
  q = f32[7] rsqrt(s)
  qb = f32[7,24] broadcast(q), dimensions={0}
  ROOT y = f32[7,24] multiply(x, qb))"),
                                      {.klass = KernelClass::kRow, .tolerance = 1e-5});
  EXPECT_LT(text.find("rsqrt("), text.rfind("for j0")) << text;
}

}  // namespace
}  // namespace fusemark::loops
