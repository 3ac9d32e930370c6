// Random valid modules of every opcode that the engines run: small shapes (rank 0 to 5, extents
// from 0), every element type, shared values, several results, nested computations. A seed gives
// the same module in every build by one compiler.
//
// Not here: values of parameters (values.h) and any judgement of results. How a module comes about:
// each step adds an instruction (or a few) on values that exist; shapes come from InferShape, and a
// step that it refuses is undone. INVARIANT: VerifyModule accepts what Make() returns.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"

namespace fusemark {

struct HloGeneratorOptions {
  int least_steps = 3, most_steps = 14;
  int64_t most_elements = 400;  // per value
};

class HloGenerator {
 public:
  explicit HloGenerator(uint64_t seed, const HloGeneratorOptions& options = {})
      : random_(seed), options_(options) {}

  Module Make();

  // Steps undone, by the name of the step, over all modules made: for keeping the generator honest.
  const std::map<std::string_view, int>& undone() const { return undone_; }
  const std::map<std::string_view, int>& done() const { return done_; }

 private:
  friend struct HloSteps;

  enum Types : uint32_t {
    kPreds = 1,
    kIntegers = 2,
    kFloats = 4,
    kComplexes = 8,
    kReals = kIntegers | kFloats,
    kNumbers = kReals | kComplexes,
    kAnything = kNumbers | kPreds,
  };

  // A computation being made.
  struct Scope {
    Computation computation;
    std::vector<InstrId> values;  // arrays that steps may read
    bool is_entry = false;
    bool is_scalar = false;  // scalars and elementwise instructions only
    int depth = 0;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  bool Chance(uint64_t percent) { return Below(100) < percent; }
  template <class T, size_t N>
  const T& OneOf(const T (&choices)[N]) {
    return choices[Below(N)];
  }
  DType PickType(uint32_t types);
  Dims PickDims();
  Dims Shuffled(Dims dims);

  const Instr& At(InstrId id) const { return scope_->computation[id]; }
  const Shape& ShapeOf(InstrId id) const { return At(id).shape; }
  // The shape follows from the operands, else it is `written`. After a refusal, which marks the
  // step as invalid, any instruction stands for the result until the step is undone.
  InstrId Add(Op op, std::vector<InstrId> operands, Attrs attrs = {},
              std::vector<ComputationId> called = {}, const Shape& written = {});
  InstrId Invalid();
  InstrId Parameter(const Shape& shape);
  InstrId Constant(const Shape& shape);
  InstrId Scalar(DType dtype, double value);
  InstrId Element(InstrId tuple, int64_t index);
  InstrId Broadcast(InstrId operand, const Dims& dims, Dims map);
  InstrId Convert(InstrId operand, DType dtype);
  // A value that exists, most often a late one; a fresh one if there is none.
  InstrId Pick(uint32_t types, int64_t least_rank = 0, int64_t most_rank = 5);
  // One of exactly this shape: an old one, a broadcast or a fresh one.
  InstrId Like(DType dtype, const Dims& dims);
  InstrId Fresh(DType dtype, const Dims& dims);
  // The arrays inside a value (a tuple is taken apart).
  void Leaves(InstrId value, std::vector<InstrId>& leaves);

  void Steps(int count);
  void Step();
  // Lets `fill` make a computation whose parameters have these shapes; it returns the root.
  template <class Fill>
  ComputationId Nested(std::string_view name, const std::vector<Shape>& parameters, bool is_scalar,
                       const Fill& fill);
  ComputationId Combiner(Op op, DType dtype);
  ComputationId ArgCombiner(DType key, DType index, bool largest);
  ComputationId Comparison(const std::vector<DType>& dtypes, Direction direction, bool total);
  CompareAttrs CompareOf(DType dtype, Direction direction, bool total) const;
  Op CombinerOp(DType dtype);
  InstrId Neutral(Op op, DType dtype);
  Window PickWindow(const Dims& dims, bool dilated);
  Dims WindowedDims(const Dims& dims, const Window& window) const;

  // hlo_steps_elementwise.cpp
  InstrId Unary();
  InstrId Binary();
  InstrId Bitwise();
  InstrId Compare();
  InstrId Select();
  InstrId Clamp();
  InstrId ConvertStep();
  InstrId BitcastConvert();
  InstrId ReducePrecision();
  InstrId ComplexParts();
  InstrId Map();
  // hlo_steps_movement.cpp
  InstrId FreshStep();
  InstrId BroadcastStep();
  Dims ReshapedDims(Dims dims);
  InstrId Reshape();
  InstrId Bitcast();
  InstrId Transpose();
  InstrId Slice();
  InstrId DimensionSize();
  InstrId Pad();
  InstrId Concatenate();
  InstrId Reverse();
  InstrId Gather();
  InstrId DynamicSlice();
  InstrId DynamicUpdateSlice();
  InstrId Scatter();
  // hlo_steps_reduce.cpp
  InstrId Reduce();
  InstrId ArgReduce();
  InstrId ReduceWindow();
  InstrId RunningReduce();
  InstrId SelectAndScatter();
  InstrId Dot();
  InstrId Convolution();
  InstrId Sort();
  InstrId TopK();
  InstrId BatchNorm();
  // hlo_steps_composite.cpp
  InstrId Fft();
  InstrId WellConditioned(DType dtype, const Dims& dims);
  InstrId Cholesky();
  InstrId TriangularSolve();
  InstrId Scan();
  InstrId Fusion();
  InstrId Collective();
  InstrId StartedCollective(const Shape& shape, InstrId value);
  InstrId AsyncPair();
  InstrId CopyPair();
  // hlo_steps_control.cpp
  InstrId While();
  InstrId Conditional();
  InstrId Call();
  InstrId TupleStep();
  InstrId RandomBits();
  InstrId RandomNumbers();
  InstrId RandomState();
  InstrId Barrier();
  InstrId Dependency();

  std::mt19937_64 random_;
  HloGeneratorOptions options_;
  Module module_;
  Scope* scope_ = nullptr;
  bool invalid_ = false;
  std::map<std::string_view, int> undone_, done_;
};

template <class Fill>
ComputationId HloGenerator::Nested(std::string_view name, const std::vector<Shape>& parameters,
                                   bool is_scalar, const Fill& fill) {
  if (invalid_) return {0};  // the step is about to be undone
  Scope scope;
  scope.is_scalar = is_scalar;
  scope.depth = scope_->depth + 1;
  Scope* outer = scope_;
  scope_ = &scope;
  std::vector<InstrId> ids;
  for (const Shape& shape : parameters) ids.push_back(Parameter(shape));
  for (const InstrId id : ids) Leaves(id, scope.values);
  scope.computation.root = fill(ids);
  scope_ = outer;
  scope.computation.name = std::string(name) + "." + std::to_string(module_.computations.size());
  module_.computations.push_back(std::move(scope.computation));
  return {static_cast<uint32_t>(module_.computations.size() - 1)};
}

}  // namespace fusemark
