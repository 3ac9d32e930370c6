#include "tests/fuzz/freedoms.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace fusemark {
namespace {

bool IsNarrow(const Shape& shape) {
  return shape.is_array() && (shape.dtype == DType::kF16 || shape.dtype == DType::kBF16);
}

Shape WideShape(const Shape& shape) {
  if (IsNarrow(shape)) return ArrayShape(DType::kF32, shape.dims);
  Shape wide = shape;
  for (Shape& element : wide.elements) element = WideShape(element);
  return wide;
}

// These name a type or its bits, and round or mean just that.
bool NamesItsType(Op op) {
  return op == Op::kConvert || op == Op::kBitcastConvert || op == Op::kReducePrecision ||
         op == Op::kBitcast || op == Op::kStochasticConvert;
}

// Rounded to an infinity or to zero: nothing is left of the value.
InstrId IsLost(Builder& builder, InstrId value) {
  const InstrId infinite = HasSize(builder, value, std::numeric_limits<double>::infinity());
  return builder.Binary(Op::kOr, infinite, HasSize(builder, value, 0));
}

}  // namespace

InstrId HasSize(Builder& builder, InstrId value, double size) {
  const Dims dims = builder[value].shape.dims;
  const DType dtype = builder[value].shape.dtype;
  const Shape real = ArrayShape(IsComplex(dtype) ? ComponentOf(dtype) : dtype, dims);
  const InstrId bound = builder.Constant(ScalarLiteralOf(real.dtype, size));
  const InstrId found = builder.Emit(Op::kAbs, real, {value});
  return builder.Emit(Op::kCompare, ArrayShape(DType::kPred, dims),
                      {found, builder.Broadcast(bound, dims, {})}, CompareAttrs{Direction::kEq});
}

InstrId Shuffled(Builder& builder, InstrId operand, const Dims& dims, std::mt19937_64& random) {
  for (const int64_t dim : dims) {
    const Shape shape = ArrayShape(builder[operand].shape.dtype, builder[operand].shape.dims);
    const int64_t extent = shape.dims[static_cast<size_t>(dim)];
    if (extent < 2) continue;
    std::vector<int32_t> order(static_cast<size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::byte> bytes(order.size() * sizeof order[0]);
    std::memcpy(bytes.data(), order.data(), bytes.size());
    const InstrId indices =
        builder.Constant(MakeLiteral(ArrayShape(DType::kS32, {extent}), std::move(bytes)));
    GatherAttrs gather;
    gather.collapsed_slice_dims = gather.start_index_map = {dim};
    gather.index_vector_dim = 1;
    gather.slice_sizes = shape.dims;
    gather.slice_sizes[static_cast<size_t>(dim)] = 1;
    for (int64_t d = 0; d < shape.rank(); ++d)
      if (d != dim) gather.offset_dims.push_back(d);
    operand = builder.Emit(Op::kGather, shape, {operand, indices}, std::move(gather));
  }
  return operand;
}

InstrId ExcessPrecision::Wide(Builder& builder, InstrId operand) {
  if (!IsNarrow(builder[operand].shape)) return operand;
  const auto found = wide_.find(operand.index);
  return found == wide_.end() ? builder.Convert(operand, DType::kF32) : found->second;
}

std::optional<InstrId> ExcessPrecision::Widened(Builder& builder, const Instr& instr,
                                                std::mt19937_64& random) {
  if (instr.op == Op::kReduce && instr.operands.size() > 2)
    return random() % 3 == 0 ? std::nullopt : WidenedReduce(builder, instr);
  const OpClass kind = ClassOf(instr.op);
  const bool reduces = instr.op == Op::kReduce && instr.operands.size() == 2;
  const bool reads_wider = std::any_of(instr.operands.begin(), instr.operands.end(),
                                       [&](InstrId id) { return wide_.contains(id.index); });
  const bool narrow = IsNarrow(instr.shape);
  if (kind == OpClass::Elementwise) {
    // A conversion to another type reads what its operand is, one to these rounds.
    const bool reads = !narrow && (instr.op == Op::kConvert || !NamesItsType(instr.op));
    if (!(reads ? reads_wider : narrow && !NamesItsType(instr.op))) return std::nullopt;
  } else if (kind == OpClass::Index) {
    if (!reads_wider || NamesItsType(instr.op)) return std::nullopt;
  } else if (!reduces || !narrow) {
    return std::nullopt;
  }
  if (random() % 3 == 0) return std::nullopt;
  Instr wide = instr;
  if (reduces) {
    const auto region = WideRegion(instr.called[0]);
    if (!region) return std::nullopt;
    wide.called = {*region};
  }
  for (InstrId& operand : wide.operands) operand = Wide(builder, operand);
  if (!narrow) return builder.Keep(std::move(wide));
  wide.shape = ArrayShape(DType::kF32, instr.shape.dims);
  const InstrId exact = builder.Emit(std::move(wide));
  const InstrId rounded = builder.Convert(exact, instr.shape.dtype);
  const InstrId back = builder.Convert(rounded, DType::kF32);
  wide_[rounded.index] = builder.Emit(Op::kSelect, ArrayShape(DType::kF32, instr.shape.dims),
                                      {IsLost(builder, rounded), exact, back});
  return rounded;
}

// Of several operands; its results are stored, and rounded.
std::optional<InstrId> ExcessPrecision::WidenedReduce(Builder& builder, const Instr& instr) {
  const auto region = WideRegion(instr.called[0]);
  if (!region) return std::nullopt;
  Instr wide = instr;
  wide.called = {*region};
  for (InstrId& operand : wide.operands) operand = Wide(builder, operand);
  wide.shape = WideShape(wide.shape);
  const InstrId tuple = builder.Emit(std::move(wide));
  std::vector<InstrId> results;
  for (size_t i = 0; i < instr.shape.elements.size(); ++i)
    results.push_back(builder.Convert(builder.TupleElement(tuple, static_cast<int64_t>(i)),
                                      instr.shape.elements[i].dtype));
  return builder.Tuple(std::move(results));
}

void ExcessPrecision::Renamed(InstrId from, InstrId value) {
  const auto found = wide_.find(from.index);
  if (found != wide_.end()) wide_[value.index] = found->second;
}

// Without narrow constants or conversions.
std::optional<ComputationId> ExcessPrecision::WideRegion(ComputationId region) {
  Computation wide = module_[region];
  for (Instr& instr : wide.instrs) {
    const bool plain = instr.op == Op::kParameter || instr.op == Op::kTuple ||
                       (ClassOf(instr.op) == OpClass::Elementwise && !NamesItsType(instr.op));
    const bool other = instr.op == Op::kConstant && !IsNarrow(instr.shape);
    if (!plain && !other) return std::nullopt;
    instr.shape = WideShape(instr.shape);
  }
  wide.name += ".wide" + std::to_string(regions_.size());
  regions_.push_back(std::move(wide));
  return ComputationId{static_cast<uint32_t>(module_.computations.size() + regions_.size() - 1)};
}

void ExcessPrecision::AppendRegions(Module& module) {
  for (Computation& region : regions_) module.computations.push_back(std::move(region));
  if (!regions_.empty()) CollectComputations(module);
  regions_.clear();
}

}  // namespace fusemark
