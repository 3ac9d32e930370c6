// Attention kernels: every spelling against the reference, as lowered and under many schedules, and
// what is refused.
#include <random>

#include "compiler/loops/knobs.h"
#include "compiler/loops/schedule_cpu.h"
#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

std::string Hlo(const std::string& body) {
  return R"(HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
ENTRY e {)" +
         body + "\n}";
}

// softmax of s[dims] along its last dimension.
std::string Softmax(const std::string& dims, const std::string& rows, const std::string& kept) {
  return "\n lo = f32[] constant(-inf)\n z = f32[] constant(0)\n m = f32[" + rows +
         "] reduce(s, lo), dimensions={" +
         std::to_string(std::count(dims.begin(), dims.end(), ',')) + "}, to_apply=max\n mb = f32[" +
         dims + "] broadcast(m), dimensions={" + kept + "}\n d = f32[" + dims +
         "] subtract(s, mb)\n e = f32[" + dims + "] exponential(d)\n" + " t = f32[" + rows +
         "] reduce(e, z), dimensions={" +
         std::to_string(std::count(dims.begin(), dims.end(), ',')) + "}, to_apply=add\n tb = f32[" +
         dims + "] broadcast(t), dimensions={" + kept + "}\n w = f32[" + dims + "] divide(e, tb)\n";
}

struct Case {
  const char* name;
  std::string body;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::vector<Case> Cases() {
  const std::string dots = R"(
  q = f32[2,70,6] parameter(0)
  k = f32[2,33,6] parameter(1)
  v = f32[2,33,20] parameter(2))";
  const std::string scores =
      " dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={2}";
  const std::string softmax = Softmax("2,70,33", "2,70", "0,1");
  const std::string output =
      " dot(w, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={1}";
  return {
      // 70 rows: a block and a rest.
      {"plain",
       dots + "\n s = f32[2,70,33]" + scores + softmax + " ROOT o = f32[2,70,20]" + output},
      {"scaled_and_masked", dots + R"(
  c = f32[] constant(0.25)
  cb = f32[2,70,33] broadcast(c), dimensions={}
  row = s32[70,33] iota(), iota_dimension=0
  col = s32[70,33] iota(), iota_dimension=1
  ge = pred[70,33] compare(row, col), direction=GE
  geb = pred[2,70,33] broadcast(ge), dimensions={1,2}
  low = f32[] constant(-1e9)
  lowb = f32[2,70,33] broadcast(low), dimensions={}
  p = f32[2,70,33])" + scores + R"(
  pc = f32[2,70,33] multiply(p, cb)
  s = f32[2,70,33] select(geb, pc, lowb))" +
                                softmax + " ROOT o = f32[2,70,20]" + output},
      {"weights_on_the_right",
       dots + "\n s = f32[2,70,33]" + scores + softmax +
           " ROOT o = f32[2,20,70] dot(v, w), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
           "rhs_batch_dims={0}, rhs_contracting_dims={2}"},
      {"stored_in_another_order",
       dots + "\n s = f32[2,70,33]" + scores + softmax + " o = f32[2,70,20]" + output +
           "\n ot = f32[70,2,20] transpose(o), dimensions={1,0,2}\n"
           " of = f32[70,40] reshape(ot)\n ob = bf16[70,40] convert(of)\n"
           " ROOT on = bf16[70,40] negate(ob)"},
      {"heads_inside",
       R"(
  q = f32[70,2,6] parameter(0)
  k = f32[33,2,6] parameter(1)
  v = f32[33,2,20] parameter(2)
  s = f32[2,70,33] dot(q, k), lhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={2})" +
           softmax +
           " ROOT o = f32[2,70,20] dot(w, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
           "rhs_batch_dims={1}, rhs_contracting_dims={0}"},
      // Three heads share one set of keys.
      {"grouped_heads",
       R"(
  q = f32[2,3,17,6] parameter(0)
  k = f32[2,6,33] parameter(1)
  v = f32[2,33,4] parameter(2)
  s = f32[2,3,17,33] dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_batch_dims={0}, rhs_contracting_dims={1})" +
           Softmax("2,3,17,33", "2,3,17", "0,1,2") +
           " ROOT o = f32[2,3,17,4] dot(w, v), lhs_batch_dims={0}, lhs_contracting_dims={3}, "
           "rhs_batch_dims={0}, rhs_contracting_dims={1}"},
      {"no_batch_one_column",
       R"(
  q = f32[9,1] parameter(0)
  k = f32[5,1] parameter(1)
  v = f32[5,1] parameter(2)
  s = f32[9,5] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1})" +
           Softmax("9,5", "9", "0") +
           " ROOT o = f32[9,1] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"narrow_operands", R"(
  q = bf16[70,8] parameter(0)
  k = bf16[16,8] parameter(1)
  v = bf16[16,16] parameter(2)
  s = f32[70,16] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1})" +
                              Softmax("70,16", "70", "0") +
                              " n = bf16[70,16] convert(w)\n ROOT o = f32[70,16] dot(n, v), "
                              "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
  };
}

