// Every operation on every element type against the interpreter's scalar functions, which share no
// code with codegen.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "compiler/ir/number.h"
#include "compiler/loops/scalar.h"
#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

using loops::Builder;
using loops::ExprId;
using loops::Kernel;

const DType kTypes[] = {DType::kPred, DType::kS2,  DType::kS4,  DType::kS8,  DType::kS16,
                        DType::kS32,  DType::kS64, DType::kU2,  DType::kU4,  DType::kU8,
                        DType::kU16,  DType::kU32, DType::kU64, DType::kF32, DType::kF64};
const DType kNarrow[] = {DType::kBF16, DType::kF16};

constexpr int kOps = static_cast<int>(Op::kReplicaId) + 1;

uint64_t Normalized(DType dtype, uint64_t bits) {
  const int width = dtype == DType::kPred ? 1 : BitWidth(dtype);
  if (width == 64) return bits;
  const uint64_t low = bits & ((uint64_t{1} << width) - 1);
  const bool negative = IsSigned(dtype) && (low >> (width - 1)) != 0;
  return negative ? low | ~((uint64_t{1} << width) - 1) : low;
}

uint64_t LoadBits(const TestBuffer& buffer, DType dtype, size_t i) {
  uint64_t bits = 0;
  const auto bytes = static_cast<size_t>(ByteSize(dtype));
  std::memcpy(&bits, buffer.data() + i * bytes, bytes);
  if (IsSigned(dtype) && bytes < 8) {
    const int shift = 64 - 8 * static_cast<int>(bytes);
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
  }
  return bits;
}

TestBuffer BufferOfBits(DType dtype, const std::vector<uint64_t>& values) {
  const auto bytes = static_cast<size_t>(ByteSize(dtype));
  TestBuffer buffer(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(buffer.data() + i * bytes, &values[i], bytes);
  return buffer;
}

// Limits, small values, powers of two and their neighbours, special floats, random patterns.
std::vector<uint64_t> Values(DType dtype, size_t count, uint64_t seed) {
  std::vector<uint64_t> values;
  if (IsFloat(dtype)) {
    for (const double x : {0.0,
                           0.25,
                           0.5,
                           0.75,
                           1.0,
                           1.5,
                           2.5,
                           3.5,
                           7.0,
                           127.5,
                           128.0,
                           255.5,
                           256.0,
                           32767.5,
                           65504.0,
                           65519.0,
                           65520.0,
                           65535.9,
                           0x1p31,
                           0x1p31 - 1,
                           0x1p32,
                           0x1p53,
                           0x1p63,
                           0x1p64,
                           0x1p-14,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1p-126,
                           0x1p-133,
                           0x1p-134,
                           0x1p-149,
                           3.3e38,
                           1e300,
                           0x1.000002p0,
                           0x1.004002p0,
                           0x1.0080000001p0,
                           0x1.0180000001p0,
                           0x1.007fffffffp0,
                           0x1.002p0,
                           0x1.0020000001p0,
                           double(INFINITY),
                           double(NAN)}) {
      values.push_back(FloatToBits(dtype, x));
      values.push_back(FloatToBits(dtype, -x));
    }
  } else {
    for (int shift = 0; shift < 64; ++shift) {
      for (const int64_t delta : {-1, 0, 1}) {
        values.push_back((uint64_t{1} << shift) + static_cast<uint64_t>(delta));
        values.push_back(~values.back() + 1);
      }
    }
    // Just above and below ties of bf16, f16 and f32.
    for (const uint64_t odd : {0x4080000000000001ULL, 0x4080000000000000ULL, 0x407fffffffffffffULL,
                               0x40c0000000000000ULL, 0x4000004000000001ULL, 0x801ULL, 0x1001ULL})
      values.push_back(odd);
  }
  std::mt19937_64 random(seed);
  while (values.size() < count)
    values.push_back(random() >> (random() % 2 == 0 ? 0 : random() % 60));
  std::shuffle(values.begin(), values.end(), random);
  values.resize(count);
  for (uint64_t& value : values) value = Normalized(dtype, value);
  return values;
}

bool IsNanBits(DType dtype, uint64_t bits) {
  return IsFloat(dtype) && std::isnan(FloatFromBits(dtype, bits));
}

// Equal bits; any NaN for NaN; zeros of either sign where HLO leaves the sign open; for
// transcendental operations a few units (their accuracy is math_test's business).
bool Agree(Op op, DType dtype, uint64_t got, uint64_t expected) {
  if (got == expected) return true;
  if (IsNanBits(dtype, expected)) return IsNanBits(dtype, got);
  if (!IsFloat(dtype) || IsNanBits(dtype, got)) return false;
  const double x = FloatFromBits(dtype, got), y = FloatFromBits(dtype, expected);
  if ((op == Op::kMaximum || op == Op::kMinimum) && x == 0 && y == 0) return true;
  const bool approximate = IsTranscendental(op) || op == Op::kRsqrt || op == Op::kCbrt ||
                           op == Op::kLogistic || op == Op::kErf || op == Op::kAtan2;
  if (!approximate || std::signbit(x) != std::signbit(y)) return false;
  return got - expected + 5 <= 10;
}

using Make = std::function<ExprId(Builder&, const std::vector<ExprId>&)>;

void Check(Op op, const std::string& what, const std::vector<DType>& from, DType to,
           loops::ScalarFunction function, const Make& make) {
  constexpr size_t kCount = 1029;
  std::vector<std::vector<uint64_t>> values;
  std::vector<TestBuffer> operands;
  for (size_t i = 0; i < from.size(); ++i) {
    values.push_back(Values(from[i], kCount, 17 + i));
    operands.push_back(BufferOfBits(from[i], values[i]));
  }
  // 1029 = 128 * 8 + 5: the tail is a vector of five lanes.
  for (const int64_t lanes : {8, 0}) {
    const Kernel kernel = ElementwiseKernel(from, to, kCount, lanes, make);
    const auto results = RunJit(kernel, operands);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << what;
      return;
    }
    for (size_t i = 0; i < kCount; ++i) {
      uint64_t a[3] = {};
      for (size_t k = 0; k < from.size(); ++k) a[k] = values[k][i];
      const uint64_t expected = function(a[0], a[1], a[2]);
      const uint64_t got = LoadBits(results[0], to, i);
      // The interpreter rounds twice here, through f64.
      const bool twice = op == Op::kConvert && IsInteger(from[0]) && BitWidth(from[0]) == 64 &&
                         (to == DType::kBF16 || to == DType::kF16);
      if (twice && got - expected + 1 <= 2) continue;
      ASSERT_TRUE(Agree(op, to, got, expected))
          << what << " lanes " << lanes << std::hex << ": of " << a[0] << ", " << a[1] << ", "
          << a[2] << " got " << got << " expected " << expected;
    }
  }
}

