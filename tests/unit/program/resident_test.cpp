// Resident parameters: bound once, whatever depends on them alone is computed then; results are
// those of the reference all the same.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/text/text.h"
#include "tests/unit/passes/random_module.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

// Weights of a library product, of a convolution, and values computed from weights alone.
constexpr char kNet[] = R"(HloModule net
ENTRY main {
  x = f32[1,14,14,64] parameter(0)
  w = f32[3,3,64,128] parameter(1)
  scale = f32[128] parameter(2)
  v = f32[96,128] parameter(3)
  scales = f32[3,3,64,128] broadcast(scale), dimensions={3}
  ws = f32[3,3,64,128] multiply(w, scales)
  c = f32[1,14,14,128] convolution(x, ws), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  flat = f32[196,128] reshape(c)
  vt = f32[128,96] transpose(v), dimensions={1,0}
  ve = f32[128,96] tanh(vt)
  ROOT d = f32[196,96] dot(flat, ve), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";

constexpr char kUpdated[] = R"(HloModule updated
ENTRY main {
  x = f32[2,8] parameter(0)
  i = s32[] parameter(1)
  table = f32[16,8] parameter(2)
  two = f32[] constant(2)
  twos = f32[16,8] broadcast(two), dimensions={}
  doubled = f32[16,8] multiply(table, twos)
  zero = s32[] constant(0)
  ROOT u = f32[16,8] dynamic-update-slice(doubled, x, i, zero)
})";

// Weights larger than the panel of any cache; those of one product have columns that no tile
// divides, those of the other two are the same ones.
constexpr char kBlocked[] = R"(HloModule blocked
ENTRY main {
  x = f32[50,512] parameter(0)
  w = f32[512,640] parameter(1)
  v = f32[640,513] parameter(2)
  y = f32[21,512] parameter(3)
  d = f32[50,640] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[50,640] tanh(d)
  e = f32[50,513] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[50,513] tanh(e)
  g = f32[21,640] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[21,640] tanh(g)
  ROOT out = (f32[50,513], f32[21,640]) tuple(f, h)
})";

constexpr char kReturned[] = R"(HloModule returned
ENTRY main {
  x = f32[8] parameter(0)
  w = f32[8] parameter(1)
  e = f32[8] exponential(w)
  s = f32[8] add(e, x)
  ROOT out = (f32[8], f32[8], f32[8]) tuple(e, s, w)
})";

Module Parsed(const char* text) {
  auto module = ParseModule(text, "test");
  FM_CHECK(module.ok(), module.error().message);
  return std::move(*module);
}

std::vector<const void*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<const void*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(tensor.data.get());
  return pointers;
}

std::unique_ptr<Executable> Compiled(const Module& module, std::vector<int64_t> residents,
                                     int threads = 2) {
  CompileOptions options = OptionsOf(Engine::kOn, threads);
  options.residents = std::move(residents);
  auto executable = Compile(module, options);
  FM_CHECK(executable.ok(), executable.error().message);
  return std::move(*executable);
}

void ExpectRight(Executable& executable, const Module& module, const std::vector<Tensor>& inputs) {
  const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
  ASSERT_TRUE(want.ok());
  const auto got = RunOnce(executable, module, inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(Difference(*got, *want), "");
}

// The inputs of `seed`, those in `residents` from `resident_seed`.
std::vector<Tensor> Mixed(const Module& module, const std::vector<int64_t>& residents,
                          uint64_t seed, uint64_t resident_seed) {
  std::vector<Tensor> inputs = InputsOf(module, seed), other = InputsOf(module, resident_seed);
  for (const int64_t resident : residents) {
    std::swap(inputs[static_cast<size_t>(resident)], other[static_cast<size_t>(resident)]);
  }
  return inputs;
}

void ExpectRightThroughout(const char* text, const std::vector<int64_t>& residents) {
  const Module module = Parsed(text);
  const auto executable = Compiled(module, residents);
  {
    SCOPED_TRACE("not bound yet");
    ExpectRight(*executable, module, InputsOf(module, 1));
    ExpectRight(*executable, module, InputsOf(module, 2));
  }
  for (const uint64_t resident_seed : {3, 4}) {
    SCOPED_TRACE("bound to " + std::to_string(resident_seed));
    ASSERT_TRUE(executable->Bind(Pointers(Mixed(module, residents, 9, resident_seed))).ok());
    for (const uint64_t seed : {5, 6}) {
      ExpectRight(*executable, module, Mixed(module, residents, seed, resident_seed));
    }
  }
}

TEST(Residents, WeightsArePackedAndComputedOnce) {
  ExpectRightThroughout(kNet, {1, 2, 3});
  const Module module = Parsed(kNet);
  EXPECT_LT(Compiled(module, {1, 2, 3})->Stats().kernels, Compiled(module, {})->Stats().kernels);
}

TEST(Residents, AreBlockedOnceForAllProducts) {
  ExpectRightThroughout(kBlocked, {1, 2});
  const Module module = Parsed(kBlocked);
  const int64_t plain = Compiled(module, {})->Stats().peak_arena_bytes;
  const int64_t kept = Compiled(module, {1, 2})->Stats().peak_arena_bytes - plain;
  const int64_t weights = 512 * 640 * 4;
  EXPECT_GE(kept, weights);
  EXPECT_LT(kept, 2 * weights);
}

TEST(Residents, AreNotUpdatedInPlace) {
  ExpectRightThroughout(kUpdated, {2});
}

TEST(Residents, MayBeResults) {
  ExpectRightThroughout(kReturned, {1});
}

TEST(Residents, AllOfThemLeaveTheWork) {
  const Module module = Parsed(kNet);
  const auto executable = Compiled(module, {0, 1, 2, 3});
  EXPECT_EQ(executable->Stats().kernels, Compiled(module, {})->Stats().kernels);
  ExpectRightThroughout(kNet, {0, 1, 2, 3});
}

TEST(Residents, OfRandomModules) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Module random = RandomModule(seed, true).Make();
    // The unbound run shows what this module makes of narrow floats.
    const std::vector<Tensor> inputs = InputsOf(random, seed);
    const auto plain = RunOnce(*Compiled(random, {}, 1), random, inputs);
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    const auto count = static_cast<int64_t>(random.Entry().parameters.size());
    std::vector<int64_t> residents;
    for (int64_t i = 0; i < count; ++i) {
      if (((seed >> i) & 1) != 0) residents.push_back(i);
    }
    const auto executable = Compiled(random, residents, 1);
    ASSERT_TRUE(executable->Bind(Pointers(inputs)).ok());
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto got = RunOnce(*executable, random, inputs);
      ASSERT_TRUE(got.ok()) << got.error().message;
      EXPECT_EQ(Difference(*got, *plain, 1e-6), "");
    }
  }
}

}  // namespace
}  // namespace fusemark
