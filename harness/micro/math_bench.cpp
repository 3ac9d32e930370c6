// Vector math of our own in ns per element, f32 and f64, over arrays in the L2 cache.
//
//   fusemark_math_bench --benchmark_filter='exp.*threads:1'
#include <fmt/format.h>

#include "compiler/ir/op.h"
#include "harness/micro/kernel_case.h"

namespace fusemark {
namespace {

constexpr int64_t kCount = int64_t{1} << 15;

struct Function {
  Op op;
  Range x, y = {};
};

// Where models call them; sine and cosine beyond the first period, so that the reduction counts.
constexpr Function kFunctions[] = {
    {Op::kNegate, {-10, 10}},
    {Op::kMaximum, {-10, 10}, {-10, 10}},
    {Op::kExponential, {-10, 10}},
    {Op::kExponentialMinusOne, {-4, 4}},
    {Op::kLog, {0.01, 100}},
    {Op::kLogPlusOne, {-0.9, 10}},
    {Op::kTanh, {-4, 4}},
    {Op::kErf, {-4, 4}},
    {Op::kLogistic, {-10, 10}},
    {Op::kSine, {-100, 100}},
    {Op::kCosine, {-100, 100}},
    {Op::kTan, {-1.5, 1.5}},
    {Op::kPower, {0.01, 10}, {-3, 3}},
    {Op::kSqrt, {0.01, 100}},
    {Op::kRsqrt, {0.01, 100}},
    {Op::kCbrt, {-100, 100}},
    {Op::kAtan2, {-1, 1}, {-1, 1}},
    {Op::kRemainder, {-100, 100}, {1, 10}},
};

KernelCase MathCase(const Function& function, const char* dtype) {
  const std::string shape = fmt::format("{}[{}]", dtype, kCount);
  const bool binary = Arity(function.op) == 2;
  return {.name = fmt::format("{}/{}", OpName(function.op), dtype),
          .text = fmt::format("HloModule math\nENTRY main {{\n  x = {0} parameter(0)\n{1}"
                              "  ROOT r = {0} {2}(x{3})\n}}\n",
                              shape, binary ? "  y = " + shape + " parameter(1)\n" : "",
                              OpName(function.op), binary ? ", y" : ""),
          .inputs = {function.x, function.y},
          .elements = kCount};
}

}  // namespace
}  // namespace fusemark

int main(int argc, char** argv) {
  for (const auto& function : fusemark::kFunctions) {
    for (const char* dtype : {"f32", "f64"}) {
      fusemark::RegisterCase(fusemark::MathCase(function, dtype), false);
    }
  }
  return fusemark::RunCases(argc, argv);
}
