// Element types that loops hold in wider ones: every pattern of every f8 and f4 format, every pair
// of values of every sub-byte integer, against ir/number.h and the reference.
#include <cmath>
#include <limits>

#include "tests/unit/loops/lower_run.h"

namespace fusemark::loops {
namespace {

constexpr DType kByteFloats[] = {
    DType::kF4E2M1FN,   DType::kF8E5M2,        DType::kF8E4M3,
    DType::kF8E4M3FN,   DType::kF8E4M3B11FNUZ, DType::kF8E5M2FNUZ,
    DType::kF8E4M3FNUZ, DType::kF8E3M4,        DType::kF8E8M0FNU,
};

// The only instruction of a module on given operands, in the loop interpreter.
Leaves RunKernelOf(const Module& module, std::vector<Tensor> operands) {
  LowerRequest request{.module = &module, .computation = module.entry};
  request.roots = {module.Entry().root};
  const auto lowered = Lower(request);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  if (!lowered.ok()) return {};
  const auto proved = Verify(lowered->kernel);
  EXPECT_TRUE(proved.ok()) << (proved.ok() ? "" : proved.error().message);
  std::vector<Leaves> values(module.Entry().instrs.size());
  const auto& parameters = module.Entry().parameters;
  for (size_t i = 0; i < operands.size(); ++i)
    values[parameters[i].index].push_back(std::move(operands[i]));
  auto results = RunLowered(*lowered, values);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().message);
  return results.ok() ? std::move(*results) : Leaves{};
}

Module ConvertModule(DType from, DType to, int64_t count) {
  const std::string n = "[" + std::to_string(count) + "]";
  return MustParseHlo("HloModule m\nENTRY e { x = " + std::string(DTypeName(from)) + n +
                      " parameter(0)\n ROOT r = " + std::string(DTypeName(to)) + n +
                      " convert(x) }");
}

template <class T>
Tensor Filled(DType dtype, const std::vector<T>& values) {
  Tensor tensor = MakeTensor(ArrayShape(dtype, {static_cast<int64_t>(values.size())}));
  std::memcpy(tensor.data.get(), values.data(), values.size() * sizeof(T));
  return tensor;
}

class ByteFloat : public ::testing::TestWithParam<DType> {};

TEST_P(ByteFloat, EveryPatternMeansWhatTheTableSays) {
  const int count = 1 << std::max(BitWidth(GetParam()), 4);
  std::vector<uint8_t> patterns;
  for (int i = 0; i < count; ++i) patterns.push_back(static_cast<uint8_t>(i));
  std::vector<Tensor> operands;
  operands.push_back(Filled(GetParam(), patterns));
  const Leaves got =
      RunKernelOf(ConvertModule(GetParam(), DType::kF32, count), std::move(operands));
  ASSERT_EQ(got.size(), 1U);
  for (int i = 0; i < count; ++i) {
    const double want = FloatFromBits(GetParam(), static_cast<uint64_t>(i));
    const float value = got[0].as<float>()[i];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value)) << i;
    } else {
      EXPECT_EQ(static_cast<double>(value), want) << i;
      EXPECT_EQ(std::signbit(value), std::signbit(want)) << i;
    }
  }
}

// Every value of the format, the midpoints between neighbours and their neighbours in f32.
std::vector<float> Edges(DType dtype) {
  std::vector<float> edges = {0.0F,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              1e-45F,
                              1e-30F,
                              3e38F};
  const int count = 1 << std::max(BitWidth(dtype), 4);
  for (int i = 0; i + 1 < count; ++i) {
    const double a = FloatFromBits(dtype, static_cast<uint64_t>(i));
    const double b = FloatFromBits(dtype, static_cast<uint64_t>(i + 1));
    for (const double value : {a, (a + b) / 2, std::sqrt(std::abs(a * b)), 1.01 * a, 2 * a}) {
      const auto edge = static_cast<float>(value);
      if (std::isnan(edge)) continue;
      edges.insert(edges.end(),
                   {edge, std::nextafterf(edge, 0.0F), std::nextafterf(edge, HUGE_VALF)});
    }
  }
  const size_t positive = edges.size();
  for (size_t i = 0; i < positive; ++i) edges.push_back(-edges[i]);
  return edges;
}

