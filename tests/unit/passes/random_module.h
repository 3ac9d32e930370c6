// Random modules for property tests: a chain of operations on one dtype with the constants (0, 1,
// -0, iota) and shapes (extents of 1, splittable ones) that the rules of the passes look for; wide
// ones with extents that leave remainders in tiles and the patterns that plans look for (rows,
// updates, windows).
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "compiler/ir/rewrite.h"

namespace fusemark {

class RandomModule {
 public:
  explicit RandomModule(uint64_t seed, bool wide = false) : random_(seed), wide_(wide) {}
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
  InstrId StepWide();
  InstrId StepRow();
  InstrId StepWindow(InstrId value);
  InstrId StepUpdate(InstrId value);
  InstrId StepPad(InstrId value);
  InstrId Reduced(InstrId value, const Dims& dims);
  std::span<const Dims> Shapes() const;

  std::mt19937_64 random_;
  bool wide_;
  DType dtype_ = DType::kF32;
  Builder* builder_ = nullptr;
  std::vector<InstrId> values_;
};

}  // namespace fusemark
