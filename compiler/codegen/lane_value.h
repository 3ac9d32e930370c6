// The value of a loop expression while code for it is emitted. Internal to codegen.
//
// Inside a vector loop of L lanes a value is uniform (one scalar) or varying (<L x T>). Index
// values (s64) are kept symbolic as long as possible: scalar + offset + stride * lane, so that a
// memory access knows its stride and constant offsets end in the address. Ranges are proven
// intervals; they let index arithmetic use 32-bit lanes and unsigned division.
#pragma once

#include <llvm/IR/Value.h>

#include <cstdint>
#include <limits>

namespace fusemark::codegen {

struct Range {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool Fits32() const {
    return low >= std::numeric_limits<int32_t>::min() &&
           high <= std::numeric_limits<int32_t>::max();
  }
};

// Intervals of wrapping s64 arithmetic: everything if a bound overflows.
Range AddRanges(const Range& a, const Range& b);
Range SubtractRanges(const Range& a, const Range& b);
Range MultiplyRanges(const Range& a, const Range& b);

struct LaneValue {
  llvm::Value* value = nullptr;  // null only in an index value: 0
  bool varying = false;          // `value` is a vector (offset and stride are 0 then)
  int64_t offset = 0;            // index values only, as is what follows
  int64_t stride = 0;
  Range range;

  bool IsUniform() const { return !varying && stride == 0; }
  bool IsConstant() const { return value == nullptr && stride == 0; }
};

}  // namespace fusemark::codegen
