// Small called computations (reducers, comparators, scatter updates) run on lanes: many elements
// per step, no tensor per scalar.
//
// Region runs any computation of scalars. Combiner is the reducer built on it; it knows the exact
// scalar regions (add, maximum, ...) and sums floats in f64 without rounding in between.
#pragma once

#include <span>
#include <vector>

#include "compiler/reference/context.h"
#include "compiler/reference/lanes.h"

namespace fusemark::reference {

class Region {
 public:
  Region(const Context& context, ComputationId computation);

  // Runs the region on n <= kBlock lanes; params[i] points to the lanes of parameter i. Result
  // leaf i is then at result(i), valid until the next Run.
  void Run(int64_t n, std::span<const void* const> params);
  const void* result(size_t leaf) const { return registers_[results_[leaf]]; }
  DType result_type(size_t leaf) const { return result_types_[leaf]; }

 private:
  struct Step {
    const Instr* instr;
    std::vector<size_t> operands;
    std::vector<DType> types;
    size_t target;
    mutable std::vector<const void*> pointers;
  };

  size_t NewRegister();
  void AddConstant(const Literal& literal, size_t target);
  // Appends the steps of a computation called with these argument leaves; false if it holds
  // something that is not scalar arithmetic.
  bool Append(ComputationId computation, const std::vector<std::vector<size_t>>& arguments,
              std::vector<size_t>& results);
  bool AppendInstr(const Computation& computation, const Instr& instr,
                   std::vector<std::vector<size_t>>& values);
  void RunByCall(int64_t n, std::span<const void* const> params);

  const Context& context_;
  ComputationId computation_;
  bool by_call_ = false;  // the computation holds more than scalar arithmetic
  size_t parameter_count_;
  std::vector<Step> steps_;
  std::vector<LaneBuffer> buffers_;
  std::vector<const void*> registers_;
  std::vector<size_t> results_;
  std::vector<DType> result_types_;
};

class Combiner {
 public:
  // `types`: the types of the accumulators (one per reduced operand).
  Combiner(const Context& context, ComputationId computation, std::vector<DType> types);

  // accumulators = region(accumulators, elements), n lanes, any n. The lanes of one call must be
  // distinct elements.
  void Combine(int64_t n, std::span<void* const> accumulators,
               std::span<const void* const> elements);

 private:
  std::vector<DType> types_;
  Op op_ = Op::kParameter;  // kParameter: run the region
  bool returns_second_ = false;
  Region region_;
  std::vector<const void*> params_;
};

}  // namespace fusemark::reference
