// Loops as native code: which are, and that they do what the reference does, whatever their state,
// control flow and kernels.
#include "compiler/program/native_loop.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/program/build.h"
#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

struct Case {
  const char* name;
  const char* text;
  int native = 1, interpreted = 0;  // loops that the entry's steps reach
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

constexpr Case kCases[] = {
    // An odd number of trips ends in the other set; state of 16 bytes and of more.
    {"arrays_change_places", R"(
      HloModule m
      more {
        p = (s32[], f32[4], f32[6], f32[200]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(7)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      body {
        p = (s32[], f32[4], f32[6], f32[200]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[4] get-tuple-element(p), index=1
        b = f32[6] get-tuple-element(p), index=2
        c = f32[200] get-tuple-element(p), index=3
        one = s32[] constant(1)
        j = s32[] add(i, one)
        x = f32[4] reverse(a), dimensions={0}
        y = f32[6] reverse(b), dimensions={0}
        s = f32[4] slice(c), slice={[3:7]}
        u = f32[4] add(x, s)
        z = f32[200] reverse(c), dimensions={0}
        ROOT t = (s32[], f32[4], f32[6], f32[200]) tuple(j, u, y, z)
      }
      ENTRY e {
        i = s32[] constant(0)
        a = f32[4] parameter(0)
        b = f32[6] parameter(1)
        c = f32[200] parameter(2)
        t = (s32[], f32[4], f32[6], f32[200]) tuple(i, a, b, c)
        ROOT w = (s32[], f32[4], f32[6], f32[200]) while(t), condition=more, body=body })"},
    // Every branch is taken, indices out of range too; branches hand arguments through.
    {"branches", R"(
      HloModule m
      more {
        p = (s32[], f32[3], f32[]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(9)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      first { p = f32[3] parameter(0)
        ROOT r = f32[3] reverse(p), dimensions={0} }
      second { p = f32[3] parameter(0)
        ROOT r = f32[3] multiply(p, p) }
      third { ROOT p = f32[3] parameter(0) }
      yes { p = f32[] parameter(0)
        ROOT r = f32[] negate(p) }
      no { p = f32[] parameter(0)
        ROOT r = f32[] add(p, p) }
      body {
        p = (s32[], f32[3], f32[]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[3] get-tuple-element(p), index=1
        f = f32[] get-tuple-element(p), index=2
        one = s32[] constant(1)
        three = s32[] constant(3)
        j = s32[] add(i, one)
        k = s32[] subtract(i, three)
        b = f32[3] conditional(k, a, a, a), branch_computations={first, second, third}
        s = pred[] compare(k, one), direction=GT
        g = f32[] conditional(s, f, f), true_computation=yes, false_computation=no
        d = f32[3] broadcast(g), dimensions={}
        c = f32[3] add(b, d)
        ROOT t = (s32[], f32[3], f32[]) tuple(j, c, g)
      }
      ENTRY e {
        i = s32[] constant(0)
        a = f32[3] parameter(0)
        f = f32[] parameter(1)
        t = (s32[], f32[3], f32[]) tuple(i, a, f)
        ROOT w = (s32[], f32[3], f32[]) while(t), condition=more, body=body })"},
    // The inner loop never runs on the first trip; both loops update an array in place.
    {"nested_with_updates", R"(
      HloModule m
      inner_more {
        p = (s32[], s32[], f32[8], f32[2]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] get-tuple-element(p), index=1
        ROOT c = pred[] compare(i, n), direction=LT
      }
      inner {
        p = (s32[], s32[], f32[8], f32[2]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] get-tuple-element(p), index=1
        a = f32[8] get-tuple-element(p), index=2
        b = f32[2] get-tuple-element(p), index=3
        one = s32[] constant(1)
        j = s32[] add(i, one)
        table = f32[3] constant({1.5, -2, 4})
        v = f32[1] dynamic-slice(table, i), dynamic_slice_sizes={1}
        q = f32[1] slice(b), slice={[1:2]}
        u = f32[1] add(v, q)
        c = f32[8] dynamic-update-slice(a, u, i)
        d = f32[2] dynamic-update-slice(b, v, one)
        ROOT t = (s32[], s32[], f32[8], f32[2]) tuple(j, n, c, d)
      }
      more {
        p = (s32[], f32[8], f32[2], f32[]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(5)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      add { x = f32[] parameter(0)
        y = f32[] parameter(1)
        ROOT s = f32[] add(x, y) }
      body {
        p = (s32[], f32[8], f32[2], f32[]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[8] get-tuple-element(p), index=1
        b = f32[2] get-tuple-element(p), index=2
        f = f32[] get-tuple-element(p), index=3
        one = s32[] constant(1)
        nil = s32[] constant(0)
        j = s32[] add(i, one)
        s = (s32[], s32[], f32[8], f32[2]) tuple(nil, i, a, b)
        w = (s32[], s32[], f32[8], f32[2]) while(s), condition=inner_more, body=inner
        c = f32[8] get-tuple-element(w), index=2
        d = f32[2] get-tuple-element(w), index=3
        zero = f32[] constant(0)
        r = f32[] reduce(c, zero), dimensions={0}, to_apply=add
        g = f32[] add(f, r)
        ROOT t = (s32[], f32[8], f32[2], f32[]) tuple(j, c, d, g)
      }
      ENTRY e {
        i = s32[] constant(0)
        a = f32[8] parameter(0)
        b = f32[2] parameter(1)
        f = f32[] constant(0)
        t = (s32[], f32[8], f32[2], f32[]) tuple(i, a, b, f)
        ROOT w = (s32[], f32[8], f32[2], f32[]) while(t), condition=more, body=body })"},
    // Kernels that are called, not inlined, some of them on all threads.
    {"large_kernels", R"(
      HloModule m
      more {
        p = (s32[], f32[400,300], f32[300,400]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(5)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      body {
        p = (s32[], f32[400,300], f32[300,400]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[400,300] get-tuple-element(p), index=1
        b = f32[300,400] get-tuple-element(p), index=2
        one = s32[] constant(1)
        j = s32[] add(i, one)
        f = f32[] convert(j)
        g = f32[300,400] broadcast(f), dimensions={}
        x = f32[400,300] transpose(b), dimensions={1,0}
        h = f32[400,300] tanh(x)
        y = f32[300,400] transpose(a), dimensions={1,0}
        z = f32[300,400] multiply(y, g)
        ROOT t = (s32[], f32[400,300], f32[300,400]) tuple(j, h, z)
      }
      ENTRY e {
        i = s32[] constant(0)
        a = f32[400,300] parameter(0)
        b = f32[300,400] parameter(1)
        t = (s32[], f32[400,300], f32[300,400]) tuple(i, a, b)
        ROOT w = (s32[], f32[400,300], f32[300,400]) while(t), condition=more, body=body })"},
    // A product by the library keeps the outer loop with the run loop, not the inner one.
    {"around_a_library_call", R"(
      HloModule m
      inner_more {
        p = (s32[], f32[128,128]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(3)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      inner {
        p = (s32[], f32[128,128]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[128,128] get-tuple-element(p), index=1
        one = s32[] constant(1)
        j = s32[] add(i, one)
        b = f32[128,128] reverse(a), dimensions={0}
        ROOT t = (s32[], f32[128,128]) tuple(j, b)
      }
      more {
        p = (s32[], f32[128,128]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        n = s32[] constant(2)
        ROOT c = pred[] compare(i, n), direction=LT
      }
      body {
        p = (s32[], f32[128,128]) parameter(0)
        i = s32[] get-tuple-element(p), index=0
        a = f32[128,128] get-tuple-element(p), index=1
        one = s32[] constant(1)
        nil = s32[] constant(0)
        j = s32[] add(i, one)
        b = f32[128,128] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        s = (s32[], f32[128,128]) tuple(nil, b)
        w = (s32[], f32[128,128]) while(s), condition=inner_more, body=inner
        c = f32[128,128] get-tuple-element(w), index=1
        ROOT t = (s32[], f32[128,128]) tuple(j, c)
      }
      ENTRY e {
        i = s32[] constant(0)
        a = f32[128,128] parameter(0)
        t = (s32[], f32[128,128]) tuple(i, a)
        ROOT w = (s32[], f32[128,128]) while(t), condition=more, body=body })",
     1, 1},
};

Module ModuleOf(const Case& c) {
  auto module = ParseModule(c.text, c.name);
  EXPECT_TRUE(module.ok()) << module.error().message;
  return module.ok() ? std::move(*module) : Module{};
}

class NativeLoops : public ::testing::TestWithParam<Case> {};

TEST_P(NativeLoops, AgreeWithTheReference) {
  const Module module = ModuleOf(GetParam());
  if (HasFailure()) return;
  EXPECT_EQ(EnginesDisagree(module, InputsOf(module)), "");
}

void CountLoops(const Program& program, int& native, int& interpreted) {
  for (const Step& step : program.steps) {
    if (std::holds_alternative<NativeStep>(step)) ++native;
    if (const auto* loop = std::get_if<WhileStep>(&step)) {
      ++interpreted;
      CountLoops(*loop->condition, native, interpreted);
      CountLoops(*loop->body, native, interpreted);
    }
  }
}

TEST_P(NativeLoops, AreTheOutermostWithoutLibraryCalls) {
  const Module module = ModuleOf(GetParam());
  if (HasFailure()) return;
  const CompileOptions options = OptionsOf(Engine::kOn);
  auto problem = PrepareOn(module, options);
  ASSERT_TRUE(problem.ok()) << problem.error().message;
  Config config = problem->config;
  for (auto& [id, line] : config.schedules) line.schedule.use_library = true;
  auto kernels = KernelSet::Create(options.target);
  ASSERT_TRUE(kernels.ok());
  ProgramBuilder builder(problem->module, config, options.residents, false, **kernels);
  ASSERT_TRUE(builder.Build().ok());
  ASSERT_TRUE((*kernels)->Compile(1).ok());
  const ProgramSet set = builder.Finish();
  Program& entry = *set.programs[problem->module.entry.index];
  ASSERT_TRUE(CompileLoops(entry, 1, **kernels).ok());
  int native = 0, interpreted = 0;
  CountLoops(entry, native, interpreted);
  EXPECT_EQ(native, GetParam().native);
  EXPECT_EQ(interpreted, GetParam().interpreted);
}

INSTANTIATE_TEST_SUITE_P(All, NativeLoops, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace fusemark
