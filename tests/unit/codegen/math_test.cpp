// Error of the inline vector math in units of the last place, against libm in long double, over
// random bit patterns, ranges of interest and special values.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>

#include "compiler/ir/number.h"
#include "tests/unit/codegen/kernel_run.h"

namespace fusemark {
namespace {

using loops::Builder;
using loops::ExprId;
using loops::Kernel;

using Reference1 = long double (*)(long double);
using Reference2 = long double (*)(long double, long double);

long double Logistic(long double x) {
  return 1 / (1 + std::exp(-x));
}
long double Rsqrt(long double x) {
  return 1 / std::sqrt(x);
}

// libm's pow(signalling NaN, 0) is NaN; HLO makes no difference between NaNs.
long double Power(long double x, long double y) {
  return y == 0 || x == 1 ? 1 : std::pow(x, y);
}

struct UnaryCase {
  Op op;
  Reference1 reference;
  double max_ulp_f32;
  double max_ulp_f64;
};

// clang-format off
const UnaryCase kUnary[] = {
    {Op::kExponential, [](long double x) { return std::exp(x); }, 1.5, 1.5},
    {Op::kExponentialMinusOne, [](long double x) { return std::expm1(x); }, 3, 3},
    {Op::kLog, [](long double x) { return std::log(x); }, 2, 1.5},
    {Op::kLogPlusOne, [](long double x) { return std::log1p(x); }, 3, 2.5},
    {Op::kLogistic, Logistic, 3, 3},
    {Op::kTanh, [](long double x) { return std::tanh(x); }, 4, 4},
    {Op::kErf, [](long double x) { return std::erf(x); }, 2, 1.5},
    {Op::kSine, [](long double x) { return std::sin(x); }, 2, 1},
    {Op::kCosine, [](long double x) { return std::cos(x); }, 2, 1},
    {Op::kTan, [](long double x) { return std::tan(x); }, 4, 1},
    {Op::kCbrt, [](long double x) { return std::cbrt(x); }, 1, 1},
    {Op::kSqrt, [](long double x) { return std::sqrt(x); }, 0.5, 0.51},
    {Op::kRsqrt, Rsqrt, 1.5, 1.5},
};
// clang-format on

struct BinaryCase {
  Op op;
  Reference2 reference;
  double max_ulp_f32;
  double max_ulp_f64;
};

const BinaryCase kBinary[] = {
    {Op::kPower, Power, 1, 1},
    {Op::kAtan2, [](long double y, long double x) { return std::atan2(y, x); }, 1, 1},
    {Op::kRemainder, [](long double x, long double y) { return std::fmod(x, y); }, 0, 0},
};

template <class T>
constexpr DType kDTypeOf = sizeof(T) == 4 ? DType::kF32 : DType::kF64;

// Distance in units of the last place of T at `expected`.
template <class T>
double UlpError(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) == std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) {
    // One step from the largest finite value to infinity counts as one unit.
    const T limit = std::numeric_limits<T>::max();
    return std::abs(got) >= limit && std::abs(rounded) >= limit &&
                   std::signbit(got) == std::signbit(rounded)
               ? 1
               : std::numeric_limits<double>::infinity();
  }
  int exponent = 0;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected) / ulp);
}

template <class T>
std::vector<T> Specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T x : {T(0),
                    L::denorm_min(),
                    3 * L::denorm_min(),
                    L::min(),
                    L::min() / 2,
                    L::epsilon(),
                    L::epsilon() / 4,
                    T(0.5),
                    T(1),
                    T(1) + L::epsilon(),
                    T(1) - L::epsilon() / 2,
                    T(2),
                    T(3),
                    T(8),
                    T(27),
                    T(88.7228),
                    T(88.73),
                    T(87.3365),
                    T(103.9),
                    T(104),
                    T(709.78),
                    T(709.79),
                    T(745.2),
                    T(1e5),
                    T(999999),
                    T(1000001),
                    T(1e6),
                    T(3e8),
                    T(1.57079637),
                    T(3.14159274),
                    T(0x1p23),
                    T(0x1p24),
                    L::max(),
                    L::max() / 2,
                    L::infinity(),
                    L::quiet_NaN()}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

