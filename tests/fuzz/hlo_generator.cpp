#include "tests/fuzz/hlo_generator.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/rewrite.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/values.h"

namespace fusemark {

// How often each step is taken, declared once.
struct HloSteps {
  using Fn = InstrId (HloGenerator::*)();
  struct Entry {
    std::string_view name;
    uint64_t weight;
    bool elementwise;  // also in computations on scalars
    Fn make;
  };
  static constexpr Entry kSteps[] = {
      {"unary", 12, true, &HloGenerator::Unary},
      {"binary", 16, true, &HloGenerator::Binary},
      {"bitwise", 4, true, &HloGenerator::Bitwise},
      {"compare", 3, true, &HloGenerator::Compare},
      {"select", 4, true, &HloGenerator::Select},
      {"clamp", 2, true, &HloGenerator::Clamp},
      {"convert", 5, true, &HloGenerator::ConvertStep},
      {"bitcast-convert", 2, false, &HloGenerator::BitcastConvert},
      {"reduce-precision", 1, true, &HloGenerator::ReducePrecision},
      {"complex", 2, false, &HloGenerator::ComplexParts},
      {"map", 1, false, &HloGenerator::Map},
      {"fresh", 3, true, &HloGenerator::FreshStep},
      {"broadcast", 5, false, &HloGenerator::BroadcastStep},
      {"reshape", 5, false, &HloGenerator::Reshape},
      {"bitcast", 2, false, &HloGenerator::Bitcast},
      {"transpose", 5, false, &HloGenerator::Transpose},
      {"slice", 4, false, &HloGenerator::Slice},
      {"dimension-size", 1, false, &HloGenerator::DimensionSize},
      {"pad", 3, false, &HloGenerator::Pad},
      {"concatenate", 4, false, &HloGenerator::Concatenate},
      {"reverse", 2, false, &HloGenerator::Reverse},
      {"gather", 3, false, &HloGenerator::Gather},
      {"dynamic-slice", 3, false, &HloGenerator::DynamicSlice},
      {"dynamic-update-slice", 3, false, &HloGenerator::DynamicUpdateSlice},
      {"scatter", 3, false, &HloGenerator::Scatter},
      {"reduce", 8, false, &HloGenerator::Reduce},
      {"arg-reduce", 2, false, &HloGenerator::ArgReduce},
      {"reduce-window", 3, false, &HloGenerator::ReduceWindow},
      {"running-reduce", 1, false, &HloGenerator::RunningReduce},
      {"select-and-scatter", 2, false, &HloGenerator::SelectAndScatter},
      {"dot", 5, false, &HloGenerator::Dot},
      {"convolution", 3, false, &HloGenerator::Convolution},
      {"sort", 2, false, &HloGenerator::Sort},
      {"topk", 1, false, &HloGenerator::TopK},
      {"batch-norm", 2, false, &HloGenerator::BatchNorm},
      {"while", 2, false, &HloGenerator::While},
      {"conditional", 2, false, &HloGenerator::Conditional},
      {"call", 2, false, &HloGenerator::Call},
      {"tuple", 2, false, &HloGenerator::TupleStep},
      {"rng-bit-generator", 1, false, &HloGenerator::RandomBits},
      {"rng", 1, false, &HloGenerator::RandomNumbers},
      {"rng-state", 1, false, &HloGenerator::RandomState},
      {"fft", 1, false, &HloGenerator::Fft},
      {"cholesky", 1, false, &HloGenerator::Cholesky},
      {"triangular-solve", 1, false, &HloGenerator::TriangularSolve},
      {"scan", 1, false, &HloGenerator::Scan},
      {"fusion", 1, false, &HloGenerator::Fusion},
      {"collective", 1, false, &HloGenerator::Collective},
      {"async-pair", 1, false, &HloGenerator::AsyncPair},
      {"copy-pair", 1, false, &HloGenerator::CopyPair},
      {"barrier", 1, false, &HloGenerator::Barrier},
      {"dependency", 1, false, &HloGenerator::Dependency},
  };
};

namespace {

struct WeightedType {
  DType dtype;
  uint64_t weight;
};
constexpr WeightedType kTypes[] = {
    {DType::kPred, 4},     {DType::kS2, 1},         {DType::kS4, 2},     {DType::kS8, 3},
    {DType::kS16, 2},      {DType::kS32, 10},       {DType::kS64, 4},    {DType::kU2, 1},
    {DType::kU4, 1},       {DType::kU8, 3},         {DType::kU16, 2},    {DType::kU32, 4},
    {DType::kU64, 2},      {DType::kBF16, 6},       {DType::kF16, 6},    {DType::kF32, 30},
    {DType::kF64, 8},      {DType::kC64, 3},        {DType::kC128, 2},   {DType::kF8E5M2, 1},
    {DType::kF8E4M3FN, 1}, {DType::kF8E4M3FNUZ, 1}, {DType::kF8E3M4, 1}, {DType::kF4E2M1FN, 1},
};

}  // namespace

namespace {

uint32_t BitOf(DType dtype) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred: return 1;
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: return 2;
    case DTypeClass::Float: return 4;
    case DTypeClass::Complex: return 8;
    case DTypeClass::Opaque: return 0;
  }
  return 0;
}

}  // namespace

