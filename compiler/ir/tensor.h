// Tensor: an owned array value at run time, dense row-major, 64-byte aligned: inputs, outputs,
// reference values. Constants inside a module are Literals (immutable, shared); tensors are what
// programs read and write.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "compiler/ir/literal.h"
#include "compiler/ir/shape.h"

namespace fusemark {

struct Tensor {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  Shape shape;  // an array (tuples are flattened into leaves)
  std::unique_ptr<std::byte, Free> data;

  int64_t size_bytes() const { return ByteSizeOf(shape); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data.get());
  }
};

// Zero-filled unless `zero` is false. Throws std::bad_alloc when memory is exhausted (callers turn
// it into a Result).
Tensor MakeTensor(Shape shape, bool zero = true);
Tensor CopyTensor(const Tensor& tensor);
Tensor TensorFromLiteral(const Literal& literal);

}  // namespace fusemark
