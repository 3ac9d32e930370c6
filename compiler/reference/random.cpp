// rng-bit-generator, rng and rng-get-and-update-state. The bit generators are those of Random123
// (Threefry-2x32 and Philox-4x32 with 20 and 10 rounds), one block at a time.
#include "compiler/ir/random.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "compiler/reference/context.h"
#include "compiler/reference/lanes.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

using Words2 = std::array<uint32_t, 2>;
using Words4 = std::array<uint32_t, 4>;

uint32_t Low(uint64_t x) {
  return static_cast<uint32_t>(x);
}
uint32_t High(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}
uint64_t Join(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

Words2 ThreeFry(uint64_t key, uint64_t counter) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[3] = {Low(key), High(key), 0x1BD11BDA ^ Low(key) ^ High(key)};
  uint32_t x = Low(counter) + keys[0], y = High(counter) + keys[1];
  for (uint32_t round = 0; round < 20; ++round) {
    x += y;
    y = std::rotl(y, kRotations[round % 8]) ^ x;
    if (round % 4 != 3) continue;
    const uint32_t injection = round / 4 + 1;
    x += keys[injection % 3];
    y += keys[(injection + 1) % 3] + injection;
  }
  return {x, y};
}

Words4 Philox(uint64_t key, uint64_t low, uint64_t high) {
  Words4 w = {Low(low), High(low), Low(high), High(high)};
  uint32_t k0 = Low(key), k1 = High(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t{0xD2511F53} * w[0], q = uint64_t{0xCD9E8D57} * w[2];
    w = {High(q) ^ w[1] ^ k0, Low(q), High(p) ^ w[3] ^ k1, Low(p)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return w;
}

struct Counter {
  uint64_t low, high;
  Counter operator+(uint64_t n) const { return {low + n, high + (low + n < low ? 1 : 0)}; }
};

void StoreBits(Tensor& bits, int64_t i, uint64_t value) {
  const int64_t size = ByteSize(bits.shape.dtype);
  std::memcpy(bits.data.get() + i * size, &value, static_cast<size_t>(size));  // little-endian
}

// Fills `bits`; returns the counter after the last block.
uint64_t FillThreeFry(uint64_t key, uint64_t counter, Tensor& bits) {
  const int64_t count = ElementCount(bits.shape);
  if (ByteSize(bits.shape.dtype) == 8) {
    for (int64_t i = 0; i < count; ++i) {
      const Words2 words = ThreeFry(key, counter + static_cast<uint64_t>(i));
      StoreBits(bits, i, Join(words[0], words[1]));
    }
    return counter + static_cast<uint64_t>(count);
  }
  // [outer, length, inner] with pairs along the middle; blocks are numbered row-major in
  // [outer, ceil(length / 2), inner].
  const Dims& dims = bits.shape.dims;
  const size_t paired = PairedDim(dims);
  int64_t length = 1, inner = 1, outer = 1;
  for (size_t d = 0; d < dims.size(); ++d)
    (d < paired ? outer : d == paired ? length : inner) *= dims[d];
  const int64_t half = (length + 1) / 2;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t h = 0; h < half; ++h)
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t block = (o * half + h) * inner + i;
        const Words2 words = ThreeFry(key, counter + static_cast<uint64_t>(block));
        StoreBits(bits, (o * length + 2 * h) * inner + i, words[0]);
        if (2 * h + 1 < length) StoreBits(bits, (o * length + 2 * h + 1) * inner + i, words[1]);
      }
  return counter + static_cast<uint64_t>(outer * half * inner);
}

Counter FillPhilox(uint64_t key, Counter counter, Tensor& bits) {
  const int64_t count = ElementCount(bits.shape);
  const int64_t per_block = ByteSize(bits.shape.dtype) == 8 ? 2 : 4;
  const int64_t blocks = (count + per_block - 1) / per_block;
  for (int64_t block = 0; block < blocks; ++block) {
    const Counter at = counter + static_cast<uint64_t>(block);
    const Words4 w = Philox(key, at.low, at.high);
    for (int64_t k = 0; k < per_block && block * per_block + k < count; ++k) {
      const auto j = static_cast<size_t>(k);
      StoreBits(bits, block * per_block + k,
                per_block == 2 ? Join(w[2 * j], w[2 * j + 1]) : uint64_t{w[j]});
    }
  }
  return counter + static_cast<uint64_t>(blocks);
}

double Fraction(uint64_t bits, int width, int used) {
  return std::ldexp(static_cast<double>(bits >> (width - used)), -used);
}