std::string Described(Op op, DType dtype) {
  return std::string(OpName(op)) + " of " + std::string(DTypeName(dtype));
}

TEST(Operations, Unary) {
  int checked = 0;
  for (int i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (op == Op::kConvert || op == Op::kBitcastConvert) continue;
    for (const DType dtype : kTypes) {
      const auto function = loops::UnaryFunction(op, dtype);
      if (function == nullptr) continue;
      ++checked;
      const DType to = op == Op::kIsFinite ? DType::kPred : dtype;
      Check(op, Described(op, dtype), {dtype}, to, function,
            [op](Builder& b, const std::vector<ExprId>& x) { return b.Unary(op, x[0]); });
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(Operations, Binary) {
  int checked = 0;
  for (int i = 0; i < kOps; ++i) {
    const Op op = static_cast<Op>(i);
    for (const DType dtype : kTypes) {
      const auto function = loops::BinaryFunction(op, dtype);
      if (function == nullptr) continue;
      ++checked;
      Check(op, Described(op, dtype), {dtype, dtype}, dtype, function,
            [op](Builder& b, const std::vector<ExprId>& x) { return b.Binary(op, x[0], x[1]); });
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(checked, 150);
}

TEST(Operations, Compare) {
  for (const Direction direction : {Direction::kEq, Direction::kNe, Direction::kLt, Direction::kLe,
                                    Direction::kGt, Direction::kGe}) {
    for (const DType dtype : kTypes) {
      const auto function = loops::CompareFunction(direction, dtype);
      ASSERT_NE(function, nullptr);
      Check(Op::kCompare, Described(Op::kCompare, dtype), {dtype, dtype}, DType::kPred, function,
            [&](Builder& b, const std::vector<ExprId>& x) {
              return b.Compare(direction, x[0], x[1]);
            });
      if (HasFailure()) return;
    }
  }
}

std::vector<DType> AllTypes() {
  std::vector<DType> types(std::begin(kTypes), std::end(kTypes));
  types.insert(types.end(), std::begin(kNarrow), std::end(kNarrow));
  return types;
}

TEST(Operations, ConvertEveryPair) {
  for (const DType from : AllTypes()) {
    for (const DType to : AllTypes()) {
      const auto function = loops::ConvertFunction(from, to);
      if (from == to || function == nullptr) continue;
      const std::string what =
          "convert " + std::string(DTypeName(from)) + " to " + std::string(DTypeName(to));
      Check(Op::kConvert, what, {from}, to, function,
            [to](Builder& b, const std::vector<ExprId>& x) { return b.Convert(x[0], to); });
      if (HasFailure()) return;
    }
  }
}

TEST(Operations, BitcastConvert) {
  for (const DType from : AllTypes()) {
    for (const DType to : AllTypes()) {
      const auto function = loops::BitcastFunction(from, to);
      if (from == to || function == nullptr || BitWidth(from) != BitWidth(to)) continue;
      if (from == DType::kPred || to == DType::kPred) continue;
      Check(Op::kBitcastConvert, Described(Op::kBitcastConvert, from), {from}, to, function,
            [to](Builder& b, const std::vector<ExprId>& x) { return b.BitcastConvert(x[0], to); });
      if (HasFailure()) return;
    }
  }
}

TEST(Operations, SelectAndFma) {
  for (const DType dtype : AllTypes()) {
    Check(Op::kSelect, Described(Op::kSelect, dtype), {DType::kPred, dtype, dtype}, dtype,
          loops::SelectFunction(),
          [](Builder& b, const std::vector<ExprId>& x) { return b.Select(x[0], x[1], x[2]); });
    if (HasFailure()) return;
  }
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Check(Op::kMultiply, "fma", {dtype, dtype, dtype}, dtype, loops::FmaFunction(dtype),
          [](Builder& b, const std::vector<ExprId>& x) { return b.Fma(x[0], x[1], x[2]); });
    if (HasFailure()) return;
  }
}

TEST(Operations, ConvertsLargeIntegersToNarrowFloatsWithOneRounding) {
  // Just below the middle between two bf16 values; rounding to f64 first would reach the middle.
  const std::vector<uint64_t> x = {0xff7fffffffffffffULL, 0xff80000000000000ULL,
                                   0xfe80000000000000ULL, 0xfe80000000000001ULL};
  const Kernel kernel = ElementwiseKernel(
      {DType::kU64}, DType::kBF16, 4, 4,
      [](Builder& b, const std::vector<ExprId>& a) { return b.Convert(a[0], DType::kBF16); });
  const auto results = RunJit(kernel, {BufferOf(x)});
  const std::vector<uint16_t> expected = {0x5f7f, 0x5f80, 0x5f7e, 0x5f7f};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(results[0].as<uint16_t>()[i], expected[static_cast<size_t>(i)]);
}

// Without F16C the conversions are integer code: all 65536 patterns, and back.
TEST(Operations, NarrowFloatsOnBaselineCpu) {
  const auto target = TargetForCpu("x86-64");
  if (!target.ok()) GTEST_SKIP() << "not an x86-64 machine";
  auto jit = Jit::Create(*target);
  ASSERT_TRUE(jit.ok());
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> floats;
  std::mt19937_64 random(5);
  for (const uint64_t bits : Values(DType::kF32, 400, 1))
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  while (floats.size() < 65536) {
    floats.push_back(
        std::bit_cast<float>(static_cast<uint32_t>(random() % 0x14000000 + 0x32000000)));
  }
  for (const DType dtype : kNarrow) {
    const Kernel widen = ElementwiseKernel(
        {dtype}, DType::kF32, 65536, 8,
        [](Builder& b, const std::vector<ExprId>& x) { return b.Convert(x[0], DType::kF32); });
    const Kernel narrow = ElementwiseKernel(
        {DType::kF32}, dtype, 65536, 8,
        [&](Builder& b, const std::vector<ExprId>& x) { return b.Convert(x[0], dtype); });
    const auto wide = RunJit(widen, {BufferOf(all)}, **jit);
    const auto back = RunJit(narrow, {BufferOf(floats)}, **jit);
    for (size_t i = 0; i < all.size(); ++i) {
      const double expected = FloatFromBits(dtype, i);
      const float got = wide[0].as<float>()[i];
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << i;
      const uint64_t rounded = FloatToBits(dtype, floats[i]);
      ASSERT_TRUE(Agree(Op::kConvert, dtype, back[0].as<uint16_t>()[i], rounded)) << floats[i];
    }
  }
}

}  // namespace
}  // namespace fusemark
