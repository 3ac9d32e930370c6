// Whole kernels, written as loop text, compiled and interpreted: the results must be equal bit for
// bit. The kernels use no transcendental operation, so there is no tolerance.
#include <algorithm>
#include <random>

#include "compiler/ir/number.h"
#include "compiler/loops/parse.h"
#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

using loops::Kernel;

#if defined(__x86_64__)
constexpr bool kOnX86 = true;
#else
constexpr bool kOnX86 = false;
#endif

struct KernelCase {
  const char* name;
  const char* text;
};

// clang-format off
const KernelCase kCases[] = {
{"MaskedStoreAndLoad", R"(kernel @k class=loop
  operand %x: f32[13]
  result %y: f32[16]
{
  for i in 16 vector {
    if (i < 13) {
      %y[i] = %x[i] * 2:f32
    } else {
      %y[i] = -1:f32
    }
  }
})"},
{"NestedMasksAndUniformConditions", R"(kernel @k class=loop
  operand %x: f32[4,32]
  operand %n: s32[4]
  result %y: f32[4,32]
{
  for r in 4 parallel {
    for i in 32 vector {
      %y[r, i] = 0:f32
      if (s64(%n[r]) > 0) {
        if (i < 20) {
          let t: f32 = %x[r, i] + 1:f32
          if (t > 0:f32) {
            %y[r, i] = t
          } else {
            %y[r, i] = %x[r, 3] - t
          }
        }
      }
    }
  }
})"},
{"MaskedNarrowTypes", R"(kernel @k class=loop
  operand %b: bf16[19]
  operand %p: pred[19]
  operand %s: s8[19]
  operand %q: s4[19]
  result %rb: bf16[24]
  result %rp: pred[24]
  result %rs: s8[24]
  result %rq: s4[24]
{
  for i in 24 vector {
    %rb[i] = bf16(0:f32)
    %rp[i] = false
    %rs[i] = 7:s8
    %rq[i] = 1:s4
    if (i < 19) {
      %rb[i] = bf16(f32(%b[i]) * 3:f32)
      %rp[i] = not(%p[i])
      %rs[i] = %s[i] + 100:s8
      %rq[i] = %q[i] * 3:s4
    }
  }
})"},
{"MaskedGatherAndScatter", R"(kernel @k class=loop
  operand %x: f32[7,5]
  result %y: f32[64]
{
  for i in 64 { %y[i] = 0:f32 }
  for j in 9 vector {
    if (j < 7) {
      %y[j * 3 + 1] = %x[j, 2] - %x[6 - j, 4]
    }
  }
})"},
{"StridesOfEverySign", R"(kernel @k class=loop
  operand %x: f64[40]
  result %y: f64[40]
  result %z: f64[8]
{
  for i in 13 vector { %y[39 - i * 3] = %x[39 - i] + %x[i * 2] + %x[7] }
  for i in 1 { for j in 27 { %y[j + j / 2] = %x[j] } }
  for i in 8 vector { %z[i] = %x[i * 5] }
})"},
{"DataDependentGather", R"(kernel @k class=update
  operand %table: f32[10,6]
  operand %row: s32[24]
  result %y: f32[24,6]
  result %z: f32[24]
{
  for r in 24 parallel {
    let at: s64 = minimum(maximum(s64(%row[r]), 0), 9)
    for c in 6 vector { %y[r, c] = %table[at, c] }
  }
  for r in 3 parallel {
    for v in 8 vector {
      let at: s64 = minimum(maximum(s64(%row[r * 8 + v]), 0), 9)
      %z[r * 8 + v] = %table[at, (r + v) % 6]
    }
  }
})"},
{"DivisionAndRemainderOfIndices", R"(kernel @k class=loop
  operand %x: f32[4,6,8]
  result %y: f32[192]
  result %z: s64[192]
{
  for i in 24 parallel {
    for v in 8 vector {
      let e: s64 = i * 8 + v
      %y[e] = %x[e % 4, e / 32, (e / 4) % 8]
      %z[e] = e / 7 - (e % 5) * 3 + maximum(minimum(e - 90, 17), -4)
    }
  }
})"},
{"IotaLikeValues", R"(kernel @k class=loop
  result %f: f32[33]
  result %h: bf16[33]
  result %d: f64[33]
  result %i: s32[33]
  result %b: s8[33]
  result %u: u64[33]
{
  for i in 3 parallel {
    for v in 11 vector {
      let e: s64 = i * 11 + v
      %f[e] = f32(e * 1000003)
      %h[e] = bf16(e * 77)
      %d[e] = f64(e - 5)
      %i[e] = s32(e * e)
      %b[e] = s8(e * 9)
      %u[e] = u64(e - 3)
    }
  }
})"},
{"PrivateArraysOfLanes", R"(kernel @k class=reduce
  operand %x: f32[20,16]
  result %y: f32[16]
  result %z: f32[16]
{
  for j in 16 vector {
    alloc %acc: f32[] register
    alloc %seen: f32[3] stack
    %acc[] = 0:f32
    %seen[0] = 0:f32
    %seen[1] = 0:f32
    %seen[2] = 0:f32
    for k in 20 reduces {
      let t: f32 = %x[k, j]
      if (t > 0:f32) {
        %acc[] = %acc[] + t
      } else {
        %seen[(k + j) % 3] = t
      }
      %seen[k % 3] = %seen[k % 3] - t
    }
    %y[j] = %acc[]
    %z[j] = %seen[0] + %seen[1] * %seen[2]
  }
})"},
{"RowReductionWithLaneAccumulators", R"(kernel @k class=reduce
  operand %x: f32[5,64]
  result %y: f32[5]
{
  for r in 5 parallel {
    alloc %acc: f32[2,8] register
    for u in 2 unroll { for v in 8 vector { %acc[u, v] = -inf:f32 } }
    for k in 4 reduces {
      for u in 2 unroll {
        for v in 8 vector { %acc[u, v] = maximum(%acc[u, v], %x[r, k * 16 + u * 8 + v]) }
      }
    }
    for v in 8 vector { %acc[0, v] = maximum(%acc[0, v], %acc[1, v]) }
    for v in 4 vector { %acc[0, v] = maximum(%acc[0, v], %acc[0, v + 4]) }
    for v in 2 vector { %acc[0, v] = maximum(%acc[0, v], %acc[0, v + 2]) }
    %y[r] = maximum(%acc[0, 0], %acc[0, 1])
  }
})"},
{"RegisterTileOfContraction", R"(kernel @k class=contraction
  operand %a: f32[12,20]
  operand %b: f32[20,32]
  result %c: f32[12,32]
{
  for mi in 2 parallel {
    for nj in 2 {
      alloc %acc: f32[6,16] register
      for m in 6 unroll { for n in 2 unroll { for v in 8 vector { %acc[m, n * 8 + v] = 0:f32 } } }
      for k in 20 reduces {
        for m in 6 unroll {
          for n in 2 unroll {
            for v in 8 vector {
              %acc[m, n * 8 + v] = fma(%a[mi * 6 + m, k], %b[k, nj * 16 + n * 8 + v], %acc[m, n * 8 + v])
            }
          }
        }
      }
      for m in 6 unroll {
        for n in 2 unroll {
          for v in 8 vector {
            %c[mi * 6 + m, nj * 16 + n * 8 + v] = maximum(%acc[m, n * 8 + v], 0:f32)
          }
        }
      }
    }
  }
})"},
{"ScratchLivesAcrossPhases", R"(kernel @k class=reduce
  operand %x: s32[4,9]
  result %y: s32[]
  scratch %partial: s32[4]
  scratch %pad: u8[5]
  scratch %second: s64[4]
{
  for r in 4 parallel {
    %partial[r] = 0:s32
    for k in 9 reduces { %partial[r] = %partial[r] + %x[r, k] }
    %second[r] = s64(%partial[r]) * 2
    %pad[r] = 1:u8
  }
  %y[] = 0:s32
  for r in 4 reduces { %y[] = %y[] + %partial[r] + s32(%second[r]) + s32(%pad[r]) }
})"},
{"SelectsAndComparesOfMixedShape", R"(kernel @k class=loop
  operand %p: pred[6]
  operand %x: s16[6,11]
  operand %lo: s16[]
  result %y: s16[6,11]
  result %q: pred[6,11]
{
  for r in 6 parallel {
    for v in 11 vector {
      let t: s16 = select(%p[r], %x[r, v], %lo[])
      %y[r, v] = select(v < r + 3, t, 5:s16)
      %q[r, v] = and(t >= %lo[], or(%p[r], r * 2 == v))
    }
  }
})"},
{"VectorLoopsInsideVectorLoopsRunInOrder", R"(kernel @k class=loop
  operand %x: f32[8,4]
  result %y: f32[8,4]
{
  for i in 8 vector { for j in 4 vector { %y[i, j] = %x[i, 3 - j] + 1:f32 } }
})"},
{"LongVectorLoopsRunInChunks", R"(kernel @k class=loop
  operand %x: f32[1000]
  result %y: f32[1000]
  result %z: f32[128]
{
  for i in 1000 vector { %y[i] = %x[999 - i] + f32(i) }
  for i in 128 vector { %z[i] = %x[i] }
})"},
// Squares: the lanes are rows, each iteration a column.
{"SquareOfSingles", R"(kernel @k class=loop
  operand %x: f32[3,40,35]
  operand %w: f32[35,40]
  result %y: f32[3,35,40]
{
  for b in 3 {
    for io in 2 {
      for jo in 2 {
        for i in 16 unroll {
          for j in 16 vector {
            let a: f32 = %x[b, jo * 24 + j, io * 16 + i + 3]
            let c: f32 = a * 2:f32 + %w[io * 16 + i + 3, jo * 24 + j]
            %y[b, io * 16 + i + 3, jo * 24 + j] = c - %x[b, jo * 24 + j, io * 16 + i + 2]
          }
        }
      }
    }
  }
})"},
{"SquaresOfOtherTypes", R"(kernel @k class=loop
  operand %d: f64[8,8]
  operand %h: bf16[16,20]
  operand %c: s8[4,9]
  operand %p: pred[8,8]
  result %yd: f64[8,8]
  result %yh: f32[16,16]
  result %yc: s8[4,4]
  result %yp: pred[8,8]
{
  for i in 8 unroll { for j in 8 vector { %yd[i, j] = %d[j, i] } }
  for i in 16 unroll { for j in 16 vector { %yh[i, j] = f32(%h[j, i + 4]) } }
  for i in 4 unroll { for j in 4 vector { %yc[i, j] = %c[j, i + 5] } }
  for i in 8 unroll { for j in 8 vector { %yp[i, j] = %p[j, i] } }
})"},
{"SquaresThatAreNone", R"(kernel @k class=loop
  operand %x: f32[16,70]
  operand %n: s32[16]
  operand %s: f32[16,16]
  result %y: f32[16,16]
  result %z: f32[16,16]
  result %u: f32[16,16]
  result %v: f32[16,16]
{
  for i in 16 unroll { for j in 16 vector { %y[i, j] = %x[j, i * 2] } }
  for i in 16 unroll {
    for j in 16 vector {
      let m: s64 = s64(%n[i]) + 10
      let c: s64 = minimum(maximum(m, 0), 40)
      %z[i, j] = %x[j, c + i]
    }
  }
  for i in 16 unroll { for j in 16 vector { %u[i, j] = %x[j, (i + 5) / 4 + i] } }
  for i in 16 unroll { for j in 16 vector { if (j > i) { %v[i, j] = %s[j, i] } else { %v[i, j] = 1:f32 } } }
})"},
{"ScalarKernelWithoutLoops", R"(kernel @k class=loop
  operand %x: f32[]
  operand %n: u8[]
  result %y: f64[]
{
  if (%n[] > 100:u8) { %y[] = f64(%x[]) } else { %y[] = negate(f64(%x[])) }
})"},
{"EmptyLoops", R"(kernel @k class=loop
  result %y: f32[4]
{
  for i in 4 { %y[i] = 1:f32 }
  for i in 0 vector { %y[i] = 2:f32 }
  for i in 1 vector { %y[i + 2] = 3:f32 }
})"},
};
// clang-format on

