// Which of the library's implementations are taken: the numbers they give are compared elsewhere,
// kernel by kernel.
#include "compiler/runtime/library.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace fusemark {
namespace {

// One dimension, channels last: [1, 200, channels] by 31 taps, in groups of one channel each.
ConvSpec Depthwise(int64_t channels) {
  ConvSpec spec;
  spec.source_dims = spec.result_dims = {1, channels, 200};
  spec.source_strides = spec.result_strides = {200 * channels, 1, channels};
  spec.weight_dims = {channels, 1, 1, 31};
  spec.weight_strides = {1, 1, channels, channels};
  spec.stride = spec.dilation = {1};
  spec.pad_low = spec.pad_high = {15};
  return spec;
}

std::string Taken(const std::unique_ptr<LibraryKernel>& kernel) {
  return kernel ? kernel->implementation() : "none";
}

// What it is where nothing suits differs by processor, so only what must not be is stated.
TEST(Library, SingleChannelsAreNotUnfolded) {
  EXPECT_EQ(Taken(MakeConvolution(Depthwise(256))).find("gemm"), std::string::npos);
}

TEST(Library, ReferencesAreNotTaken) {
  ConvSpec spec = Depthwise(8);
  EXPECT_EQ(Taken(MakeConvolution(spec)).find("ref"), std::string::npos);
  spec.type = LibraryType::kS8;  // of bytes there are products only
  EXPECT_EQ(Taken(MakeConvolution(spec)).find("ref"), std::string::npos);
}

TEST(Library, ProductsOfFloatsHaveAnImplementation) {
  MatmulSpec spec;
  spec.m = spec.n = spec.k = 64;
  spec.lhs_m_stride = spec.rhs_k_stride = 64;
  const auto kernel = MakeMatmul(spec);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(std::string(kernel->implementation()).find("ref"), std::string::npos);
}

}  // namespace
}  // namespace fusemark