// In T: f64, or f32 for the types that compute in it.
template <class T>
T DrawFloat(bool normal, int bits, const Words4& w, T a, T b) {
  constexpr bool kDouble = sizeof(T) == 8;
  const uint64_t first = kDouble ? Join(w[0], w[1]) : w[0];
  const uint64_t second = kDouble ? Join(w[2], w[3]) : w[1];
  constexpr int kWidth = kDouble ? 64 : 32, kNormalBits = kDouble ? 53 : 24;
  if (!normal) return a + static_cast<T>(Fraction(first, kWidth, bits)) * (b - a);
  const T u = static_cast<T>(Fraction(first, kWidth, kNormalBits));
  const T v = static_cast<T>(Fraction(second, kWidth, kNormalBits));
  const T radius = std::sqrt(T{-2} * std::log(T{1} - u));
  return a + b * (radius * std::cos(static_cast<T>(2 * std::numbers::pi) * v));
}

template <class T>
void DrawFloats(uint64_t seed, bool normal, Operands operands, Tensor& result) {
  const DType dtype = result.shape.dtype;
  double bounds[2];
  for (size_t k = 0; k < 2; ++k) Decode(dtype, operands[k]->data.get(), 1, &bounds[k]);
  const int64_t count = ElementCount(result.shape), size = ByteSize(dtype);
  for (int64_t i = 0; i < count; ++i) {
    const Words4 w = Philox(seed, static_cast<uint64_t>(i), 0);
    double value = DrawFloat<T>(normal, FractionBits(dtype), w, static_cast<T>(bounds[0]),
                                static_cast<T>(bounds[1]));
    RoundLanes(dtype, &value, 1);
    if (!normal && value >= bounds[1]) value = bounds[0];
    Encode(dtype, &value, 1, result.data.get() + i * size);
  }
}

void DrawIntegers(uint64_t seed, Operands operands, Tensor& result) {
  const DType dtype = result.shape.dtype;
  uint64_t bounds[2];
  for (size_t k = 0; k < 2; ++k) Decode(dtype, operands[k]->data.get(), 1, &bounds[k]);
  const uint64_t range = bounds[1] - bounds[0];
  const int64_t count = ElementCount(result.shape), size = ByteSize(dtype);
  for (int64_t i = 0; i < count; ++i) {
    const Words4 w = Philox(seed, static_cast<uint64_t>(i), 0);
    uint64_t value = bounds[0] + (range == 0 ? 0 : Join(w[0], w[1]) % range);
    if (dtype == DType::kPred) value &= 1;  // else anything but 0 would be true
    Encode(dtype, &value, 1, result.data.get() + i * size);
  }
}

}  // namespace

Tensors EvalRngBitGenerator(const Instr& instr, Operands operands) {
  const Tensor& state = *operands[0];
  const auto* words = state.as<uint64_t>();
  const bool pair = instr.shape.is_tuple, wide = state.shape.dims[0] == 3;
  const auto algorithm = AlgorithmOf(instr, state.shape);
  FM_CHECK(algorithm.has_value());
  Tensor bits = MakeTensor(pair ? instr.shape.elements[1] : instr.shape);
  Tensor next = CopyTensor(state);
  if (*algorithm == BitAlgorithm::kThreeFry) {
    next.as<uint64_t>()[1] = FillThreeFry(words[0], words[1], bits);
  } else {
    // A state of two words is read backwards as the counter, and its low word comes back.
    const Counter counter = wide ? Counter{words[1], words[2]} : Counter{words[1], words[0]};
    const Counter after = FillPhilox(words[0], counter, bits);
    next.as<uint64_t>()[1] = after.low;
    if (wide) next.as<uint64_t>()[2] = after.high;
  }
  Tensors results;
  if (pair) results.push_back(std::move(next));
  results.push_back(std::move(bits));
  return results;
}

Tensor EvalRng(uint64_t seed, const Instr& instr, Operands operands) {
  Tensor result = MakeTensor(instr.shape);
  const bool normal = instr.As<RngAttrs>().kind == "rng_normal";
  if (!IsFloat(instr.shape.dtype)) {
    DrawIntegers(seed, operands, result);
  } else if (instr.shape.dtype == DType::kF64) {
    DrawFloats<double>(seed, normal, operands, result);
  } else {
    DrawFloats<float>(seed, normal, operands, result);
  }
  return result;
}

}  // namespace fusemark::reference