DType HloGenerator::PickType(uint32_t types) {
  uint64_t total = 0;
  for (const WeightedType& type : kTypes)
    total += (BitOf(type.dtype) & types) != 0 ? type.weight : 0;
  uint64_t at = Below(total);
  for (const WeightedType& type : kTypes) {
    const uint64_t weight = (BitOf(type.dtype) & types) != 0 ? type.weight : 0;
    if (at < weight) return type.dtype;
    at -= weight;
  }
  return DType::kF32;
}

Dims HloGenerator::PickDims() {
  if (scope_->is_scalar) return {};
  constexpr int64_t kRanks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5};
  constexpr int64_t kExtents[] = {1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8};
  constexpr int64_t kWide[] = {16, 17, 33, 65};
  Dims dims(static_cast<size_t>(OneOf(kRanks)));
  int64_t left = options_.most_elements / 2;
  for (int64_t& dim : dims) {
    dim = Chance(10) ? OneOf(kWide) : OneOf(kExtents);
    if (Chance(1)) dim = 0;
    dim = std::min(dim, left);
    if (dim > 0) left /= dim;
  }
  return dims;
}

Dims HloGenerator::Shuffled(Dims dims) {
  for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[Below(i)]);
  return dims;
}

InstrId HloGenerator::Invalid() {
  invalid_ = true;
  return {0};
}

InstrId HloGenerator::Add(Op op, std::vector<InstrId> operands, Attrs attrs,
                          std::vector<ComputationId> called, const Shape& written) {
  if (invalid_) return {0};
  Computation& computation = scope_->computation;
  Instr instr;
  instr.op = op;
  instr.shape = written;
  instr.operands = std::move(operands);
  instr.attrs = std::move(attrs);
  instr.called = std::move(called);
  auto shape = InferShape(module_, computation, instr);
  if (!shape.ok()) return Invalid();
  if (*shape) instr.shape = **shape;
  std::vector<Shape> leaves;
  FlattenLeaves(instr.shape, leaves);
  for (const Shape& leaf : leaves) {
    if (leaf.rank() > 6 || ElementCount(leaf) > options_.most_elements) return Invalid();
  }
  const auto index = static_cast<uint32_t>(computation.instrs.size());
  instr.name = std::string(OpName(op)) + "." + std::to_string(index);
  computation.instrs.push_back(std::move(instr));
  return {index};
}

InstrId HloGenerator::Parameter(const Shape& shape) {
  auto& parameters = scope_->computation.parameters;
  const auto number = static_cast<int64_t>(parameters.size());
  const InstrId id = Add(Op::kParameter, {}, ParameterAttrs{number}, {}, shape);
  if (!invalid_) parameters.push_back(id);
  return id;
}

InstrId HloGenerator::Constant(const Shape& shape) {
  const ValueKind kind = Chance(3) ? ValueKind::kSpecial : ValueKind::kPlain;
  return Add(Op::kConstant, {}, ConstantAttrs{RandomLiteral(shape, kind, random_)}, {}, shape);
}

InstrId HloGenerator::Scalar(DType dtype, double value) {
  if (IsInteger(dtype)) {
    const double range = std::ldexp(1, BitWidth(dtype) - (IsSigned(dtype) ? 1 : 0));
    value = std::clamp(value, IsSigned(dtype) ? -range : 0, range - 1);
  }
  Literal literal;
  if (IsComplex(dtype)) {
    const Literal part = ScalarLiteralOf(ComponentOf(dtype), value);
    std::vector<std::byte> bytes(part.bytes().begin(), part.bytes().end());
    bytes.resize(bytes.size() * 2);
    literal = MakeLiteral(ArrayShape(dtype, {}), std::move(bytes));
  } else {
    literal = ScalarLiteralOf(dtype, value);
  }
  const Shape shape = literal.shape;
  return Add(Op::kConstant, {}, ConstantAttrs{std::move(literal)}, {}, shape);
}

InstrId HloGenerator::Element(InstrId tuple, int64_t index) {
  return Add(Op::kGetTupleElement, {tuple}, TupleIndexAttrs{index});
}

InstrId HloGenerator::Broadcast(InstrId operand, const Dims& dims, Dims map) {
  return Add(Op::kBroadcast, {operand}, DimsAttrs{std::move(map)}, {},
             ArrayShape(ShapeOf(operand).dtype, dims));
}

InstrId HloGenerator::Convert(InstrId operand, DType dtype) {
  return Add(Op::kConvert, {operand}, {}, {}, ArrayShape(dtype, ShapeOf(operand).dims));
}

