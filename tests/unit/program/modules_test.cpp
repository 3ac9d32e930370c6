// Off and on against the reference on small modules written by hand: control flow, tuples, results
// that are parameters or constants, empty and scalar arrays, every dtype.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

struct TextCase {
  const char* name;
  const char* text;
};

void PrintTo(const TextCase& test, std::ostream* out) {
  *out << test.name;
}

constexpr char kScalarRegions[] =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n";

constexpr TextCase kCases[] = {
    {"parameter_returned", "ENTRY main { ROOT x = f32[7] parameter(0) }"},
    {"parameters_swapped", R"(ENTRY main {
      x = f32[7] parameter(0)
      y = s32[3] parameter(1)
      ROOT r = (s32[3], f32[7]) tuple(y, x) })"},
    {"parameter_returned_twice", R"(ENTRY main {
      x = f32[7] parameter(0)
      ROOT r = (f32[7], f32[7]) tuple(x, x) })"},
    {"constant_returned", "ENTRY main { ROOT c = f32[3] constant({1, -2, nan}) }"},
    {"constants_beside_results", R"(ENTRY main {
      x = f32[3] parameter(0)
      c = f32[3] constant({1, 2, 3})
      s = pred[] constant(true)
      y = f32[3] add(x, c)
      ROOT r = (f32[3], f32[3], pred[], f32[3]) tuple(c, y, s, c) })"},
    {"result_named_twice", R"(ENTRY main {
      x = f32[33] parameter(0)
      e = f32[33] exponential(x)
      n = f32[33] negate(e)
      ROOT r = (f32[33], f32[33], f32[33]) tuple(n, e, n) })"},
    {"nested_tuples", R"(ENTRY main {
      p = (f32[4], (s32[2], f32[4])) parameter(0)
      q = pred[] parameter(1)
      inner = (s32[2], f32[4]) get-tuple-element(p), index=1
      a = f32[4] get-tuple-element(p), index=0
      b = f32[4] get-tuple-element(inner), index=1
      s = f32[4] add(a, b)
      t = (f32[4], pred[]) tuple(s, q)
      ROOT r = ((f32[4], pred[]), (s32[2], f32[4]), f32[4]) tuple(t, inner, a) })"},
    // Bit patterns, which compare exactly: between other values a wrong denormal would not be seen.
    {"reduced_denormals_of_f16", R"(ENTRY main {
      p = u16[64] parameter(0)
      mask = u16[] constant(1023)
      masks = u16[64] broadcast(mask), dimensions={}
      small = u16[64] and(p, masks)
      x = f16[64] bitcast-convert(small)
      fewer = f16[64] reduce-precision(x), exponent_bits=6, mantissa_bits=7
      kept = f16[64] reduce-precision(x), exponent_bits=5, mantissa_bits=10
      none = f16[64] reduce-precision(x), exponent_bits=4, mantissa_bits=10
      a = u16[64] bitcast-convert(fewer)
      b = u16[64] bitcast-convert(kept)
      c = u16[64] bitcast-convert(none)
      ROOT r = (u16[64], u16[64], u16[64]) tuple(a, b, c) })"},
    {"empty_tuple", R"(ENTRY main {
      x = f32[4] parameter(0)
      ROOT r = () tuple() })"},
    {"updates_after_and_before_reads", R"(ENTRY main {
      x = f32[40,8] parameter(0)
      r = f32[4,8] parameter(1)
      i = s32[] parameter(2)
      z = s32[] constant(0)
      e = f32[40,8] exponential(x)
      s = f32[8,8] slice(e), slice={[3:11], [0:8]}
      d = f32[8,8] dot(s, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      a = f32[40,8] dynamic-update-slice(e, r, i, z)
      b = f32[40,8] dynamic-update-slice(a, d, z, z)
      t = f32[8,40] transpose(a), dimensions={1,0}
      u = f32[8,8] dot(t, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c = f32[40,8] dynamic-update-slice(b, u, i, z)
      ROOT q = (f32[40,8], f32[8,8], f32[8,8]) tuple(c, d, u) })"},
    {"same_operand_twice", R"(ENTRY main {
      x = f32[5,5] parameter(0)
      s = f32[5,5] multiply(x, x)
      d = f32[5,5] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c = f32[10,5] concatenate(s, s), dimensions={0}
      ROOT r = (f32[5,5], f32[10,5]) tuple(d, c) })"},
    {"dot_of_one_value", R"(ENTRY main {
      x = f32[9,17] parameter(0)
      e = f32[9,17] tanh(x)
      ROOT d = f32[9,9] dot(e, e), lhs_contracting_dims={1}, rhs_contracting_dims={1} })"},
    {"scalar_module", R"(ENTRY main {
      x = f32[] parameter(0)
      y = f32[] parameter(1)
      s = f32[] add(x, y)
      t = f32[] tanh(s)
      ROOT r = f32[] multiply(t, x) })"},
    {"zero_size_elementwise", R"(ENTRY main {
      x = f32[0,4] parameter(0)
      y = f32[0,4] exponential(x)
      ROOT r = f32[0,4] add(y, x) })"},
    {"zero_size_concatenated", R"(ENTRY main {
      x = f32[0,4] parameter(0)
      y = f32[3,4] parameter(1)
      ROOT r = f32[3,4] concatenate(x, y), dimensions={0} })"},
    {"zero_size_contraction", R"(ENTRY main {
      x = f32[3,0] parameter(0)
      y = f32[0,4] parameter(1)
      ROOT r = f32[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"zero_size_result_of_dot", R"(ENTRY main {
      x = f32[0,3] parameter(0)
      y = f32[3,4] parameter(1)
      ROOT r = f32[0,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })"},
    {"zero_size_reduced", R"(ENTRY main {
      x = f32[4,0] parameter(0)
      c = f32[] constant(3)
      ROOT r = f32[4] reduce(x, c), dimensions={1}, to_apply=add })"},
    {"zero_size_padded", R"(ENTRY main {
      x = f32[0] parameter(0)
      c = f32[] constant(3)
      ROOT r = f32[5] pad(x, c), padding=2_3 })"},
    {"while_counts", R"(
      condition { s = (s32[], f32[9]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(5)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[9]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        next = s32[] add(i, one)
        x = f32[9] get-tuple-element(s), index=1
        y = f32[9] sine(x)
        ROOT r = (s32[], f32[9]) tuple(next, y) }
      ENTRY main {
        x = f32[9] parameter(0)
        zero = s32[] constant(0)
        init = (s32[], f32[9]) tuple(zero, x)
        ROOT w = (s32[], f32[9]) while(init), condition=condition, body=body })"},
    {"while_never", R"(
      condition { s = (s32[], f32[9]) parameter(0)
        ROOT no = pred[] constant(false) }
      body { s = (s32[], f32[9]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        x = f32[9] get-tuple-element(s), index=1
        y = f32[9] negate(x)
        ROOT r = (s32[], f32[9]) tuple(i, y) }
      ENTRY main {
        x = f32[9] parameter(0)
        n = s32[] parameter(1)
        init = (s32[], f32[9]) tuple(n, x)
        w = (s32[], f32[9]) while(init), condition=condition, body=body
        y = f32[9] get-tuple-element(w), index=1
        ROOT r = f32[9] add(y, x) })"},
    {"while_swaps_its_state", R"(
      condition { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(3)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        next = s32[] add(i, one)
        a = f32[4] get-tuple-element(s), index=1
        b = f32[4] get-tuple-element(s), index=2
        ROOT r = (s32[], f32[4], f32[4]) tuple(next, b, a) }
      ENTRY main {
        x = f32[4] parameter(0)
        y = f32[4] parameter(1)
        zero = s32[] constant(0)
        init = (s32[], f32[4], f32[4]) tuple(zero, x, y)
        ROOT w = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body })"},
    {"while_state_named_twice", R"(
      condition { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(4)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        next = s32[] add(i, one)
        a = f32[4] get-tuple-element(s), index=1
        b = f32[4] get-tuple-element(s), index=2
        c = f32[4] add(a, b)
        ROOT r = (s32[], f32[4], f32[4]) tuple(next, c, c) }
      ENTRY main {
        x = f32[4] parameter(0)
        zero = s32[] constant(0)
        init = (s32[], f32[4], f32[4]) tuple(zero, x, x)
        w = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
        a = f32[4] get-tuple-element(w), index=1
        ROOT r = (f32[4], f32[4]) tuple(a, x) })"},
    {"while_keeps_an_invariant", R"(
      condition { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(3)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[4], f32[4]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        next = s32[] add(i, one)
        a = f32[4] get-tuple-element(s), index=1
        b = f32[4] get-tuple-element(s), index=2
        c = f32[4] multiply(a, b)
        ROOT r = (s32[], f32[4], f32[4]) tuple(next, c, b) }
      ENTRY main {
        x = f32[4] parameter(0)
        y = f32[4] parameter(1)
        e = f32[4] exponential(y)
        zero = s32[] constant(0)
        init = (s32[], f32[4], f32[4]) tuple(zero, x, e)
        w = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
        again = (s32[], f32[4], f32[4]) while(init), condition=condition, body=body
        a = f32[4] get-tuple-element(w), index=1
        b = f32[4] get-tuple-element(again), index=2
        ROOT r = (f32[4], f32[4], f32[4]) tuple(a, b, e) })"},
    {"results_over_dying_operands", R"(
      ascending { a = f32[] parameter(0)
        b = f32[] parameter(1)
        ROOT r = pred[] compare(a, b), direction=LT }
      ENTRY main {
        x = f32[6,40] parameter(0)
        w = f32[40,40] parameter(1)
        zero = f32[] constant(0)
        d = f32[6,40] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        e = f32[6,40] dot(d, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        f = f32[6,40] add(d, e)
        g = f32[6,40] dot(f, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        turned = f32[40,6] transpose(f), dimensions={1,0}
        h = f32[6,40] add(f, g)
        i = f32[6,40] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        j = f32[6,40] multiply(h, i)
        flat = f32[240] reshape(j)
        k = f32[6,40] dot(j, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        l = f32[6,40] add(j, k)
        sums = f32[6] reduce(l, zero), dimensions={1}, to_apply=add
        m = f32[240] sort(flat), dimensions={0}, to_apply=ascending
        ROOT r = (f32[40,6], f32[6], f32[240]) tuple(turned, sums, m) })"},
    {"while_updates_in_place", R"(
      condition { s = (s32[], f32[6,5]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(6)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[6,5]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        zero = s32[] constant(0)
        next = s32[] add(i, one)
        x = f32[6,5] get-tuple-element(s), index=1
        row = f32[1,5] dynamic-slice(x, i, zero), dynamic_slice_sizes={1,5}
        e = f32[1,5] cosine(row)
        y = f32[6,5] dynamic-update-slice(x, e, i, zero)
        ROOT r = (s32[], f32[6,5]) tuple(next, y) }
      ENTRY main {
        x = f32[6,5] parameter(0)
        zero = s32[] constant(0)
        init = (s32[], f32[6,5]) tuple(zero, x)
        w = (s32[], f32[6,5]) while(init), condition=condition, body=body
        y = f32[6,5] get-tuple-element(w), index=1
        ROOT r = (f32[6,5], f32[6,5]) tuple(y, x) })"},
    {"while_in_while", R"(
      inner_condition { s = (s32[], f32[3]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(3)
        ROOT more = pred[] compare(i, n), direction=LT }
      inner_body { s = (s32[], f32[3]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        one = s32[] constant(1)
        next = s32[] add(i, one)
        x = f32[3] get-tuple-element(s), index=1
        y = f32[3] tanh(x)
        ROOT r = (s32[], f32[3]) tuple(next, y) }
      condition { s = (s32[], f32[3]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(4)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], f32[3]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        x = f32[3] get-tuple-element(s), index=1
        zero = s32[] constant(0)
        init = (s32[], f32[3]) tuple(zero, x)
        w = (s32[], f32[3]) while(init), condition=inner_condition, body=inner_body
        y = f32[3] get-tuple-element(w), index=1
        one = s32[] constant(1)
        next = s32[] add(i, one)
        ROOT r = (s32[], f32[3]) tuple(next, y) }
      ENTRY main {
        x = f32[3] parameter(0)
        zero = s32[] constant(0)
        init = (s32[], f32[3]) tuple(zero, x)
        w = (s32[], f32[3]) while(init), condition=condition, body=body
        ROOT y = f32[3] get-tuple-element(w), index=1 })"},
    {"while_with_a_conditional_and_nested_empty_state", R"(
      even { a = f32[4] parameter(0)
        ROOT r = f32[4] sine(a) }
      odd { a = f32[4] parameter(0)
        ROOT r = f32[4] add(a, a) }
      condition { s = (s32[], (f32[4], f32[0,3])) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(5)
        ROOT more = pred[] compare(i, n), direction=LT }
      body { s = (s32[], (f32[4], f32[0,3])) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        pair = (f32[4], f32[0,3]) get-tuple-element(s), index=1
        x = f32[4] get-tuple-element(pair), index=0
        none = f32[0,3] get-tuple-element(pair), index=1
        e = f32[0,3] exponential(none)
        one = s32[] constant(1)
        next = s32[] add(i, one)
        bit = s32[] and(i, one)
        y = f32[4] conditional(bit, x, x), branch_computations={even, odd}
        p = (f32[4], f32[0,3]) tuple(y, e)
        ROOT r = (s32[], (f32[4], f32[0,3])) tuple(next, p) }
      ENTRY main {
        x = f32[4] parameter(0)
        none = f32[0,3] parameter(1)
        zero = s32[] constant(0)
        p = (f32[4], f32[0,3]) tuple(x, none)
        init = (s32[], (f32[4], f32[0,3])) tuple(zero, p)
        ROOT w = (s32[], (f32[4], f32[0,3])) while(init), condition=condition, body=body })"},
    {"while_in_a_branch_until_the_values_grow", R"(
      condition { s = (f32[4], f32[]) parameter(0)
        x = f32[4] get-tuple-element(s), index=0
        zero = f32[] constant(0)
        total = f32[] reduce(x, zero), dimensions={0}, to_apply=add
        limit = f32[] get-tuple-element(s), index=1
        ROOT more = pred[] compare(total, limit), direction=LT }
      body { s = (f32[4], f32[]) parameter(0)
        x = f32[4] get-tuple-element(s), index=0
        limit = f32[] get-tuple-element(s), index=1
        one = f32[] constant(1)
        ones = f32[4] broadcast(one), dimensions={}
        y = f32[4] add(x, ones)
        ROOT r = (f32[4], f32[]) tuple(y, limit) }
      loop { a = f32[4] parameter(0)
        limit = f32[] constant(20)
        init = (f32[4], f32[]) tuple(a, limit)
        w = (f32[4], f32[]) while(init), condition=condition, body=body
        ROOT r = f32[4] get-tuple-element(w), index=0 }
      keep { a = f32[4] parameter(0)
        ROOT r = f32[4] copy(a) }
      ENTRY main {
        x = f32[4] parameter(0)
        p = pred[] parameter(1)
        np = pred[] not(p)
        a = f32[4] conditional(p, x, x), true_computation=loop, false_computation=keep
        b = f32[4] conditional(np, x, x), true_computation=loop, false_computation=keep
        ROOT r = (f32[4], f32[4]) tuple(a, b) })"},
    {"conditional_on_pred", R"(
      yes { a = f32[8] parameter(0)
        ROOT r = f32[8] exponential(a) }
      no { a = f32[8] parameter(0)
        ROOT r = f32[8] negate(a) }
      ENTRY main {
        p = pred[] parameter(0)
        x = f32[8] parameter(1)
        t = pred[] constant(true)
        np = pred[] not(p)
        a = f32[8] conditional(p, x, x), true_computation=yes, false_computation=no
        b = f32[8] conditional(np, a, x), true_computation=yes, false_computation=no
        ROOT r = (f32[8], f32[8]) tuple(a, b) })"},
    {"conditional_on_index", R"(
      b0 { a = (f32[8], s32[]) parameter(0)
        ROOT r = f32[8] get-tuple-element(a), index=0 }
      b1 { a = (f32[8], s32[]) parameter(0)
        x = f32[8] get-tuple-element(a), index=0
        ROOT r = f32[8] negate(x) }
      b2 { a = (f32[8], s32[]) parameter(0)
        n = s32[] get-tuple-element(a), index=1
        f = f32[] convert(n)
        ROOT r = f32[8] broadcast(f), dimensions={} }
      ENTRY main {
        i = s32[] parameter(0)
        x = f32[8] parameter(1)
        t = (f32[8], s32[]) tuple(x, i)
        big = s32[] constant(100)
        one = s32[] constant(1)
        minus = s32[] constant(-7)
        a = f32[8] conditional(i, t, t, t), branch_computations={b0, b1, b2}
        b = f32[8] conditional(big, t, t, t), branch_computations={b0, b1, b2}
        c = f32[8] conditional(minus, t, t, t), branch_computations={b0, b1, b2}
        d = f32[8] conditional(one, t, t, t), branch_computations={b0, b1, b2}
        ROOT r = (f32[8], f32[8], f32[8], f32[8]) tuple(a, b, c, d) })"},
    {"conditional_returns_its_argument_and_a_constant", R"(
      yes { a = f32[3] parameter(0)
        c = f32[3] constant({1, 2, 3})
        ROOT r = (f32[3], f32[3]) tuple(a, c) }
      no { a = f32[3] parameter(0)
        e = f32[3] negate(a)
        ROOT r = (f32[3], f32[3]) tuple(e, e) }
      ENTRY main {
        p = pred[] parameter(0)
        x = f32[3] parameter(1)
        ROOT r = (f32[3], f32[3]) conditional(p, x, x), true_computation=yes,
          false_computation=no })"},
    {"calls", R"(
      twice { a = f32[6] parameter(0)
        ROOT r = f32[6] add(a, a) }
      pair { a = f32[6] parameter(0)
        b = f32[6] call(a), to_apply=twice
        ROOT r = (f32[6], f32[6]) tuple(b, a) }
      ENTRY main {
        x = f32[6] parameter(0)
        p = (f32[6], f32[6]) call(x), to_apply=pair
        a = f32[6] get-tuple-element(p), index=0
        b = f32[6] call(a), to_apply=twice
        c = f32[6] get-tuple-element(p), index=1
        ROOT r = (f32[6], f32[6]) tuple(b, c) })"},
    {"softmax", R"(ENTRY main {
      x = f32[5,37] parameter(0)
      lowest = f32[] constant(-inf)
      m = f32[5] reduce(x, lowest), dimensions={1}, to_apply=max
      mb = f32[5,37] broadcast(m), dimensions={0}
      d = f32[5,37] subtract(x, mb)
      e = f32[5,37] exponential(d)
      zero = f32[] constant(0)
      s = f32[5] reduce(e, zero), dimensions={1}, to_apply=add
      sb = f32[5,37] broadcast(s), dimensions={0}
      ROOT p = f32[5,37] divide(e, sb) })"},
    {"row_values_read_outside", R"(ENTRY main {
      x = f32[5,37] parameter(0)
      zero = f32[] constant(0)
      s = f32[5] reduce(x, zero), dimensions={1}, to_apply=add
      sb = f32[5,37] broadcast(s), dimensions={0}
      d = f32[5,37] subtract(x, sb)
      t = f32[37,5] transpose(d), dimensions={1,0}
      n = f32[5] negate(s)
      ROOT r = (f32[5,37], f32[37,5], f32[5], f32[5]) tuple(d, t, n, s) })"},
    {"two_results_of_one_reduce", R"(
      arg { v0 = f32[] parameter(0)
        i0 = s32[] parameter(1)
        v1 = f32[] parameter(2)
        i1 = s32[] parameter(3)
        ge = pred[] compare(v0, v1), direction=GE
        v = f32[] select(ge, v0, v1)
        eq = pred[] compare(v0, v1), direction=EQ
        least = s32[] minimum(i0, i1)
        other = s32[] select(ge, i0, i1)
        i = s32[] select(eq, least, other)
        ROOT r = (f32[], s32[]) tuple(v, i) }
      ENTRY main {
        x = f32[6,19] parameter(0)
        i = s32[6,19] iota(), iota_dimension=1
        lowest = f32[] constant(-inf)
        zero = s32[] constant(0)
        a = (f32[6], s32[6]) reduce(x, i, lowest, zero), dimensions={1}, to_apply=arg
        v = f32[6] get-tuple-element(a), index=0
        n = f32[6] negate(v)
        k = s32[6] get-tuple-element(a), index=1
        ROOT r = (s32[6], f32[6], f32[6]) tuple(k, n, v) })"},
    {"convolution_bias_relu_pool", R"(ENTRY main {
      x = f32[2,8,8,3] parameter(0)
      w = f32[3,3,3,5] parameter(1)
      b = f32[5] parameter(2)
      c = f32[2,8,8,5] convolution(x, w), window={size=3x3 pad=1_1x1_1},
        dim_labels=b01f_01io->b01f
      bias = f32[2,8,8,5] broadcast(b), dimensions={3}
      s = f32[2,8,8,5] add(c, bias)
      zero = f32[] constant(0)
      zeros = f32[2,8,8,5] broadcast(zero), dimensions={}
      relu = f32[2,8,8,5] maximum(s, zeros)
      lowest = f32[] constant(-inf)
      ROOT p = f32[2,4,4,5] reduce-window(relu, lowest), window={size=1x2x2x1 stride=1x2x2x1},
        to_apply=max })"},
    {"gather_and_scatter", R"(ENTRY main {
      table = f32[10,4] parameter(0)
      raw = s32[6] parameter(1)
      ten = s32[] constant(10)
      tens = s32[6] broadcast(ten), dimensions={}
      rem = s32[6] remainder(raw, tens)
      at = s32[6] abs(rem)
      idx = s32[6,1] reshape(at)
      g = f32[6,4] gather(table, idx), offset_dims={1}, collapsed_slice_dims={0},
        start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
      e = f32[6,4] sine(g)
      ROOT s = f32[10,4] scatter(table, idx, e), update_window_dims={1},
        inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,
        to_apply=add })"},
    {"update_of_a_value_still_read", R"(ENTRY main {
      x = f32[10,4] parameter(0)
      u = f32[2,4] parameter(1)
      three = s32[] constant(3)
      zero = s32[] constant(0)
      e = f32[10,4] exponential(x)
      d = f32[10,4] dynamic-update-slice(e, u, three, zero)
      f = f32[10,4] dynamic-update-slice(d, u, zero, zero)
      s = f32[10,4] add(e, f)
      ROOT r = (f32[10,4], f32[10,4]) tuple(s, d) })"},
    {"numbers_drawn_behind_an_asynchronous_pair", R"(draw {
      n = f32[] parameter(0)
      zero = f32[] constant(0)
      ROOT r = f32[40] rng(zero, n), distribution=rng_uniform }
    ENTRY main {
      two = f32[] constant(2)
      s = ((f32[]), f32[40], u32[]) async-start(two), calls=draw
      d = f32[40] async-done(s)
      ROOT e = f32[40] negate(d) })"},
    {"big_enough_for_two_threads", R"(ENTRY main {
      x = f32[300,1001] parameter(0)
      y = f32[1001] parameter(1)
      yb = f32[300,1001] broadcast(y), dimensions={1}
      s = f32[300,1001] multiply(x, yb)
      t = f32[300,1001] tanh(s)
      zero = f32[] constant(0)
      rows = f32[300] reduce(t, zero), dimensions={1}, to_apply=add
      columns = f32[1001] reduce(t, zero), dimensions={0}, to_apply=add
      all = f32[] reduce(t, zero), dimensions={0,1}, to_apply=add
      tr = f32[1001,300] transpose(t), dimensions={1,0}
      d = f32[300,300] dot(t, tr), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT r = (f32[300], f32[1001], f32[], f32[300,300]) tuple(rows, columns, all, d) })"},
};

