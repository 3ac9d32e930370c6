// Runs a kernel in the interpreter on generated operands and gives back the bytes of its results.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "compiler/loops/interpret.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/print.h"

namespace fusemark::loops {

inline Kernel MustParse(const std::string& text) {
  auto kernel = Parse(text);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message) << "\n" << text;
  return kernel.ok() ? *kernel : Kernel{};
}

using Bytes = std::vector<std::byte>;

inline size_t BytesIn(const Buffer& buffer) {
  auto bytes = static_cast<size_t>(ByteSize(buffer.dtype));
  for (const int64_t dim : buffer.dims) bytes *= static_cast<size_t>(dim);
  return bytes;
}

// Floats get small odd multiples of 1/8, integers small numbers, from a fixed sequence.
inline Bytes MakeOperand(const Buffer& buffer, uint64_t seed) {
  Bytes bytes(BytesIn(buffer));
  const auto size = static_cast<size_t>(ByteSize(buffer.dtype));
  uint64_t state = seed * 2862933555777941757ULL + 3037000493ULL;
  for (size_t i = 0; i + size <= bytes.size(); i += size) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto small = static_cast<int64_t>((state >> 33) % 61) - 30;
    if (buffer.dtype == DType::kF32) {
      const float value = static_cast<float>(small) * 0.37F;
      std::memcpy(&bytes[i], &value, size);
    } else {
      const int64_t value = small < 0 ? -small : small;
      std::memcpy(&bytes[i], &value, size);
    }
  }
  return bytes;
}

inline Result<std::vector<Bytes>> RunKernel(const Kernel& kernel) {
  std::vector<Bytes> inputs, outputs;
  for (size_t i = 0; i < kernel.operands.size(); ++i)
    inputs.push_back(MakeOperand(kernel[kernel.operands[i]], i + 1));
  for (const BufferId id : kernel.results)
    outputs.emplace_back(BytesIn(kernel[id]), std::byte{0x5a});
  std::vector<const void*> operands;
  std::vector<void*> results;
  for (const Bytes& bytes : inputs) operands.push_back(bytes.data());
  for (Bytes& bytes : outputs) results.push_back(bytes.data());
  auto status = Interpret(kernel, operands, results);
  if (!status.ok()) return status.error();
  return outputs;
}

template <class T>
std::vector<T> As(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace fusemark::loops
