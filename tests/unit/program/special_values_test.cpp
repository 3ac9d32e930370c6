// Where arithmetic meets the ends of its types: what the reference gives is written out, and off
// and on must give the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

Module MustParse(const std::string& text) {
  auto module = ParseModule(text, "test");
  EXPECT_TRUE(module.ok()) << module.error().message << "\n" << text;
  return std::move(*module);
}

template <class T>
std::vector<T> ReferenceOf(const Module& module) {
  const auto results = Evaluate(module, {});
  EXPECT_TRUE(results.ok()) << results.error().message;
  const Tensor& first = results->front();
  return {first.as<T>(), first.as<T>() + ElementCount(first.shape)};
}

// Two rows of `left` by one column of `right`, which a barrier keeps from being folded.
template <class T>
void ConvolutionGives(const std::string& type, const std::string& left, const std::string& right,
                      const std::vector<T>& want) {
  const std::string rows = type + "[2,3]", column = type + "[3,1]";
  const Module module = MustParse(
      "ENTRY e {\n a = " + rows + " constant(" + left + ")\n b = " + column + " constant(" + right +
      ")\n t = (" + rows + ", " + column + ") tuple(a, b)\n o = (" + rows + ", " + column +
      ") opt-barrier(t)\n x = " + rows + " get-tuple-element(o), index=0\n y = " + column +
      " get-tuple-element(o), index=1\n ROOT r = " + type +
      "[2,1] convolution(x, y), dim_labels=bf_io->bf\n}");
  EXPECT_EQ(ReferenceOf<T>(module), want) << type;
  EXPECT_EQ(EnginesDisagree(module, {}), "") << type;
}

TEST(SpecialValues, ConvolutionsSaturateExactSums) {
  ConvolutionGives<uint32_t>("u32", "{{4294967295, 4294967295, 4294967295}, {1, 2, 0}}",
                             "{{4294967295}, {4294967295}, {4294967295}}",
                             {UINT32_MAX, UINT32_MAX});
  ConvolutionGives<uint32_t>("u32", "{{65535, 65537, 0}, {65536, 65535, 65535}}",
                             "{{65535}, {1}, {1}}", {4294901762U, UINT32_MAX});
  // Sums that leave 64 bits on the way to a result that every type holds.
  ConvolutionGives<int32_t>(
      "s32", "{{-2147483648, -2147483648, -2147483648}, {-2147483648, 2147483647, 7}}",
      "{{-2147483648}, {-2147483648}, {-2147483648}}", {INT32_MAX, INT32_MIN});
  ConvolutionGives<int32_t>("s32",
                            "{{2147483647, 2147483647, 2147483647}, {-2147483648, -2147483648, 1}}",
                            "{{-2147483648}, {2147483647}, {-5}}", {INT32_MIN, 2147483643});
  ConvolutionGives<uint8_t>("u8", "{{255, 255, 255}, {16, 0, 0}}", "{{15}, {1}, {1}}", {255, 240});
  ConvolutionGives<int8_t>("s8", "{{127, 127, 127}, {-128, 1, 1}}", "{{-128}, {1}, {1}}",
                           {-128, 127});
  // No wider type holds these.
  ConvolutionGives<uint64_t>("u64", "{{18446744073709551615, 1, 1}, {9223372036854775808, 1, 0}}",
                             "{{1}, {1}, {1}}", {1, 9223372036854775809U});
}

TEST(SpecialValues, DotsWrap) {
  const Module module = MustParse(R"(ENTRY e {
  a = u32[2] constant({3848297472, 3848297473})
  o = u32[2] opt-barrier(a)
  ROOT r = u32[] dot(o, o), lhs_contracting_dims={0}, rhs_contracting_dims={0} })");
  EXPECT_EQ(ReferenceOf<uint32_t>(module), std::vector<uint32_t>{216053761U});
  EXPECT_EQ(EnginesDisagree(module, {}), "");
}

}  // namespace
}  // namespace fusemark
