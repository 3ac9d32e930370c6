#include "tests/fuzz/hlo_generator.h"

namespace fusemark {
namespace {

constexpr int kDeepest = 2;  // computations in computations

}  // namespace

// A counted loop: the counter first, then values that the body replaces by ones of their shape.
InstrId HloGenerator::While() {
  if (scope_->depth >= kDeepest) return Invalid();
  std::vector<InstrId> state{Scalar(DType::kS32, 0)};
  for (int64_t i = Between(1, 3); i > 0; --i) state.push_back(Pick(kAnything));
  std::vector<Shape> shapes;
  for (const InstrId id : state) shapes.push_back(ShapeOf(id));
  const Shape tuple = TupleShape(shapes);
  const auto trips = static_cast<double>(Between(0, 4));
  const auto condition = Nested("cond", {tuple}, false, [&](const std::vector<InstrId>& in) {
    return Add(Op::kCompare, {Element(in[0], 0), Scalar(DType::kS32, trips)},
               CompareOf(DType::kS32, Direction::kLt, false));
  });
  const auto body = Nested("body", {tuple}, false, [&](const std::vector<InstrId>& in) {
    Steps(static_cast<int>(Between(1, 4)));
    std::vector<InstrId> next;
    const InstrId counter = Element(in[0], 0);
    next.push_back(Add(Op::kAdd, {counter, Scalar(DType::kS32, 1)}));
    for (size_t i = 1; i < shapes.size(); ++i)
      next.push_back(Like(shapes[i].dtype, shapes[i].dims));
    return Add(Op::kTuple, next);
  });
  return Add(Op::kWhile, {Add(Op::kTuple, state)}, {}, {condition, body});
}

InstrId HloGenerator::Conditional() {
  if (scope_->depth >= kDeepest) return Invalid();
  const bool two = Chance(60);
  const InstrId selector = Like(two ? DType::kPred : DType::kS32, {});
  const int64_t branches = two ? 2 : Between(1, 3);
  const Shape result = ShapeOf(Pick(kAnything));
  std::vector<InstrId> operands{selector};
  std::vector<ComputationId> called;
  for (int64_t i = 0; i < branches; ++i) {
    InstrId argument = Pick(kAnything);
    if (Chance(30)) argument = Add(Op::kTuple, {argument, Pick(kAnything)});
    operands.push_back(argument);
    const Shape shape = ShapeOf(argument);
    called.push_back(Nested("branch", {shape}, false, [&](const std::vector<InstrId>&) {
      Steps(static_cast<int>(Between(0, 4)));
      return Like(result.dtype, result.dims);
    }));
  }
  return Add(Op::kConditional, operands, {}, called);
}

InstrId HloGenerator::Call() {
  if (scope_->depth >= kDeepest) return Invalid();
  std::vector<InstrId> arguments;
  std::vector<Shape> shapes;
  for (int64_t i = Between(1, 3); i > 0; --i) {
    arguments.push_back(Pick(kAnything));
    shapes.push_back(ShapeOf(arguments.back()));
  }
  const auto callee = Nested("callee", shapes, false, [&](const std::vector<InstrId>&) {
    Steps(static_cast<int>(Between(1, 4)));
    const InstrId last = scope_->values.back();
    return Chance(60) ? last : Add(Op::kTuple, {last, scope_->values.front()});
  });
  return Add(Op::kCall, arguments, {}, {callee});
}

InstrId HloGenerator::TupleStep() {
  std::vector<InstrId> elements;
  for (int64_t i = Between(1, 3); i > 0; --i) elements.push_back(Pick(kAnything));
  const InstrId inner = Add(Op::kTuple, elements);
  if (Chance(50)) return inner;
  return Add(Op::kTuple, {inner, elements[0]});
}

InstrId HloGenerator::RandomBits() {
  const bool philox = Chance(50);
  const Shape state = ArrayShape(DType::kU64, {philox ? Between(2, 3) : 2});
  constexpr DType kBits[] = {DType::kU32, DType::kU64, DType::kU8, DType::kU16};
  const Shape bits = ArrayShape(OneOf(kBits), PickDims());
  const InstrId start = Like(state.dtype, state.dims);
  return Add(Op::kRngBitGenerator, {start}, RngAttrs{philox ? "rng_philox" : "rng_three_fry"}, {},
             TupleShape({state, bits}));
}

// The numbers are a function of the names of instruction and computation (compiler/ir/random.h), so
// that all engines draw the same ones.
InstrId HloGenerator::RandomNumbers() {
  const bool normal = Chance(30);
  const DType dtype = PickType(normal ? kFloats : kReals | kPreds);
  const bool is_sized = dtype != DType::kPred;
  const InstrId low = Chance(70) ? Scalar(dtype, 0) : Like(dtype, {});
  const InstrId high = Chance(70) ? Scalar(dtype, is_sized ? 3 : 1) : Like(dtype, {});
  return Add(Op::kRng, {low, high}, RngAttrs{normal ? "rng_normal" : "rng_uniform"}, {},
             ArrayShape(dtype, PickDims()));
}

InstrId HloGenerator::RandomState() {
  return Add(Op::kRngGetAndUpdateState, {}, RngAttrs{"", Between(1, 100)}, {},
             ArrayShape(DType::kU64, {2}));
}

InstrId HloGenerator::Dependency() {
  const InstrId token = Add(Op::kAfterAll, {});
  const InstrId more = Chance(50) ? Add(Op::kAfterAll, {token}) : token;
  return Add(Op::kAddDependency, {Pick(kAnything), more});
}

InstrId HloGenerator::Barrier() {
  const InstrId value = Pick(kAnything);
  if (Chance(30)) return Add(Op::kDomain, {value});
  if (Chance(50)) return Add(Op::kOptimizationBarrier, {value});
  return Add(Op::kOptimizationBarrier, {Add(Op::kTuple, {value, Pick(kAnything)})});
}

}  // namespace fusemark