TEST_P(ByteFloat, RoundsOnceToNearestEven) {
  const std::vector<float> edges = Edges(GetParam());
  const auto count = static_cast<int64_t>(edges.size());
  std::vector<Tensor> operands;
  operands.push_back(Filled(DType::kF32, edges));
  const Leaves got =
      RunKernelOf(ConvertModule(DType::kF32, GetParam(), count), std::move(operands));
  ASSERT_EQ(got.size(), 1U);
  for (int64_t i = 0; i < count; ++i) {
    const float edge = edges[static_cast<size_t>(i)];
    const uint64_t want = FloatToBits(GetParam(), static_cast<double>(edge));
    EXPECT_EQ(got[0].as<uint8_t>()[i], want) << edge << " (" << std::hexfloat << edge << ")";
  }
}

TEST_P(ByteFloat, DoublesDoNotRoundTwice) {
  std::vector<double> edges;
  for (const float edge : Edges(GetParam())) {
    const auto value = static_cast<double>(edge);
    edges.insert(edges.end(), {value, std::nextafter(value, 0.0), std::nextafter(value, 1e300)});
  }
  const auto count = static_cast<int64_t>(edges.size());
  std::vector<Tensor> operands;
  operands.push_back(Filled(DType::kF64, edges));
  const Leaves got =
      RunKernelOf(ConvertModule(DType::kF64, GetParam(), count), std::move(operands));
  ASSERT_EQ(got.size(), 1U);
  // e8m0 has no place for a tie: where the logarithm of a double is one, either power is nearest.
  if (GetParam() == DType::kF8E8M0FNU) return;
  for (int64_t i = 0; i < count; ++i) {
    const double edge = edges[static_cast<size_t>(i)];
    EXPECT_EQ(got[0].as<uint8_t>()[i], FloatToBits(GetParam(), edge)) << std::hexfloat << edge;
  }
}

INSTANTIATE_TEST_SUITE_P(LowerNarrow, ByteFloat, ::testing::ValuesIn(kByteFloats),
                         [](const auto& param) { return std::string(DTypeName(param.param)); });

class SubByte : public ::testing::TestWithParam<const char*> {};

TEST_P(SubByte, EveryOperationOnEveryPair) {
  const DType dtype = *DTypeFromName(GetParam());
  const int64_t n = int64_t{1} << BitWidth(dtype), low = IsSigned(dtype) ? -n / 2 : 0;
  std::vector<int8_t> left, right;
  for (int64_t i = 0; i < n * n; ++i) {
    left.push_back(static_cast<int8_t>(low + i / n));
    right.push_back(static_cast<int8_t>(low + i % n));
  }
  const std::string type = std::string(GetParam()) + "[" + std::to_string(n * n) + "]";
  const auto check = [&](const std::string& result, const std::string& call) {
    const Module module =
        MustParseHlo("HloModule m\nENTRY e { x = " + type + " parameter(0)\n y = " + type +
                     " parameter(1)\n ROOT r = " + result + " " + call + " }");
    const Tensor x = Filled(dtype, left), y = Filled(dtype, right);
    const std::vector<const Tensor*> both = {&x, &y};
    const auto want = Evaluate(module, both);
    ASSERT_TRUE(want.ok()) << call << ": " << want.error().message;
    std::vector<Tensor> operands;
    operands.push_back(CopyTensor(x));
    operands.push_back(CopyTensor(y));
    const Leaves got = RunKernelOf(module, std::move(operands));
    ASSERT_EQ(got.size(), 1U) << call;
    EXPECT_EQ(std::memcmp(got[0].data.get(), (*want)[0].data.get(),
                          static_cast<size_t>((*want)[0].size_bytes())),
              0)
        << call;
  };
  for (const std::string op :
       {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
        "xor", "power", "shift-left", "shift-right-arithmetic", "shift-right-logical"})
    check(type, op + "(x, y)");
  for (const std::string op : {"not", "popcnt", "count-leading-zeros", "copy"})
    check(type, op + "(x)");
  if (IsSigned(dtype)) {
    for (const std::string op : {"negate", "abs", "sign"}) check(type, op + "(x)");
  }
  const std::string n2 = "[" + std::to_string(n * n) + "]";
  for (const std::string direction : {"EQ", "LT", "GE"})
    check("pred" + n2, "compare(x, y), direction=" + direction);
  for (const std::string to : {"s8", "u8", "s32", "u64", "pred", "f32", "bf16", "f64", "s2", "u4"})
    check(to + n2, "convert(x)");
}

