#include "tests/fuzz/values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/compile.h"
#include "compiler/ir/number.h"

namespace fusemark {
namespace {

double PlainFloat(std::mt19937_64& random) {
  constexpr double kCorners[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -1.5, 2.5, 3.0};
  if (random() % 4 == 0) return kCorners[random() % std::size(kCorners)];
  const auto step = static_cast<double>(random() % 20001);
  return (step - 10000) / 2500;  // -4 to 4
}

double SpecialFloat(DType dtype, std::mt19937_64& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (random() % 8) {
    case 0: return kInfinity;
    case 1: return -kInfinity;
    case 2: return std::numeric_limits<double>::quiet_NaN();
    case 3: return dtype == DType::kF64 ? 4.9e-324 : 1e-40;
    case 4: return dtype == DType::kF64 ? -2.3e-308 : -3e-39;
    // Large, but sums of products stay finite: where one engine's partial sum overflows and
    // another's does not, in another order or in f64, both are right.
    case 5: return dtype == DType::kF64 ? 1e150 : 1e18;
    case 6: return -6e-8;
    default: return 65504;
  }
}

uint64_t FloatBits(DType dtype, ValueKind kind, std::mt19937_64& random) {
  const bool special = kind == ValueKind::kSpecial && random() % 5 == 0;
  return FloatToBits(dtype, special ? SpecialFloat(dtype, random) : PlainFloat(random));
}

uint64_t IntegerBits(DType dtype, ValueKind kind, std::mt19937_64& random) {
  const int width = BitWidth(dtype);
  int64_t value = static_cast<int64_t>(random() % 21) - (IsSigned(dtype) ? 10 : 0);
  if (kind == ValueKind::kSpecial && random() % 4 == 0) {
    const uint64_t top = uint64_t{1} << (width - 1);
    const uint64_t corners[] = {top, top - 1, ~uint64_t{0}, random()};
    value = static_cast<int64_t>(corners[random() % std::size(corners)]);
  }
  // Sub-byte integers are stored extended to a byte.
  const int shift = 64 - width;
  const uint64_t raised = static_cast<uint64_t>(value) << shift;
  return IsSigned(dtype) ? static_cast<uint64_t>(static_cast<int64_t>(raised) >> shift)
                         : raised >> shift;
}

uint64_t ElementBits(DType dtype, ValueKind kind, std::mt19937_64& random) {
  if (dtype == DType::kPred) return random() % 2;
  return IsFloat(dtype) ? FloatBits(dtype, kind, random) : IntegerBits(dtype, kind, random);
}

}  // namespace

void FillRandom(DType dtype, std::span<std::byte> bytes, ValueKind kind, std::mt19937_64& random) {
  const DType element = IsComplex(dtype) ? ComponentOf(dtype) : dtype;
  const auto size = static_cast<size_t>(ByteSize(element));
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    const uint64_t bits = ElementBits(element, kind, random);
    std::memcpy(&bytes[at], &bits, size);
  }
}

Literal RandomLiteral(const Shape& shape, ValueKind kind, std::mt19937_64& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(ByteSizeOf(shape)));
  FillRandom(shape.dtype, bytes, kind, random);
  return MakeLiteral(shape, std::move(bytes));
}

std::vector<Tensor> RandomInputs(const Module& module, ValueKind kind, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> inputs;
  for (const Shape& leaf : ParameterLeaves(module)) {
    inputs.push_back(MakeTensor(leaf));
    const Tensor& tensor = inputs.back();
    FillRandom(leaf.dtype, {tensor.data.get(), static_cast<size_t>(tensor.size_bytes())}, kind,
               random);
  }
  return inputs;
}

}  // namespace fusemark
