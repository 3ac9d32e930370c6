// The region of an arg-max as JAX spells it: the first NaN, or else the first of the greatest.
#pragma once

namespace fusemark {

inline constexpr char kArgMax[] = R"(
argmax {
  av = f32[] parameter(0)
  ai = s32[] parameter(1)
  bv = f32[] parameter(2)
  bi = s32[] parameter(3)
  gt = pred[] compare(av, bv), direction=GT
  ne = pred[] compare(av, av), direction=NE
  keep = pred[] or(gt, ne)
  v = f32[] select(keep, av, bv)
  eq = pred[] compare(av, bv), direction=EQ
  lt = pred[] compare(ai, bi), direction=LT
  tie = pred[] and(eq, lt)
  keepi = pred[] or(keep, tie)
  i = s32[] select(keepi, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}
)";

}  // namespace fusemark
