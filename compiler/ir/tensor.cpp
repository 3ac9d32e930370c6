#include "compiler/ir/tensor.h"

#include <cstring>

namespace fusemark {

Tensor MakeTensor(Shape shape, bool zero) {
  constexpr size_t kAlignment = 64;
  Tensor tensor;
  const size_t bytes = static_cast<size_t>(ByteSizeOf(shape));
  const size_t rounded = (bytes / kAlignment + 1) * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  if (zero) std::memset(memory, 0, rounded);
  tensor.shape = std::move(shape);
  tensor.data.reset(memory);
  return tensor;
}

Tensor CopyTensor(const Tensor& tensor) {
  Tensor copy = MakeTensor(tensor.shape, false);
  std::memcpy(copy.data.get(), tensor.data.get(), static_cast<size_t>(tensor.size_bytes()));
  return copy;
}

Tensor TensorFromLiteral(const Literal& literal) {
  Tensor tensor = MakeTensor(literal.shape);
  const auto bytes = literal.bytes();
  if (!bytes.empty()) std::memcpy(tensor.data.get(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace fusemark
