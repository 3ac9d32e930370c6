// Random small modules for the semantic test of the passes: a chain of operations on one dtype with
// the constants (0, 1, -0, iota) and shapes (extents of 1, splittable ones) that rules look for.
#pragma once

#include <cstdint>
#include <random>

#include "compiler/ir/rewrite.h"

namespace fusemark {

class RandomModule {
 public:
  explicit RandomModule(uint64_t seed) : random_(seed) {}
  Module Make();

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  InstrId Pick() { return values_[Below(values_.size())]; }
  InstrId Like(const Dims& dims);
  InstrId SplatLike(const Dims& dims);
  InstrId Step();
  InstrId StepElementwise();
  InstrId StepMovement();
  InstrId StepSlicing();
  InstrId StepReduce(InstrId value);
  InstrId StepDot(InstrId value);

  std::mt19937_64 random_;
  DType dtype_ = DType::kF32;
  Builder* builder_ = nullptr;
  std::vector<InstrId> values_;
};

}  // namespace fusemark
