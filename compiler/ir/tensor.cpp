#include "compiler/ir/tensor.h"

#include <cstring>

#include "compiler/support/memory.h"

namespace fusemark {

Tensor MakeTensor(Shape shape, bool zero) {
  Tensor tensor;
  const int64_t bytes = ByteSizeOf(shape);
  std::byte* memory = AllocateArray(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (zero) std::memset(memory, 0, static_cast<size_t>(bytes));
  tensor.shape = AtBounds(std::move(shape));
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