LowerRequest Request(const Module& module) {
  LowerRequest request{.module = &module, .computation = module.entry};
  request.klass = KernelClass::kAttention;
  request.roots = {module.Entry().root};
  for (uint32_t i = 0; i < module.Entry().instrs.size(); ++i) {
    const Op op = module.Entry().instrs[i].op;
    if (i != module.Entry().root.index && op != Op::kParameter && op != Op::kConstant)
      request.members.push_back({i});
  }
  return request;
}

class LowerAttention : public testing::TestWithParam<Case> {};

TEST_P(LowerAttention, GivesWhatTheReferenceGives) {
  const std::string text =
      LowerFused(Hlo(GetParam().body), {.klass = KernelClass::kAttention, .tolerance = 1e-5});
  // The scores are computed once, in the first product.
  size_t sums = 0;
  for (size_t at = text.find("fma("); at != std::string::npos; at = text.find("fma(", at + 1))
    ++sums;
  EXPECT_LE(sums, 4U) << text;
}

TEST_P(LowerAttention, EveryScheduleKeepsTheResults) {
  const Module module = MustParseHlo(Hlo(GetParam().body));
  const auto lowered = Lower(Request(module));
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  const Values values(module, 7);
  const auto want = RunLowered(*lowered, values.values);
  ASSERT_TRUE(want.ok()) << want.error().message;
  std::mt19937 random(3);
  for (int i = 0; i < 12; ++i) {
    Schedule schedule;
    for (const Knob* knob : KnobsOf(KernelClass::kAttention, Numerics::kReassociates)) {
      if (i > 0) knob->Set(schedule, knob->domain[random() % knob->domain.size()]);
    }
    Target target;
    target.threads = 2;
    target.vector_registers = i % 2 == 0 ? 32 : 16;
    Lowered scheduled = *lowered;
    const auto kernel = ApplySchedule(lowered->kernel, schedule, target, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    scheduled.kernel = *kernel;
    const std::string text = Print(*kernel);
    const auto proved = Verify(*kernel);
    ASSERT_TRUE(proved.ok()) << proved.error().message << "\n" << text;
    const auto got = RunLowered(scheduled, values.values);
    ASSERT_TRUE(got.ok()) << got.error().message << "\n" << text;
    ASSERT_EQ(Difference((*got)[0], (*want)[0], 1e-5), "") << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Spellings, LowerAttention, testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LowerAttentionRefusals, SayWhatIsMissing) {
  const std::string dots = R"(
  q = f32[16,16] parameter(0)
  k = f32[16,16] parameter(1)
  p = f32[16,16] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1})";
  const std::string softmax = Softmax("16,16", "16", "0");
  const std::string output =
      " ROOT o = f32[16,16] dot(w, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string squares =
      " ROOT o = f32[16,16] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string columns =
      " ROOT o = f32[16,16] dot(w, k), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  const std::string reversed = "\n s = f32[16,16] transpose(p), dimensions={1,0}";
  const std::string same = "\n s = f32[16,16] negate(p)";
  struct Bad {
    std::string body, why;
  };
  for (const Bad& bad :
       {Bad{dots + same + softmax + squares, "one operand of the second dot"},
        Bad{dots + same + softmax + columns, "does not sum along the rows"},
        Bad{dots + reversed + softmax + output, "not done row by row"},
        Bad{dots + same + softmax + " ROOT o = f32[16,16] negate(w)", "two dots"}}) {
    const Module module = MustParseHlo(Hlo(bad.body));
    const auto lowered = Lower(Request(module));
    ASSERT_FALSE(lowered.ok()) << bad.why;
    EXPECT_NE(lowered.error().message.find(bad.why), std::string::npos) << lowered.error().message;
  }
}

TEST(LowerAttentionRefusals, KeysThatDoNotFitLocalMemory) {
  const Module module = MustParseHlo(Hlo(R"(
  q = f32[64,64] parameter(0)
  k = f32[4096,64] parameter(1)
  v = f32[4096,64] parameter(2)
  s = f32[64,4096] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1})" +
                                         Softmax("64,4096", "64", "0") + R"(
  ROOT o = f32[64,64] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0})"));
  const auto lowered = Lower(Request(module));
  ASSERT_FALSE(lowered.ok());
  EXPECT_NE(lowered.error().message.find("local memory"), std::string::npos);
}

}  // namespace
}  // namespace fusemark::loops