template <class T>
std::vector<T> Samples(size_t count, uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::mt19937_64 random(seed);
  std::vector<T> values = Specials<T>();
  std::uniform_real_distribution<T> unit(-1, 1), ten(-10, 10), hundred(-110, 110), wide(-2e6, 2e6);
  constexpr long double quarter = std::numbers::pi_v<long double> / 2;
  while (values.size() < count) {
    switch (random() % 9) {
      case 0: values.push_back(unit(random)); break;
      case 1: values.push_back(ten(random)); break;
      case 2: values.push_back(hundred(random)); break;
      case 3: values.push_back(wide(random)); break;
      case 4: values.push_back(1 + unit(random) / 64); break;
      // Where sine or cosine cancel.
      case 5: values.push_back(static_cast<T>(std::round(wide(random)) * quarter)); break;
      default: values.push_back(std::bit_cast<T>(static_cast<Bits>(random()))); break;
    }
  }
  return values;
}

// The largest error met, and where.
template <class T>
struct Worst {
  double ulp = 0;
  T x = 0, y = 0;
  int64_t exact = 0, count = 0;  // results that are the nearest value, of all

  void Note(double error, T at_x, T at_y = 0) {
    ++count;
    if (error <= 0.5) ++exact;
    if (error <= ulp) return;
    ulp = error;
    x = at_x;
    y = at_y;
  }
};

template <class T>
Worst<T> WorstUnary(const UnaryCase& test, const std::vector<T>& x, int64_t lanes,
                    Jit& jit = TestJit()) {
  const Kernel kernel = ElementwiseKernel(
      {kDTypeOf<T>}, kDTypeOf<T>, static_cast<int64_t>(x.size()), lanes,
      [&](Builder& b, const std::vector<ExprId>& a) { return b.Unary(test.op, a[0]); });
  const std::vector<TestBuffer> results = RunJit(kernel, {BufferOf(x)}, jit);
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.Note(UlpError(results[0].template as<T>()[i], test.reference(x[i])), x[i]);
  return worst;
}

template <class T>
void CheckUnary(const UnaryCase& test, size_t count, int64_t lanes) {
  const auto worst =
      WorstUnary<T>(test, Samples<T>(count, 1 + static_cast<uint64_t>(test.op)), lanes);
  const double limit = sizeof(T) == 4 ? test.max_ulp_f32 : test.max_ulp_f64;
  EXPECT_LE(worst.ulp, limit) << OpName(test.op) << " at " << std::hexfloat << worst.x << " lanes "
                              << lanes;
}

template <class T>
Worst<T> WorstBinary(const BinaryCase& test, size_t count, uint64_t seed, int64_t lanes,
                     Jit& jit = TestJit()) {
  std::vector<T> x = Samples<T>(count, seed), y = Samples<T>(count, seed + 1);
  // All pairs of special values, then pairs of which one is small and integral.
  size_t next = 0;
  for (const T a : Specials<T>()) {
    for (const T b : Specials<T>()) {
      x[next] = a;
      y[next++] = b;
    }
  }
  for (; next < count / 2; next += 3) y[next] = std::round(std::remainder(y[next], T(8)));
  const Kernel kernel = ElementwiseKernel(
      {kDTypeOf<T>, kDTypeOf<T>}, kDTypeOf<T>, static_cast<int64_t>(x.size()), lanes,
      [&](Builder& b, const std::vector<ExprId>& a) { return b.Binary(test.op, a[0], a[1]); });
  const auto results = RunJit(kernel, {BufferOf(x), BufferOf(y)}, jit);
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i)
    worst.Note(UlpError(results[0].template as<T>()[i], test.reference(x[i], y[i])), x[i], y[i]);
  return worst;
}

