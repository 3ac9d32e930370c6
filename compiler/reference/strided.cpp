#include "compiler/reference/strided.h"

#include <cstring>

#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

struct Bytes16 {
  uint64_t low, high;
};

template <class T>
void CopyRow(int64_t n, const std::byte* source, int64_t source_stride, std::byte* target,
             int64_t target_stride) {
  const auto* from = reinterpret_cast<const T*>(source);
  auto* to = reinterpret_cast<T*>(target);
  if (source_stride == 1 && target_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i * target_stride] = from[i * source_stride];
}

template <class T>
void CopyBox(std::span<const int64_t> dims, const std::byte* source,
             std::span<const int64_t> source_strides, std::byte* target,
             std::span<const int64_t> target_strides) {
  if (dims.empty()) return CopyRow<T>(1, source, 1, target, 1);
  if (dims.size() == 1)
    return CopyRow<T>(dims[0], source, source_strides[0], target, target_strides[0]);
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < dims[0]; ++i) {
    CopyBox<T>(dims.subspan(1), source + i * source_strides[0] * kSize, source_strides.subspan(1),
               target + i * target_strides[0] * kSize, target_strides.subspan(1));
  }
}

}  // namespace

void CopyStrided(int64_t element_bytes, std::span<const int64_t> dims, const std::byte* source,
                 std::span<const int64_t> source_strides, std::byte* target,
                 std::span<const int64_t> target_strides) {
  for (int64_t dim : dims)
    if (dim <= 0) return;
  switch (element_bytes) {
    case 1: return CopyBox<uint8_t>(dims, source, source_strides, target, target_strides);
    case 2: return CopyBox<uint16_t>(dims, source, source_strides, target, target_strides);
    case 4: return CopyBox<uint32_t>(dims, source, source_strides, target, target_strides);
    case 8: return CopyBox<uint64_t>(dims, source, source_strides, target, target_strides);
    case 16: return CopyBox<Bytes16>(dims, source, source_strides, target, target_strides);
    default: FM_CHECK(false, "element size " + std::to_string(element_bytes));
  }
}

bool NextIndex(std::span<const int64_t> dims, std::span<int64_t> index) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

}  // namespace fusemark::reference
