#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

// A comparator on operands of the given types; `test` computes `r` from a0, b0, a1, ...
std::string Comparator(const std::vector<std::string>& types, const std::string& test) {
  std::string text = "HloModule m\nless {\n";
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string number = std::to_string(i);
    text += " a" + number + " = " + types[i] + "[] parameter(" + std::to_string(2 * i) + ")\n";
    text += " b" + number + " = " + types[i] + "[] parameter(" + std::to_string(2 * i + 1) + ")\n";
  }
  return text + test + "\n}\nENTRY e {\n";
}

constexpr const char* kLess = " ROOT r = pred[] compare(a0, b0), direction=LT";
constexpr KernelClass kUpdate = KernelClass::kUpdate;

TEST(LowerSort, EveryLengthAroundPowersOfTwo) {
  for (const int n : {1, 2, 3, 4, 5, 7, 8, 9, 31, 33}) {
    const std::string shape = "f32[" + std::to_string(n) + "]";
    LowerFused(Comparator({"f32"}, kLess) + "x = " + shape + " parameter(0)\n ROOT s = " + shape +
                   " sort(x), dimensions={0}, to_apply=less\n}",
               {.klass = kUpdate});
  }
}

TEST(LowerSort, AnyDimension) {
  for (const std::string dim : {"0", "1", "2"}) {
    LowerFused(Comparator({"s32"}, kLess) +
                   "x = s32[5,7,3] parameter(0)\n ROOT s = s32[5,7,3] sort(x), dimensions={" + dim +
                   "}, to_apply=less\n}",
               {.klass = kUpdate});
  }
}

TEST(LowerSort, OperandsFollowTheKeyAndEqualKeysKeepTheirOrder) {
  LowerFused(Comparator({"s8", "s32", "bf16"}, kLess) +
                 "k = s8[4,40] parameter(0)\n v = bf16[4,40] parameter(1)\n p = s32[4,40] iota(), "
                 "iota_dimension=1\n ROOT s = (s8[4,40], s32[4,40], bf16[4,40]) sort(k, p, v), "
                 "dimensions={1}, to_apply=less\n}",
             {.klass = kUpdate});
}

// What no order satisfies still gives the permutation the reference gives.
TEST(LowerSort, ComparatorsThatAreNoOrder) {
  const std::string body =
      "x = f32[2,37] parameter(0)\n z = f32[] constant(0)\n zb = f32[2,37] broadcast(z), "
      "dimensions={}\n pos = pred[2,37] compare(x, zb), direction=GT\n q = f32[2,37] divide(zb, "
      "zb)\n y = f32[2,37] select(pos, x, q)\n ROOT s = f32[2,37] sort(y), dimensions={1}, "
      "to_apply=less\n}";
  LowerFused(Comparator({"f32"}, kLess) + body, {.klass = kUpdate});  // NaN among the keys
  LowerFused(Comparator({"f32"}, " ROOT r = pred[] constant(true)") + body, {.klass = kUpdate});
  LowerFused(Comparator({"f32"},
                        " c = f32[] constant(0.5)\n s = f32[] add(a0, c)\n ROOT r = "
                        "pred[] compare(s, b0), direction=NE") +
                 body,
             {.klass = kUpdate});
}

TEST(LowerSort, EmptyArrays) {
  LowerFused(Comparator({"f32"}, kLess) +
                 "x = f32[0,4] parameter(0)\n ROOT s = f32[0,4] sort(x), dimensions={0}, "
                 "to_apply=less\n}",
             {.klass = kUpdate});
}

TEST(LowerTopK, BestFirstTiesByPosition) {
  for (const std::string k : {"1", "4", "13"}) {
    for (const std::string type : {"f32", "bf16", "s8", "u32", "s64", "pred"}) {
      for (const std::string largest : {"true", "false"}) {
        const std::string values = type + "[3," + k + "]", positions = "s32[3," + k + "]";
        LowerFused("HloModule m\nENTRY e {\n x = " + type + "[3,13] parameter(0)\n ROOT t = (" +
                       values + ", " + positions + ") topk(x), k=" + k + ", largest=" + largest +
                       "\n}",
                   {.klass = kUpdate});
      }
    }
  }
}

TEST(LowerTopK, TotalOrderPutsNanFirst) {
  LowerFused(
      "HloModule m\nENTRY e {\n x = f32[2,40] parameter(0)\n l = f32[2,40] log(x)\n ROOT t = "
      "(f32[2,9], s32[2,9]) topk(l), k=9, largest=true\n}",
      {.klass = kUpdate});
}

}  // namespace
}  // namespace fusemark::loops