TestBuffer RandomBuffer(const loops::Buffer& buffer, uint64_t seed) {
  std::mt19937_64 random(seed);
  TestBuffer data(BytesOf(buffer));
  const auto bytes = static_cast<size_t>(ByteSize(buffer.dtype));
  for (size_t i = 0; i < data.size() / bytes; ++i) {
    uint64_t bits = random();
    if (IsFloat(buffer.dtype)) {
      bits = FloatToBits(buffer.dtype,
                         static_cast<double>(static_cast<int64_t>(bits % 4001) - 2000) / 64);
    } else if (buffer.dtype == DType::kPred) {
      bits &= 1;
    } else if (BitWidth(buffer.dtype) < 8) {
      bits = static_cast<uint64_t>(static_cast<int64_t>(bits % 16) - 8);
    } else if (bytes >= 4) {
      bits = bits % 31 - 10;
    }
    std::memcpy(data.data() + i * bytes, &bits, bytes);
  }
  return data;
}

class CompiledKernels : public testing::TestWithParam<KernelCase> {};

TEST_P(CompiledKernels, EqualInterpreted) {
  const auto kernel = loops::Parse(GetParam().text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<TestBuffer> operands;
  for (const loops::BufferId id : kernel->operands)
    operands.push_back(RandomBuffer((*kernel)[id], 11 + id.index));
  const auto expected = RunInterpreter(*kernel, operands);
  const auto got = RunJit(*kernel, operands);
  for (size_t r = 0; r < got.size(); ++r) {
    const auto bytes = static_cast<size_t>(ByteSize((*kernel)[kernel->results[r]].dtype));
    for (size_t i = 0; i < got[r].size(); i += bytes) {
      ASSERT_EQ(std::memcmp(got[r].data() + i, expected[r].data() + i, bytes), 0)
          << "result " << r << " element " << i / bytes;
    }
  }
  for (const char* cpu : {"x86-64", "x86-64-v3"}) {
    const auto target = TargetForCpu(cpu);
    if (!target.ok()) continue;
    auto jit = Jit::Create(*target);
    ASSERT_TRUE(jit.ok());
    const auto other = RunJit(*kernel, operands, **jit);
    for (size_t r = 0; r < got.size(); ++r)
      EXPECT_EQ(std::memcmp(other[r].data(), expected[r].data(), expected[r].size()), 0) << cpu;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledKernels, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(CompiledKernel, UpdatesInPlace) {
  const auto kernel = loops::Parse(R"(kernel @k class=update
  operand %x: f32[16]
  operand %u: f32[4]
  result %y: f32[16] in_place_of=0
{
  for i in 4 vector { %y[i + 8] = %u[i] + %x[i] }
  for i in 4 vector { %y[i] = %x[i + 8] }
})");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  auto compiled = TestJit().Compile({&*kernel}, 1);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  std::vector<float> x(16), u(4, 100);
  for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  const TestBuffer shared = BufferOf(x), update = BufferOf(u);
  RunCompiled((*compiled)[0], {{shared.data(), update.data()}, {shared.data()}});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(shared.as<float>()[i + 8], 100 + static_cast<float>(i));
    EXPECT_EQ(shared.as<float>()[i], 100 + static_cast<float>(i));  // what phase one has written
  }
}

TEST(CompiledKernel, RefusesWhatACpuCannotRun) {
  const auto expect = [](const char* body, const char* message) {
    const auto kernel = loops::Parse(std::string("kernel @k class=loop\n  operand %x: f32[8]\n"
                                                 "  result %y: f32[8]\n{\n") +
                                     body + "\n}\n");
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const auto compiled = TestJit().Compile({&*kernel}, 1);
    ASSERT_FALSE(compiled.ok());
    EXPECT_THAT(compiled.error().message, testing::HasSubstr(message));
  };
  expect("for i in 2 block { for t in 4 thread { %y[i * 4 + t] = 1:f32 } }", "GPU loop");
  expect("barrier", "barrier");
  expect("for i in 8 vector { %y[0] = %x[i] }", "different values to one element of 'y'");
  expect("for i in 8 {\n alloc %big: f32[1000000] stack\n %big[i] = 1:f32\n %y[i] = %big[i] }",
         "bytes of stack at 'big'");
  expect("for i in 8 { for j in 100000 unroll { %y[i] = %x[i] } }", "unroll less");
}

// --- What the machine code looks like -----------------------------------------------------------

std::string GemmTile(int64_t rows, int64_t vectors, int64_t lanes) {
  const std::string m = std::to_string(rows), n = std::to_string(vectors),
                    l = std::to_string(lanes);
  const std::string width = std::to_string(vectors * lanes);
  const std::string loops =
      "for m in " + m + " unroll { for n in " + n + " unroll { for v in " + l + " vector { ";
  const std::string acc = "%acc[m, n * " + l + " + v]";
  return "kernel @gemm class=contraction\n  operand %a: f32[" + m +
         ",256]\n  operand %b: f32[256," + width + "]\n  result %c: f32[" + m + "," + width +
         "]\n{\n  alloc %acc: f32[" + m + "," + width + "] register\n" + loops + acc +
         " = 0:f32 } } }\n  for k in 256 reduces { " + loops + acc + " = fma(%a[m, k], %b[k, n * " +
         l + " + v], " + acc + ") } } } }\n" + loops + "%c[m, n * " + l + " + v] = " + acc +
         " } } }\n}\n";
}

struct Loop {
  int fma = 0;
  int stack = 0;
  int wide = 0;
};

// Counts in the basic block with the most fused multiply-adds.
Loop HottestBlock(const std::string& assembly) {
  Loop best, current;
  size_t begin = 0;
  while (begin < assembly.size()) {
    const size_t end = std::min(assembly.find('\n', begin), assembly.size());
    const std::string line = assembly.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && line[0] != '\t' && line.back() == ':') current = {};
    current.fma += line.find("vfmadd") != std::string::npos;
    current.stack +=
        line.find("(%rsp") != std::string::npos || line.find("(%rbp") != std::string::npos;
    current.wide += line.find("%zmm") != std::string::npos;
    if (current.fma > best.fma || (current.fma == best.fma && current.fma > 0)) best = current;
  }
  return best;
}

TEST(MachineCode, RegisterTilesStayInRegisters) {
  if (!kOnX86) GTEST_SKIP() << "not an x86-64 machine";
  struct Tile {
    const char* cpu;
    int64_t vector_bytes, rows, vectors, lanes;
  };
  for (const Tile& tile : {Tile{"x86-64-v3", 32, 6, 2, 8}, Tile{"x86-64-v3", 32, 4, 3, 8},
                           Tile{"x86-64-v4", 64, 14, 2, 16}, Tile{"x86-64-v4", 64, 8, 3, 16},
                           Tile{"znver3", 32, 6, 2, 8}, Tile{"skylake-avx512", 64, 14, 2, 16}}) {
    loops::Target target;
    target.cpu = tile.cpu;
    target.vector_bytes = tile.vector_bytes;
    const auto kernel = loops::Parse(GemmTile(tile.rows, tile.vectors, tile.lanes));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const auto assembly = Jit::EmitText(*kernel, target, Jit::Emit::kAssembly);
    ASSERT_TRUE(assembly.ok()) << assembly.error().message;
    const Loop loop = HottestBlock(*assembly);
    EXPECT_EQ(loop.fma, tile.rows * tile.vectors) << tile.cpu << "\n" << *assembly;
    EXPECT_EQ(loop.stack, 0) << tile.cpu << " " << tile.rows << "x" << tile.vectors;
    EXPECT_EQ(loop.wide > 0, tile.vector_bytes == 64) << tile.cpu;
  }
}

TEST(MachineCode, SquaresAreTurnedInRegisters) {
  if (!kOnX86) GTEST_SKIP() << "not an x86-64 machine";
  const auto kernel = loops::Parse(R"(kernel @k class=loop
  operand %x: f32[16,512]
  result %y: f32[512,16]
{
  for io in 32 { for i in 16 unroll { for j in 16 vector { %y[io * 16 + i, j] = %x[j, io * 16 + i] } } }
})");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  loops::Target target;
  target.cpu = "x86-64-v4";
  target.vector_bytes = 64;
  const auto assembly = Jit::EmitText(*kernel, target, Jit::Emit::kAssembly);
  ASSERT_TRUE(assembly.ok()) << assembly.error().message;
  for (const char* element_wise : {"vmovss", "vinsertps", "vpinsrd", "vgather"})
    EXPECT_EQ(assembly->find(element_wise), std::string::npos) << *assembly;
}

TEST(MachineCode, BaselineTargetHasNoAvx) {
  loops::Target target;
  target.cpu = "x86-64";
  const auto kernel = loops::Parse(GemmTile(2, 2, 4));
  const auto assembly = Jit::EmitText(*kernel, target, Jit::Emit::kAssembly);
  if (!assembly.ok()) GTEST_SKIP() << assembly.error().message;
  EXPECT_EQ(assembly->find("%ymm"), std::string::npos);
  EXPECT_NE(assembly->find("fmaf"), std::string::npos);
}

TEST(MachineCode, ArgumentsDoNotAlias) {
  const auto kernel = loops::Parse(R"(kernel @k class=loop
  operand %x: f32[1024]
  operand %s: f32[]
  result %y: f32[1024]
{
  for i in 1024 { %y[i] = %x[i] * %s[] }
})");
  const auto text = Jit::EmitText(*kernel, HostTarget(), Jit::Emit::kLlvm);
  ASSERT_TRUE(text.ok());
  // The load of %s leaves the loop only if stores to %y are known not to touch it.
  EXPECT_LT(text->find("load float"), text->find("loop"));
}

}  // namespace
}  // namespace fusemark