template <class T>
void CheckBinary(const BinaryCase& test, size_t count, int64_t lanes) {
  const auto worst = WorstBinary<T>(test, count, 3, lanes);
  const double limit = sizeof(T) == 4 ? test.max_ulp_f32 : test.max_ulp_f64;
  EXPECT_LE(worst.ulp, limit) << OpName(test.op) << std::hexfloat << " at " << worst.x << ", "
                              << worst.y << " lanes " << lanes;
}

TEST(Math, UnaryF32MillionSamples) {
  for (const UnaryCase& test : kUnary) CheckUnary<float>(test, 1'000'000, 8);
}

TEST(Math, UnaryF32ScalarAndOddLanes) {
  for (const UnaryCase& test : kUnary) {
    CheckUnary<float>(test, 20'000, 0);
    CheckUnary<float>(test, 20'001, 5);
    CheckUnary<float>(test, 20'001, 33);
  }
}

TEST(Math, UnaryF64) {
  for (const UnaryCase& test : kUnary) {
    CheckUnary<double>(test, 200'000, 4);
    CheckUnary<double>(test, 10'000, 0);
    CheckUnary<double>(test, 10'001, 7);
  }
}

TEST(Math, BinaryF32) {
  for (const BinaryCase& test : kBinary) {
    CheckBinary<float>(test, 500'000, 8);
    CheckBinary<float>(test, 20'000, 0);
    CheckBinary<float>(test, 20'001, 3);
  }
}

TEST(Math, BinaryF64) {
  for (const BinaryCase& test : kBinary) {
    CheckBinary<double>(test, 100'000, 4);
    CheckBinary<double>(test, 20'000, 0);
  }
}

// Every input of a 16-bit type, through f32 and back.
struct NarrowErrors {
  int inexact = 0;  // not the nearest value
  int far = 0;      // more than one unit of the narrow type away
};
NarrowErrors ExhaustiveErrors(const UnaryCase& test, DType dtype) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const Kernel kernel =
      ElementwiseKernel({dtype}, dtype, 65536, 16, [&](Builder& b, const std::vector<ExprId>& x) {
        return b.Convert(b.Unary(test.op, b.Convert(x[0], DType::kF32)), dtype);
      });
  const auto results = RunJit(kernel, {BufferOf(all)});
  NarrowErrors errors;
  for (size_t i = 0; i < all.size(); ++i) {
    const double x = FloatFromBits(dtype, i);
    const auto expected =
        static_cast<uint16_t>(FloatToBits(dtype, static_cast<double>(test.reference(x))));
    const uint16_t got = results[0].as<uint16_t>()[i];
    if (std::isnan(FloatFromBits(dtype, expected))) {
      if (!std::isnan(FloatFromBits(dtype, got))) ++errors.far;
      continue;
    }
    if (got != expected) ++errors.inexact;
    if (std::abs(static_cast<int>(got) - static_cast<int>(expected)) > 1) ++errors.far;
  }
  return errors;
}

TEST(Math, ExhaustiveNarrowInputs) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const UnaryCase& test : kUnary)
      EXPECT_EQ(ExhaustiveErrors(test, dtype).far, 0)
          << OpName(test.op) << " of " << DTypeName(dtype);
  }
}

// ---- the table of scripts/accuracy_table ----

constexpr size_t kTableChunk = 1'000'000;
constexpr int kTableChunks = 10;

template <class T>
void Merge(Worst<T>& all, const Worst<T>& part) {
  all.exact += part.exact;
  all.count += part.count;
  if (part.ulp <= all.ulp) return;
  all.ulp = part.ulp;
  all.x = part.x;
  all.y = part.y;
}

template <class T>
Worst<T> TableUnary(const UnaryCase& test) {
  Worst<T> worst;
  for (int chunk = 0; chunk < kTableChunks; ++chunk)
    Merge(worst,
          WorstUnary<T>(test, Samples<T>(kTableChunk, 100 + static_cast<uint64_t>(chunk)), 8));
  return worst;
}

template <class T>
Worst<T> TableBinary(const BinaryCase& test) {
  Worst<T> worst;
  for (int chunk = 0; chunk < kTableChunks; ++chunk)
    Merge(worst, WorstBinary<T>(test, kTableChunk, 200 + 2 * static_cast<uint64_t>(chunk), 8));
  return worst;
}

template <class T>
std::string Cell(const Worst<T>& worst, double limit) {
  EXPECT_LE(worst.ulp, limit);
  const double share = 100.0 * static_cast<double>(worst.exact) / static_cast<double>(worst.count);
  return fmt::format(" {:.2f} | {:g} | {:.1f} % |", worst.ulp, limit, share);
}

TEST(Math, AccuracyTable) {
  const char* path = std::getenv("FM_ACCURACY_TABLE");
  if (path == nullptr) GTEST_SKIP() << "scripts/accuracy_table asks for it: it takes a minute";
  std::string table;
  for (const UnaryCase& test : kUnary) {
    table += fmt::format("| {} |", OpName(test.op));
    table += Cell(TableUnary<float>(test), test.max_ulp_f32);
    table += Cell(TableUnary<double>(test), test.max_ulp_f64);
    for (const DType dtype : {DType::kBF16, DType::kF16})
      table += fmt::format(" {} |", ExhaustiveErrors(test, dtype).inexact);
    table += "\n";
  }
  for (const BinaryCase& test : kBinary) {
    table += fmt::format("| {} |", OpName(test.op));
    table += Cell(TableBinary<float>(test), test.max_ulp_f32);
    table += Cell(TableBinary<double>(test), test.max_ulp_f64) + " | |\n";
  }
  std::FILE* file = std::fopen(path, "w");
  ASSERT_NE(file, nullptr) << path;
  std::fputs(table.c_str(), file);
  std::fclose(file);
}

TEST(Math, Saturates) {
  const std::vector<float> x = {20, -20, 1e30f, -1e30f, INFINITY, -INFINITY};
  for (const Op op : {Op::kTanh, Op::kErf}) {
    const Kernel kernel = ElementwiseKernel(
        {DType::kF32}, DType::kF32, 6, 6,
        [&](Builder& b, const std::vector<ExprId>& a) { return b.Unary(op, a[0]); });
    const std::vector<TestBuffer> results = RunJit(kernel, {BufferOf(x)});
    for (int i = 0; i < 6; ++i) EXPECT_EQ(results[0].as<float>()[i], i % 2 == 0 ? 1.0f : -1.0f);
  }
}

// CPUs without FMA, F16C and rounding instructions take other code; it must be as good.
template <class T>
void CheckBaseline(Jit& jit) {
  for (const UnaryCase& test : kUnary) {
    const auto worst = WorstUnary<T>(test, Samples<T>(50'000, 9), 4, jit);
    EXPECT_LE(worst.ulp, 4) << OpName(test.op) << " at " << std::hexfloat << worst.x;
  }
  for (const BinaryCase& test : kBinary) {
    const auto worst = WorstBinary<T>(test, 50'000, 9, 4, jit);
    const double limit = sizeof(T) == 4 ? test.max_ulp_f32 : test.max_ulp_f64;
    EXPECT_LE(worst.ulp, limit) << OpName(test.op) << std::hexfloat << " at " << worst.x << ", "
                                << worst.y;
  }
}

TEST(Math, BaselineCpu) {
  const auto target = TargetForCpu("x86-64");
  if (!target.ok()) GTEST_SKIP() << "not an x86-64 machine";
  auto jit = Jit::Create(*target);
  ASSERT_TRUE(jit.ok()) << jit.error().message;
  CheckBaseline<float>(**jit);
  CheckBaseline<double>(**jit);
}

}  // namespace
}  // namespace fusemark