class HandWritten : public ::testing::TestWithParam<TextCase> {};

TEST_P(HandWritten, AgreesWithTheReference) {
  const std::string text =
      std::string("HloModule ") + GetParam().name + "\n" + kScalarRegions + GetParam().text;
  const auto module = ParseModule(text, GetParam().name);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(EnginesDisagree(*module, InputsOf(*module)), "");
}

INSTANTIATE_TEST_SUITE_P(All, HandWritten, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

// The same graph for each type, with what the type has.
class Dtypes : public ::testing::TestWithParam<const char*> {};

std::string Replace(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

void ExpectAgreement(std::string text, const std::string& type) {
  text = Replace(std::move(text), "T[", type + "[");
  const auto module = ParseModule(text, type);
  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_EQ(EnginesDisagree(*module, InputsOf(*module)), "");
}

constexpr char kMovement[] = R"(HloModule movement
ENTRY main {
  x = T[5,12] parameter(0)
  y = T[5,12] parameter(1)
  c = pred[5,12] compare(x, y), direction=GE
  s = T[5,12] select(c, x, y)
  t = T[12,5] transpose(s), dimensions={1,0}
  k = T[24,5] concatenate(t, t), dimensions={0}
  l = T[7,5] slice(k), slice={[2:23:3],[0:5]}
  v = T[7,5] reverse(l), dimensions={0}
  ROOT r = (pred[5,12], T[24,5], T[7,5]) tuple(c, k, v)
})";

constexpr char kArithmetic[] = R"(HloModule arithmetic
add { a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT r = T[] add(a, b) }
max { a = T[] parameter(0)
  b = T[] parameter(1)
  ROOT r = T[] maximum(a, b) }
ENTRY main {
  x = T[5,12] parameter(0)
  y = T[5,12] parameter(1)
  three = T[] constant(3)
  threes = T[5,12] broadcast(three), dimensions={}
  s = T[5,12] add(x, threes)
  m = T[5,12] multiply(s, y)
  d = T[5,12] subtract(m, x)
  one = T[] constant(1)
  ones = T[5,12] broadcast(one), dimensions={}
  yy = T[5,12] multiply(y, y)
  bottom = T[5,12] maximum(yy, ones)
  q = T[5,12] divide(d, bottom)
  f = f32[5,12] convert(q)
  i = s32[5,12] convert(x)
  zero = T[] constant(0)
  rows = T[5] reduce(y, zero), dimensions={1}, to_apply=add
  columns = T[12] reduce(y, zero), dimensions={0}, to_apply=max
  dot = T[5,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT r = (T[5,12], f32[5,12], s32[5,12], T[5], T[12], T[5,5]) tuple(q, f, i, rows, columns, dot)
})";

constexpr char kBits[] = R"(HloModule bits
ENTRY main {
  x = T[70] parameter(0)
  y = T[70] parameter(1)
  a = T[70] and(x, y)
  o = T[70] or(x, y)
  e = T[70] xor(a, o)
  n = T[70] not(e)
  ROOT r = (T[70], T[70]) tuple(n, e)
})";

