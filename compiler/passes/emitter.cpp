#include "compiler/passes/emitter.h"

#include <utility>

namespace fusemark {

InstrId Emitter::Iota(DType dtype, const Dims& dims, int64_t dim) {
  return b_.Emit(Op::kIota, ArrayShape(dtype, dims), {}, DimsAttrs{{dim}});
}

InstrId Emitter::Stretch(InstrId value, const Dims& dims) {
  const Dims from = this->dims(value);
  if (from == dims) return value;
  Dims kept, mapping;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (from[d] != dims[d]) continue;
    kept.push_back(dims[d]);
    mapping.push_back(static_cast<int64_t>(d));
  }
  const InstrId narrow = b_.Reshape(value, kept);
  return b_.Broadcast(narrow, dims, std::move(mapping));
}

InstrId Emitter::Compare(Direction direction, InstrId a, InstrId b) {
  const DType type = dtype(a);
  const CompareType kind = IsFloat(type) || IsComplex(type) ? CompareType::kFloat
                           : IsSigned(type)                 ? CompareType::kSigned
                                                            : CompareType::kUnsigned;
  return b_.Emit(Op::kCompare, ArrayShape(DType::kPred, dims(a)), {a, b},
                 CompareAttrs{direction, kind});
}

InstrId Emitter::Select(InstrId condition, InstrId yes, InstrId no) {
  const Shape result = ArrayShape(dtype(yes), dims(yes));
  return b_.Emit(Op::kSelect, result, {condition, yes, no});
}

InstrId Emitter::Real(InstrId value) {
  if (!IsComplex(dtype(value))) return value;
  return b_.Emit(Op::kReal, ArrayShape(ComponentOf(dtype(value)), dims(value)), {value});
}

InstrId Emitter::Conjugate(InstrId value) {
  const DType type = dtype(value);
  if (!IsComplex(type)) return value;
  const Shape part = ArrayShape(ComponentOf(type), dims(value));
  const InstrId re = b_.Emit(Op::kReal, part, {value});
  const InstrId im = b_.Unary(Op::kNegate, b_.Emit(Op::kImag, part, {value}));
  return b_.Emit(Op::kComplex, ArrayShape(type, dims(re)), {re, im});
}

InstrId Emitter::OverReal(InstrId value, InstrId divisor) {
  const DType type = dtype(value);
  if (!IsComplex(type)) return Over(value, divisor);
  const Shape part = ArrayShape(ComponentOf(type), dims(value));
  const InstrId re = Over(b_.Emit(Op::kReal, part, {value}), divisor);
  const InstrId im = Over(b_.Emit(Op::kImag, part, {value}), divisor);
  return b_.Emit(Op::kComplex, ArrayShape(type, dims(re)), {re, im});
}

InstrId Emitter::Slice(InstrId value, int64_t dim, int64_t low, int64_t high) {
  Shape result = ArrayShape(dtype(value), dims(value));
  const auto d = static_cast<size_t>(dim);
  if (low == 0 && high == result.dims[d]) return value;
  SliceAttrs attrs{Dims(result.dims.size(), 0), result.dims, Dims(result.dims.size(), 1)};
  attrs.start[d] = low;
  attrs.limit[d] = high;
  result.dims[d] = high - low;
  return b_.Emit(Op::kSlice, std::move(result), {value}, std::move(attrs));
}

InstrId Emitter::DynamicSlice(InstrId value, InstrIds starts, Dims sizes) {
  starts.insert(starts.begin(), value);
  return b_.Emit(Op::kDynamicSlice, ArrayShape(dtype(value), sizes), std::move(starts),
                 DimsAttrs{sizes});
}

InstrId Emitter::DynamicUpdate(InstrId value, InstrId update, InstrIds starts) {
  starts.insert(starts.begin(), {value, update});
  return b_.Emit(Op::kDynamicUpdateSlice, ArrayShape(dtype(value), dims(value)), std::move(starts));
}

