// Lanes: the interpreter's working form of array elements. Every element type is widened to one of
// four compute types (int64, uint64, double, complex<double>), worked on in blocks, and rounded
// back when stored. Widening is exact for every type, so the arithmetic is written four times
// instead of once per element type.
//
// Not here: operations (lane_ops.h), tensors as a whole (elementwise.h).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "compiler/ir/dtype.h"

namespace fusemark::reference {

using Complex = std::complex<double>;

// pred is kUint with the values 0 and 1.
enum class Kind : uint8_t { kInt, kUint, kFloat, kComplex };

Kind KindOf(DType dtype);
inline int64_t LaneSize(Kind kind) {
  return kind == Kind::kComplex ? 16 : 8;
}
inline int64_t LaneSize(DType dtype) {
  return LaneSize(KindOf(dtype));
}

// Lanes handled together: small enough for the first-level cache, large enough to hide a switch.
constexpr int64_t kBlock = 512;

void Decode(DType dtype, const std::byte* source, int64_t n, void* lanes);
// Rounds once to nearest even (floats), wraps (integers), tests against zero (pred).
void Encode(DType dtype, const void* lanes, int64_t n, std::byte* target);
// What Encode followed by Decode gives.
void RoundLanes(DType dtype, void* lanes, int64_t n);

// Owned room for n lanes, not initialised; of any kind unless told which.
class LaneBuffer {
 public:
  explicit LaneBuffer(int64_t n = kBlock, Kind kind = Kind::kComplex)
      : memory_(new std::byte[static_cast<size_t>(n * LaneSize(kind))]) {}
  void* data() const { return memory_.get(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

// Calls f with a null pointer of the compute type of `kind`: f(static_cast<double*>(nullptr)).
template <class F>
decltype(auto) VisitKind(Kind kind, F f) {
  switch (kind) {
    case Kind::kInt: return f(static_cast<int64_t*>(nullptr));
    case Kind::kUint: return f(static_cast<uint64_t*>(nullptr));
    case Kind::kFloat: return f(static_cast<double*>(nullptr));
    case Kind::kComplex: break;
  }
  return f(static_cast<Complex*>(nullptr));
}

}  // namespace fusemark::reference
