// Products of narrow types as they are scheduled, on every level of instructions that this machine
// has, against the interpreter's run of the unscheduled kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/primitives.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/verify.h"
#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

struct Product {
  const char *left, *right, *sum;
  int64_t m, n, k;
  bool left_across = false, right_along = false;  // [k, m] for [m, k]; [n, k] for [k, n]
};

std::string TextOf(const Product& p) {
  const std::string left =
      p.left_across ? fmt::format("{},{}", p.k, p.m) : fmt::format("{},{}", p.m, p.k);
  const std::string right =
      p.right_along ? fmt::format("{},{}", p.n, p.k) : fmt::format("{},{}", p.k, p.n);
  const std::string a = p.left_across ? "k0, i0" : "i0, k0",
                    b = p.right_along ? "i1, k0" : "k0, i1";
  const bool floats = std::string_view(p.sum) == "f32";
  const std::string x = fmt::format("{}(%a[{}])", p.sum, a),
                    y = fmt::format("{}(%b[{}])", p.sum, b);
  const std::string added =
      floats ? fmt::format("fma({}, {}, %acc[])", x, y) : fmt::format("%acc[] + {} * {}", x, y);
  return fmt::format(R"(kernel @product class=contraction
  operand %a: {}[{}]
  operand %b: {}[{}]
  result %r: {}[{},{}]
{{
  for i0 in {} {{
    for i1 in {} {{
      alloc %acc: {}[] register
      %acc[] = 0:{}
      for k0 in {} reduces {{ %acc[] = {} }}
      %r[i0, i1] = %acc[]
    }}
  }}
}}
)",
                     p.left, left, p.right, right, p.sum, p.m, p.n, p.m, p.n, p.sum, p.sum, p.k,
                     added);
}

// Every pattern of bits for integers, with more than their share of the ends of the range; of bf16
// and f16 small numbers and denormals.
TestBuffer Filled(const loops::Buffer& buffer, uint32_t seed) {
  std::mt19937 random(seed);
  TestBuffer bytes(BytesOf(buffer));
  const auto size = static_cast<size_t>(ByteSize(buffer.dtype));
  for (size_t i = 0; i < bytes.size(); i += size) {
    uint32_t value = random();
    if (IsFloat(buffer.dtype)) {
      value = value % 8 == 0 ? value & 0x807F : 0x3000 | (value & 0x8FFF);
    } else if (value % 4 == 0) {
      value = random() % 2 == 0 ? 0x80808080 : 0x7F7F7F7F;
    }
    std::memcpy(bytes.data() + i, &value, size);
  }
  return bytes;
}

std::vector<loops::Target> Targets() {
  std::vector<loops::Target> targets = {HostTarget()};
  for (const char* cpu : {"x86-64-v4", "x86-64-v3", "x86-64"}) {
    if (auto target = TargetForCpu(cpu); target.ok()) targets.push_back(*target);
  }
  for (loops::Target& target : targets) target.threads = 1;
  return targets;
}

void ExpectSameOnEveryTarget(const Product& product) {
  const auto kernel = loops::Parse(TextOf(product));
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<TestBuffer> operands;
  for (const loops::BufferId id : kernel->operands)
    operands.push_back(Filled((*kernel)[id], id.index + 1));
  const auto expected = RunInterpreter(*kernel, operands);
  for (const loops::Target& target : Targets()) {
    SCOPED_TRACE(fmt::format("{} {} {} m={} n={} k={} {}", product.left, product.right, product.sum,
                             product.m, product.n, product.k, target.cpu));
    const auto scheduled = loops::ApplySchedule(*kernel, {}, target);
    ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
    const auto verified = loops::Verify(*scheduled);
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    auto jit = Jit::Create(target);
    ASSERT_TRUE(jit.ok()) << jit.error().message;
    const auto results = RunJit(*scheduled, operands, **jit);
    ASSERT_EQ(std::memcmp(results[0].data(), expected[0].data(), expected[0].size()), 0);
  }
}

TEST(NarrowProduct, SumsOfBytesAreExact) {
  for (const char* left : {"s8", "u8"}) {
    for (const char* right : {"s8", "u8"}) {
      for (const char* sum : {"s32", "u32"}) {
        ExpectSameOnEveryTarget({left, right, sum, 17, 64, 20});
        ExpectSameOnEveryTarget({left, right, sum, 13, 37, 23});
      }
    }
  }
}

TEST(NarrowProduct, SumsOfWordsAreExact) {
  ExpectSameOnEveryTarget({"s16", "s16", "s32", 17, 64, 20});
  ExpectSameOnEveryTarget({"s16", "s16", "s32", 9, 50, 7});
}

TEST(NarrowProduct, ShapesAndOrders) {
  for (const int64_t k : {1, 2, 3, 4, 5, 64, 127}) {
    ExpectSameOnEveryTarget({"s8", "s8", "s32", 12, 32, k});
    ExpectSameOnEveryTarget({"u8", "s8", "s32", 12, 33, k});
  }
  for (const bool left_across : {false, true}) {
    for (const bool right_along : {false, true}) {
      ExpectSameOnEveryTarget({"s8", "s8", "s32", 30, 80, 26, left_across, right_along});
    }
    ExpectSameOnEveryTarget({"bf16", "bf16", "f32", 30, 80, 26, left_across});
  }
}

// Converted once and added up in the same order: not a bit differs.
TEST(NarrowProduct, FloatsKeepEveryBit) {
  for (const char* type : {"bf16", "f16"}) {
    ExpectSameOnEveryTarget({type, type, "f32", 17, 64, 64});
    ExpectSameOnEveryTarget({type, type, "f32", 29, 70, 31});
    ExpectSameOnEveryTarget({"f32", type, "f32", 16, 64, 40});
  }
}

TEST(NarrowProduct, GroupsBecomeOneInstruction) {
  const loops::Target host = HostTarget();
  if (host.byte_group != 4 || host.vector_bytes != 64) GTEST_SKIP() << "no AVX-512 VNNI";
  const auto kernel = loops::Parse(TextOf({"s8", "s8", "s32", 24, 64, 32}));
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto scheduled = loops::ApplySchedule(*kernel, {}, host);
  ASSERT_TRUE(scheduled.ok()) << scheduled.error().message;
  const auto text = Jit::EmitText(*scheduled, host, Jit::Emit::kAssembly);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_NE(text->find("vpdpbusd"), std::string::npos);
  EXPECT_EQ(text->find("vpmulld"), std::string::npos);
}

}  // namespace
}  // namespace fusemark