InstrId Emitter::Place(InstrId whole, InstrId part, const Dims& starts) {
  if (dims(whole) == dims(part)) return part;
  InstrIds positions;
  for (const int64_t start : starts)
    positions.push_back(Scalar(DType::kS32, static_cast<double>(start)));
  return DynamicUpdate(whole, part, std::move(positions));
}

InstrId Emitter::Concatenate(InstrIds parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  Shape result = ArrayShape(dtype(parts[0]), dims(parts[0]));
  int64_t& extent = result.dims[static_cast<size_t>(dim)];
  extent = 0;
  for (const InstrId part : parts) extent += dims(part)[static_cast<size_t>(dim)];
  return b_.Emit(Op::kConcatenate, std::move(result), std::move(parts), DimsAttrs{{dim}});
}

InstrId Emitter::Reverse(InstrId value, Dims dims) {
  return b_.Emit(Op::kReverse, ArrayShape(dtype(value), this->dims(value)), {value},
                 DimsAttrs{std::move(dims)});
}

InstrId Emitter::TransposeLast(InstrId value) {
  Dims permutation = IdentityDims(shape(value).rank());
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return b_.Transpose(value, std::move(permutation));
}

InstrId Emitter::BatchDot(InstrId lhs, InstrId rhs, bool transposed) {
  DotAttrs attrs;
  attrs.lhs_batch = attrs.rhs_batch = {0};
  attrs.lhs_contracting = {2};
  attrs.rhs_contracting = {transposed ? 2 : 1};
  const Dims result = {dims(lhs)[0], dims(lhs)[1], dims(rhs)[transposed ? 1 : 2]};
  return b_.Emit(Op::kDot, ArrayShape(dtype(lhs), result), {lhs, rhs}, std::move(attrs));
}

namespace {

// (index, state...) as parameter 0 of a computation of a loop.
InstrIds LoopState(Builder& builder, const Shape& shape) {
  const InstrId all = builder.Emit(Op::kParameter, shape, {}, ParameterAttrs{0});
  InstrIds state;
  for (size_t i = 0; i < shape.elements.size(); ++i)
    state.push_back(builder.TupleElement(all, static_cast<int64_t>(i)));
  return state;
}

ComputationId LoopCondition(NewRegions& regions, const Effects& effects, const Shape& shape,
                            int64_t steps) {
  Builder builder(effects);
  Emitter emit(builder);
  const InstrId index = LoopState(builder, shape)[0];
  const InstrId end = emit.Scalar(DType::kS32, static_cast<double>(steps));
  return regions.Append(builder.Finish("more_steps", emit.Compare(Direction::kLt, index, end)));
}

}  // namespace

InstrIds EmitLoop(Emitter& emit, NewRegions& regions, const Effects& effects, int64_t steps,
                  InstrIds state, const LoopBody& body) {
  if (steps <= kUnrolledSteps) {
    for (int64_t i = 0; i < steps; ++i)
      state = body(emit, emit.Scalar(DType::kS32, static_cast<double>(i)), state);
    return state;
  }
  state.insert(state.begin(), emit.Scalar(DType::kS32, 0));
  const InstrId init = emit.builder().Tuple(state);
  const Shape shape = emit.shape(init);
  const ComputationId condition = LoopCondition(regions, effects, shape, steps);

  Builder builder(effects);
  Emitter inner(builder);
  InstrIds values = LoopState(builder, shape);
  const InstrId index = values[0];
  values.erase(values.begin());
  InstrIds next = body(inner, index, values);
  next.insert(next.begin(), inner.Add(index, inner.Scalar(DType::kS32, 1)));
  const ComputationId step = regions.Append(builder.Finish("step", builder.Tuple(next)));

  Instr loop;
  loop.op = Op::kWhile;
  loop.shape = shape;
  loop.operands = {init};
  loop.called = {condition, step};
  loop.loc = emit.builder()[init].loc;
  const InstrId result = emit.builder().Emit(std::move(loop));
  InstrIds last;
  for (size_t i = 1; i < shape.elements.size(); ++i)
    last.push_back(emit.builder().TupleElement(result, static_cast<int64_t>(i)));
  return last;
}

}  // namespace fusemark
