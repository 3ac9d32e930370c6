// Copies between strided views of raw elements: every index-map operation (transpose, slice, pad,
// broadcast, reverse, concatenate, ...) is one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fusemark::reference {

// target[sum i_d * target_strides[d]] = source[sum i_d * source_strides[d]] for every index i of
// the box `dims`. Strides are in elements of `element_bytes` bytes and may be zero or negative.
void CopyStrided(int64_t element_bytes, std::span<const int64_t> dims, const std::byte* source,
                 std::span<const int64_t> source_strides, std::byte* target,
                 std::span<const int64_t> target_strides);

// Steps `index` to the next position of the box `dims`, last dimension fastest; false at the end.
bool NextIndex(std::span<const int64_t> dims, std::span<int64_t> index);

}  // namespace fusemark::reference