constexpr char kTranscendental[] = R"(HloModule transcendental
ENTRY main {
  x = T[133] parameter(0)
  e = T[133] exponential(x)
  ee = T[133] add(e, e)
  l = T[133] log(ee)
  t = T[133] tanh(l)
  a = T[133] abs(x)
  q = T[133] sqrt(a)
  c = T[133] cosine(x)
  g = T[133] logistic(c)
  f = T[133] floor(e)
  ROOT r = (T[133], T[133], T[133], T[133]) tuple(t, q, g, f)
})";

// What the reference gives is known here: it shares the rewrite of dynamic shapes with the others.
TEST(DynamicShapes, OnlyWhatIsInsideCounts) {
  const auto module = ParseModule(R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
max { a = s8[] parameter(0)
  b = s8[] parameter(1)
  ROOT r = s8[] maximum(a, b) }
ENTRY main {
  x = f32[<=4] parameter(0)
  n = s32[] parameter(1)
  d = f32[<=4] set-dimension-size(x, n), dimensions={0}
  half = f32[] constant(0.5)
  halves = f32[<=4] broadcast(half), dimensions={}
  y = f32[<=4] multiply(d, halves)
  five = f32[] constant(5)
  s = f32[] reduce(y, five), dimensions={0}, to_apply=sum
  b = f32[2,<=4] broadcast(y), dimensions={1}
  t = f32[<=4,2] transpose(b), dimensions={1,0}
  c = s8[<=4,2] convert(t)
  low = s8[] constant(-100)
  m = s8[2] reduce(c, low), dimensions={0}, to_apply=max
  k = s32[] get-dimension-size(t), dimensions={0}
  w = s32[] get-dimension-size(x), dimensions={0}
  ROOT r = (f32[<=4,2], f32[], s8[2], s32[], s32[]) tuple(t, s, m, k, w)
})",
                                  "test");
  ASSERT_TRUE(module.ok()) << module.error().message;
  ASSERT_TRUE(CheckSupported(*module).ok());
  const auto run = [&](int32_t size, Engine engine) {
    std::vector<Tensor> inputs;
    inputs.push_back(MakeTensor(ArrayShape(DType::kF32, {4})));
    for (int i = 0; i < 4; ++i) inputs[0].as<float>()[i] = static_cast<float>(2 * i - 6);
    inputs.push_back(MakeTensor(ArrayShape(DType::kS32, {})));
    *inputs[1].as<int32_t>() = size;
    auto results = CompileAndRun(*module, OptionsOf(engine), inputs);
    EXPECT_TRUE(results.ok()) << results.error().message;
    std::string text;
    for (int i = 0; i < 8; ++i) text += fmt::format("{} ", (*results)[0].as<float>()[i]);
    text += fmt::format("sum {} max {}", *(*results)[1].as<float>(), (*results)[2].as<int8_t>()[1]);
    return text +
           fmt::format(" sizes {} {}", *(*results)[3].as<int32_t>(), *(*results)[4].as<int32_t>());
  };
  for (const Engine engine : {Engine::kReference, Engine::kOff, Engine::kOn}) {
    EXPECT_EQ(run(2, engine), "-3 -3 -2 -2 0 0 0 0 sum 0 max -2 sizes 2 4");
    EXPECT_EQ(run(0, engine), "0 0 0 0 0 0 0 0 sum 5 max -100 sizes 0 4");
    EXPECT_EQ(run(9, engine), "-3 -3 -2 -2 -1 -1 0 0 sum -1 max 0 sizes 4 4");
    EXPECT_EQ(run(-1, engine), "0 0 0 0 0 0 0 0 sum 5 max -100 sizes 0 4");
  }
}

TEST_P(Dtypes, MoveData) {
  ExpectAgreement(kMovement, GetParam());
}

TEST_P(Dtypes, Calculate) {
  const std::string type = GetParam();
  if (type == "pred") {
    ExpectAgreement(kBits, type);
    return;
  }
  ExpectAgreement(kArithmetic, type);
  if (type[0] == 's' || type[0] == 'u') ExpectAgreement(kBits, type);
  if (type[0] == 'f' || type[0] == 'b') ExpectAgreement(kTranscendental, type);
}

INSTANTIATE_TEST_SUITE_P(All, Dtypes,
                         ::testing::Values("pred", "s8", "s32", "s64", "u8", "u32", "u64", "f16",
                                           "bf16", "f32", "f64"));

}  // namespace
}  // namespace fusemark
