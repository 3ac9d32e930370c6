// Complex arithmetic on planes against the reference interpreter's std::complex: every elementwise
// opcode over a grid of finite values that holds zeros of both signs, both axes, the unit circle
// and magnitudes where squares overflow f32.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>

#include "compiler/ir/verify.h"
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

std::vector<double> Parts(bool wide_range) {
  std::vector<double> parts = {0.0, -0.0, 1e-6, 0.25, -0.3, 0.6, 0.8, 1.0, -1.0, 1.5, -2.5, 3.0};
  if (wide_range) parts.insert(parts.end(), {30.0, -40.0, 3e19, -2e25, 1e-30});
  return parts;
}

template <class T>
Tensor Grid(DType dtype, bool transposed, bool wide_range) {
  const std::vector<double> parts = Parts(wide_range);
  const auto n = static_cast<int64_t>(parts.size());
  Tensor tensor = MakeTensor(ArrayShape(dtype, {n * n}));
  auto* values = tensor.as<std::complex<T>>();
  for (int64_t i = 0; i < n * n; ++i) {
    const auto a = static_cast<T>(parts[static_cast<size_t>(i / n)]);
    const auto b = static_cast<T>(parts[static_cast<size_t>((i * 7 + 3) % n)]);
    const auto c = static_cast<T>(parts[static_cast<size_t>(i % n)]);
    values[i] = transposed ? std::complex<T>(b, a) : std::complex<T>(a, c);
  }
  return tensor;
}

// Largest error over the modulus of the expected value; infinite where one is not finite alone.
template <class T>
double WorstError(const Tensor& got, const Tensor& want, int64_t* where) {
  double worst = 0;
  for (int64_t i = 0; i < ElementCount(want.shape); ++i) {
    const std::complex<double> x(got.as<std::complex<T>>()[i]), y(want.as<std::complex<T>>()[i]);
    if (!std::isfinite(y.real()) || !std::isfinite(y.imag())) continue;
    const double error = x == y ? 0 : std::abs(x - y) / std::abs(y);
    if (error <= worst) continue;  // false for NaN
    worst = error;
    *where = i;
  }
  return worst;
}

Module MustParse(const std::string& text) {
  auto module = ParseModule(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message);
  return module.ok() ? *module : Module{};
}

Module Expanded(Module module) {
  PipelineOptions options;
  options.only = {"inline-calls", "expand-complex"};
  options.verify = true;
  const auto report = RunPipeline(module, options);
  EXPECT_TRUE(report.ok());
  return module;
}

bool HasComplexInside(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      const bool border = instr.op == Op::kComplex || instr.op == Op::kParameter ||
                          (instr.op == Op::kGetTupleElement && &computation == &module.Entry());
      if (!instr.shape.is_tuple && IsComplex(instr.shape.dtype) && !border) return true;
    }
  }
  return false;
}

template <class T>
void ExpectElementwise(const std::string& op, bool binary, bool wide_range, double bound) {
  const DType dtype = sizeof(T) == 4 ? DType::kC64 : DType::kC128;
  const Tensor x = Grid<T>(dtype, false, wide_range), y = Grid<T>(dtype, true, wide_range);
  const std::string type = ToString(x.shape);
  const Module module =
      MustParse("HloModule m\nENTRY e { x = " + type + " parameter(0)\n y = " + type +
                " parameter(1)\n ROOT r = " + type + " " + op + (binary ? "(x, y) }" : "(x) }"));
  const Module planes = Expanded(module);
  EXPECT_FALSE(HasComplexInside(planes)) << PrintModule(planes);
  const std::vector<const Tensor*> inputs = {&x, &y};
  const auto want = Evaluate(module, inputs), got = Evaluate(planes, inputs);
  ASSERT_TRUE(want.ok() && got.ok());
  int64_t where = 0;
  const double worst = WorstError<T>((*got)[0], (*want)[0], &where);
  EXPECT_LE(worst, bound) << op << " of " << x.as<std::complex<T>>()[where]
                          << (binary ? " and " : " beside ") << y.as<std::complex<T>>()[where]
                          << " is " << (*got)[0].as<std::complex<T>>()[where] << ", expected "
                          << (*want)[0].as<std::complex<T>>()[where];
}

class Unary : public ::testing::TestWithParam<const char*> {};

TEST_P(Unary, AsStdComplex) {
  ExpectElementwise<float>(GetParam(), false, true, 2e-7);
  ExpectElementwise<double>(GetParam(), false, false, 4e-15);
}

INSTANTIATE_TEST_SUITE_P(ExpandComplex, Unary,
                         ::testing::Values("negate", "sign", "exponential", "exponential-minus-one",
                                           "log", "log-plus-one", "logistic", "sqrt", "rsqrt",
                                           "cbrt", "tanh", "tan", "sine", "cosine"));

TEST(ExpandComplex, BinaryOpsAsStdComplex) {
  for (const char* op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
    ExpectElementwise<float>(op, true, false, 3e-7);
    ExpectElementwise<double>(op, true, false, 1e-15);
  }
  ExpectElementwise<float>("divide", true, true, 3e-7);
  ExpectElementwise<float>("power", true, false, 3e-7);
  ExpectElementwise<double>("power", true, false, 4e-15);
}