InstrId HloGenerator::Pick(uint32_t types, int64_t least_rank, int64_t most_rank) {
  std::vector<InstrId> fitting;
  for (const InstrId id : scope_->values) {
    const Shape& shape = ShapeOf(id);
    const bool fits = shape.rank() >= least_rank && shape.rank() <= most_rank;
    if (fits && (BitOf(shape.dtype) & types) != 0) fitting.push_back(id);
  }
  if (!fitting.empty() && !Chance(8)) {
    const size_t at = std::max(Below(fitting.size()), Below(fitting.size()));
    return fitting[at];
  }
  if (scope_->is_scalar) return Fresh(PickType(types), {});
  Dims dims = PickDims();
  while (static_cast<int64_t>(dims.size()) < least_rank) dims.push_back(Between(1, 3));
  if (static_cast<int64_t>(dims.size()) > most_rank) dims.resize(static_cast<size_t>(most_rank));
  return Fresh(PickType(types), dims);
}

InstrId HloGenerator::Like(DType dtype, const Dims& dims) {
  std::vector<InstrId> same, scalars;
  for (const InstrId id : scope_->values) {
    const Shape& shape = ShapeOf(id);
    if (shape.dtype != dtype) continue;
    if (shape.dims == dims) same.push_back(id);
    if (shape.rank() == 0) scalars.push_back(id);
  }
  if (!same.empty() && !Chance(20)) return same[Below(same.size())];
  if (!scalars.empty() && Chance(40)) return Broadcast(scalars[Below(scalars.size())], dims, {});
  return Fresh(dtype, dims);
}

InstrId HloGenerator::Fresh(DType dtype, const Dims& dims) {
  const Shape shape = ArrayShape(dtype, dims);
  if (scope_->is_entry && scope_->computation.parameters.size() < 12 && Chance(60)) {
    const InstrId id = Parameter(shape);
    if (!invalid_) scope_->values.push_back(id);
    return id;
  }
  if (!dims.empty() && dtype != DType::kPred && Chance(25)) {
    const auto dim = static_cast<int64_t>(Below(dims.size()));
    return Add(Op::kIota, {}, DimsAttrs{{dim}}, {}, shape);
  }
  if (Chance(50)) return Broadcast(Constant(ArrayShape(dtype, {})), dims, {});
  return Constant(shape);
}

void HloGenerator::Leaves(InstrId value, std::vector<InstrId>& leaves) {
  const Shape shape = ShapeOf(value);
  if (shape.is_array()) leaves.push_back(value);
  for (size_t i = 0; shape.is_tuple && i < shape.elements.size(); ++i)
    Leaves(Element(value, static_cast<int64_t>(i)), leaves);
}

// The values a step made for its own use stay out of the pool: only its result goes in.
void HloGenerator::Step() {
  uint64_t total = 0;
  const auto weight_of = [&](const HloSteps::Entry& step) -> uint64_t {
    return scope_->is_scalar && !step.elementwise ? 0 : step.weight;
  };
  for (const HloSteps::Entry& step : HloSteps::kSteps) total += weight_of(step);
  uint64_t at = Below(total);
  const HloSteps::Entry* step = HloSteps::kSteps;
  for (; at >= weight_of(*step); ++step) at -= weight_of(*step);
  Scope& scope = *scope_;
  const size_t instrs = scope.computation.instrs.size();
  const size_t parameters = scope.computation.parameters.size(), values = scope.values.size();
  const InstrId result = (this->*step->make)();
  std::vector<InstrId> leaves;
  if (!invalid_) Leaves(result, leaves);
  if (!invalid_) {
    scope.values.insert(scope.values.end(), leaves.begin(), leaves.end());
    ++done_[step->name];
    return;
  }
  ++undone_[step->name];
  invalid_ = false;
  scope_ = &scope;
  scope.computation.instrs.resize(instrs);
  scope.computation.parameters.resize(parameters);
  scope.values.resize(values);
}

void HloGenerator::Steps(int count) {
  for (int i = 0; i < count; ++i) Step();
}

Module HloGenerator::Make() {
  module_ = {};
  module_.name = "fuzz";
  Scope entry;
  entry.is_entry = true;
  entry.computation.name = "main";
  scope_ = &entry;
  invalid_ = false;
  for (int64_t i = Between(1, 3); i > 0; --i)
    entry.values.push_back(Parameter(ArrayShape(PickType(kAnything), PickDims())));
  Steps(static_cast<int>(Between(options_.least_steps, options_.most_steps)));
  std::vector<InstrId> results;
  const auto count = static_cast<size_t>(Between(1, 3));
  for (size_t i = entry.values.size(); i-- > 0 && results.size() < count;)
    results.push_back(entry.values[i]);
  const bool one = results.size() == 1 && Chance(50);
  entry.computation.root = one ? results[0] : Add(Op::kTuple, results);
  module_.computations.push_back(std::move(entry.computation));
  module_.entry = {static_cast<uint32_t>(module_.computations.size() - 1)};
  scope_ = nullptr;
  CollectComputations(module_);
  return std::move(module_);
}

}  // namespace fusemark