INSTANTIATE_TEST_SUITE_P(LowerNarrow, SubByte, ::testing::Values("s4", "u4", "s2", "u2"));

TEST(LowerNarrow, FloatsSaturateAtTheEndsOfTheType) {
  const std::vector<float> values = {-1e30F,
                                     -9,
                                     -8.9F,
                                     -8,
                                     -2.5F,
                                     -2,
                                     -1,
                                     -0.5F,
                                     0,
                                     0.9F,
                                     1,
                                     1.9F,
                                     2,
                                     3,
                                     4,
                                     7,
                                     7.9F,
                                     8,
                                     15,
                                     15.5F,
                                     16,
                                     1e30F,
                                     std::numeric_limits<float>::quiet_NaN()};
  const auto count = static_cast<int64_t>(values.size());
  for (const DType to : {DType::kS4, DType::kU4, DType::kS2, DType::kU2}) {
    const Module module = ConvertModule(DType::kF32, to, count);
    const Tensor x = Filled(DType::kF32, values);
    const std::vector<const Tensor*> inputs = {&x};
    const auto want = Evaluate(module, inputs);
    ASSERT_TRUE(want.ok());
    std::vector<Tensor> operands;
    operands.push_back(CopyTensor(x));
    const Leaves got = RunKernelOf(module, std::move(operands));
    ASSERT_EQ(got.size(), 1U);
    for (int64_t i = 0; i < count; ++i)
      EXPECT_EQ(got[0].as<int8_t>()[i], (*want)[0].as<int8_t>()[i])
          << DTypeName(to) << " of " << values[static_cast<size_t>(i)];
  }
}

TEST(LowerNarrow, SumsProductsAndBitcasts) {
  for (const std::string type : {"f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "s4", "u2"}) {
    const std::string hlo = "HloModule m\nadd { a = " + type + "[] parameter(0)\n b = " + type +
                            "[] parameter(1)\n ROOT r = " + type +
                            "[] add(a, b) }\nENTRY e {\n x = " + type + "[6,8] parameter(0)\n";
    LowerFused(hlo + " z = " + type + "[] constant(0)\n ROOT s = " + type +
                   "[6] reduce(x, z), dimensions={1}, to_apply=add }",
               {.klass = KernelClass::kReduce, .tolerance = 0.13});
    LowerFused(hlo + " y = " + type +
                   "[8,4] parameter(1)\n ROOT d = " + (type[0] == 'f' ? "f32" : "s32") +
                   "[6,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
               {.klass = KernelClass::kContraction, .tolerance = 1e-5});
    LowerFused(hlo + " ROOT t = " + type + "[8,6] transpose(x), dimensions={1,0} }", {});
    LowerFused(hlo + " ROOT i = " + type + "[6,8] iota(), iota_dimension=1 }", {});
  }
  LowerFused(
      "HloModule m\nENTRY e { x = s8[5] parameter(0)\n ROOT b = u4[5,2] bitcast-convert(x) }", {});
  LowerFused(
      "HloModule m\nENTRY e { x = s4[5,4] parameter(0)\n ROOT b = u16[5] bitcast-convert(x) }", {});
  LowerFused(
      "HloModule m\nENTRY e { x = u8[9] parameter(0)\n ROOT b = f8e4m3fn[9] "
      "bitcast-convert(x) }",
      {});
}

}  // namespace
}  // namespace fusemark::loops