// The ratio of the divisor's parts underflows; what it is multiplied with does not.
TEST(ExpandComplex, QuotientsKeepTheSmallPartOfADivisor) {
  const Module module = MustParse(R"(HloModule m
ENTRY e { x = c128[] parameter(0)
  y = c128[] parameter(1)
  ROOT r = c128[] divide(x, y) })");
  const Module planes = Expanded(module);
  using Number = std::complex<double>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Number cases[][2] = {{{-kInfinity, 2.75}, {5e-324, 65504}},
                             {{1e300, 1e300}, {1e-160, 1e164}},
                             {{1e300, -1e300}, {1e164, 1e-160}}};
  for (const auto& [dividend, divisor] : cases) {
    Tensor x = MakeTensor(ArrayShape(DType::kC128, {})), y = MakeTensor(x.shape);
    *x.as<Number>() = dividend;
    *y.as<Number>() = divisor;
    const std::vector<const Tensor*> inputs = {&x, &y};
    const auto got = Evaluate(planes, inputs);
    ASSERT_TRUE(got.ok());
    const Number quotient = *(*got)[0].as<Number>(), want = dividend / divisor;
    EXPECT_DOUBLE_EQ(quotient.real(), want.real()) << dividend << " / " << divisor;
    EXPECT_DOUBLE_EQ(quotient.imag(), want.imag()) << dividend << " / " << divisor;
  }
}

TEST(ExpandComplex, WholeProgramsKeepTheirTypesAtTheEntry) {
  const Module module = MustParse(R"(HloModule m
add { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] add(a, b) }
mul { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] multiply(a, b) }
pair { a = c64[] parameter(0) i = s32[] parameter(1) b = c64[] parameter(2) j = s32[] parameter(3)
  s = c64[] add(a, b) n = s32[] maximum(i, j) ROOT r = (c64[], s32[]) tuple(s, n) }
body { t = (s32[], c64[4]) parameter(0) i = s32[] get-tuple-element(t), index=0
  z = c64[4] get-tuple-element(t), index=1 one = s32[] constant(1) n = s32[] add(i, one)
  w = c64[4] multiply(z, z) ROOT r = (s32[], c64[4]) tuple(n, w) }
cond { t = (s32[], c64[4]) parameter(0) i = s32[] get-tuple-element(t), index=0
  c = s32[] constant(2) ROOT l = pred[] compare(i, c), direction=LT }
less { a = c64[] parameter(0) b = c64[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  x = f32[] real(a) y = f32[] real(b) ROOT l = pred[] compare(x, y), direction=LT }
ENTRY e {
  x = c64[3,4] parameter(0)
  y = c64[4,2] parameter(1)
  t = (c64[4], f32[4]) parameter(2)
  c = c64[3,4] constant({{(1,2),(0,0),(1,0),(2,1)},{(1,2),(0,0),(1,0),(2,1)},{(0,1),(3,0),(1,0),(2,1)}})
  xx = c64[3,4] add(x, c)
  d = c64[3,2] dot(xx, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = c64[] constant((0, 0))
  o = c64[] constant((1, 0))
  i0 = s32[] constant(0)
  s = c64[3] reduce(xx, z), dimensions={1}, to_apply=add
  p = c64[3] reduce(x, o), dimensions={1}, to_apply=mul
  n = s32[3,4] iota(), iota_dimension=1
  v = (c64[3], s32[3]) reduce(x, n, z, i0), dimensions={1}, to_apply=pair
  q = (c64[3,4], s32[3,4]) sort(x, n), dimensions={1}, to_apply=less
  t0 = c64[4] get-tuple-element(t), index=0
  st = (s32[], c64[4]) tuple(i0, t0)
  w = (s32[], c64[4]) while(st), condition=cond, body=body
  m = f32[4] abs(t0)
  eq = pred[3,4] compare(x, xx), direction=EQ
  pad = c64[5,4] pad(x, o), padding=1_1x0_0
  ROOT r = (c64[3,2], c64[3], c64[3], (c64[3], s32[3]), (c64[3,4], s32[3,4]), (s32[], c64[4]), f32[4], pred[3,4], c64[5,4], (c64[4], f32[4])) tuple(d, s, p, v, q, w, m, eq, pad, t)
})");
  const Module planes = Expanded(module);
  ASSERT_TRUE(VerifyModule(planes).ok());
  EXPECT_FALSE(HasComplexInside(planes)) << PrintModule(planes);
  std::vector<Shape> leaves;
  for (const InstrId id : module.Entry().parameters)
    FlattenLeaves(module.Entry()[id].shape, leaves);
  std::vector<Tensor> inputs;
  for (const Shape& leaf : leaves) {
    inputs.push_back(MakeTensor(leaf));
    for (int64_t i = 0; i < ByteSizeOf(leaf) / 4; ++i)
      inputs.back().as<float>()[i] = static_cast<float>((i * 37 + 11) % 23) / 8 - 1;
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  const auto want = Evaluate(module, pointers), got = Evaluate(planes, pointers);
  ASSERT_TRUE(want.ok() && got.ok());
  ASSERT_EQ(got->size(), want->size());
  for (size_t leaf = 0; leaf < want->size(); ++leaf) {
    ASSERT_TRUE(SameType((*got)[leaf].shape, (*want)[leaf].shape)) << leaf;
    int64_t where = 0;
    if (IsComplex((*want)[leaf].shape.dtype)) {
      EXPECT_LE(WorstError<float>((*got)[leaf], (*want)[leaf], &where), 1e-6) << leaf;
    } else if ((*want)[leaf].shape.dtype == DType::kF32) {
      for (int64_t i = 0; i < ElementCount((*want)[leaf].shape); ++i)
        EXPECT_FLOAT_EQ((*got)[leaf].as<float>()[i], (*want)[leaf].as<float>()[i]) << leaf;
    } else {
      EXPECT_EQ(std::memcmp((*got)[leaf].data.get(), (*want)[leaf].data.get(),
                            static_cast<size_t>((*want)[leaf].size_bytes())),
                0)
          << leaf;
    }
  }
}

}  // namespace
}  // namespace fusemark
