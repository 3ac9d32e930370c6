#include <string>

#include "compiler/ir/identity.h"
#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

// Starts of a slice at `index` of dimension `dim`, 0 elsewhere.
InstrIds StartsAt(Emitter& emit, int64_t rank, int64_t dim, InstrId index) {
  InstrIds starts(static_cast<size_t>(rank), emit.Scalar(DType::kS32, 0));
  starts[static_cast<size_t>(dim)] = index;
  return starts;
}

// Position `at` of dimension `dim`, without that dimension.
InstrId ElementAt(Emitter& emit, InstrId value, int64_t dim, InstrId at) {
  Dims sizes = emit.dims(value), dims = sizes;
  sizes[static_cast<size_t>(dim)] = 1;
  dims.erase(dims.begin() + dim);
  const InstrIds starts = StartsAt(emit, static_cast<int64_t>(sizes.size()), dim, at);
  return emit.builder().Reshape(emit.DynamicSlice(value, starts, sizes), dims);
}

// `whole` with `element` at position `at` of dimension `dim`.
InstrId WithElement(Emitter& emit, InstrId whole, InstrId element, int64_t dim, InstrId at) {
  Dims dims = emit.dims(whole);
  dims[static_cast<size_t>(dim)] = 1;
  const InstrIds starts = StartsAt(emit, static_cast<int64_t>(dims.size()), dim, at);
  return emit.DynamicUpdate(whole, emit.builder().Reshape(element, dims), starts);
}

// f of a region that is exactly (x, c) -> (f(x, c), f(x, c)) with an associative f: running sums
// and their like, which are windows that reach back to the start.
std::optional<Op> RunningOp(const Computation& region, const ScanForm& form) {
  if (form.inputs != 1 || form.carries != 1 || form.outputs != 1 || form.length < 2)
    return std::nullopt;
  const Instr& root = region.Root();
  if (root.op != Op::kTuple || root.operands[0] != root.operands[1]) return std::nullopt;
  const Instr& step = region[root.operands[0]];
  if (step.operands.size() != 2 || step.operands[0] == step.operands[1]) return std::nullopt;
  for (const InstrId operand : step.operands)
    if (region[operand].op != Op::kParameter) return std::nullopt;
  const DType dtype = step.shape.dtype;
  const bool whole_bytes = ByteSize(dtype) * 8 == BitWidth(dtype);
  const bool number = whole_bytes && (IsInteger(dtype) || (IsFloat(dtype) && BitWidth(dtype) > 8));
  const bool narrow = IsFloat(dtype) && BitWidth(dtype) < 32;
  switch (step.op) {
    case Op::kAdd:
    case Op::kMultiply:
      // A window keeps its narrow sums in f32; a scan says after each step what its carry is.
      return number && !narrow ? std::optional(step.op) : std::nullopt;
    case Op::kMaximum:
    case Op::kMinimum: return number ? std::optional(step.op) : std::nullopt;
    default: return std::nullopt;
  }
}

ComputationId RegionOf(const ExpandContext& context, Op op, DType dtype) {
  if (op == Op::kAdd) return context.regions.Add(dtype);
  Builder builder(context.effects);
  const Shape scalar = ArrayShape(dtype, {});
  const InstrId a = builder.Emit(Op::kParameter, scalar, {}, ParameterAttrs{0});
  const InstrId b = builder.Emit(Op::kParameter, scalar, {}, ParameterAttrs{1});
  const std::string name = std::string(OpName(op)) + "_" + std::string(DTypeName(dtype));
  return context.regions.Append(builder.Finish(name, builder.Binary(op, a, b)));
}

// One window over the carry and the elements after it: (outputs, last carry).
InstrId ExpandRunning(const ExpandContext& context, const Instr& instr, const ScanForm& form,
                      Op op) {
  Emitter& emit = context.emit;
  Builder& builder = emit.builder();
  const InstrId input = instr.operands[0];
  const Dims dims = emit.dims(input), carry_dims = emit.dims(instr.operands[1]);
  const DType dtype = emit.dtype(input);
  const int64_t n = form.length;
  const auto dim = static_cast<size_t>(form.dim);
  Dims one = dims;
  one[dim] = 1;
  const InstrId carry = builder.Reshape(instr.operands[1], one);
  const InstrIds order = form.reverse ? InstrIds{input, carry} : InstrIds{carry, input};
  const InstrId all = emit.Concatenate(order, form.dim);
  Instr window;
  window.op = Op::kReduceWindow;
  window.shape = ArrayShape(dtype, emit.dims(all));
  window.operands = {all, builder.Constant(ScalarLiteral(dtype, *IdentityBits(op, dtype)))};
  WindowAttrs attrs{Window(dims.size())};
  attrs.window[dim].size = n + 1;
  (form.reverse ? attrs.window[dim].pad_high : attrs.window[dim].pad_low) = n;
  window.attrs = std::move(attrs);
  window.called = {RegionOf(context, op, dtype)};
  window.loc = instr.loc;
  const InstrId running = builder.Emit(std::move(window));
  const int64_t first = form.reverse ? 0 : 1, last = form.reverse ? 0 : n;
  const InstrId outputs = emit.Slice(running, form.dim, first, first + n);
  const InstrId end = emit.Slice(running, form.dim, last, last + 1);
  return builder.Tuple({outputs, builder.Reshape(end, carry_dims)});
}

}  // namespace

// A loop over the scanned dimension whose state holds the inputs, the outputs so far and the
// carries.
InstrId ExpandScan(const ExpandContext& context, const Instr& instr, const Computation& region,
                   const ScanForm& form) {
  if (const auto op = RunningOp(region, form)) return ExpandRunning(context, instr, form, *op);
  Emitter& outer = context.emit;
  const std::vector<Shape> results =
      instr.shape.is_tuple ? instr.shape.elements : std::vector<Shape>{instr.shape};
  InstrIds state(instr.operands.begin(),
                 instr.operands.begin() + static_cast<std::ptrdiff_t>(form.inputs));
  for (size_t i = 0; i < form.outputs; ++i)
    state.push_back(outer.Zeros(results[i].dtype, results[i].dims));
  state.insert(state.end(), instr.operands.end() - static_cast<std::ptrdiff_t>(form.carries),
               instr.operands.end());
  const size_t first_carry = form.inputs + form.outputs;

  const auto step = [&](Emitter& emit, InstrId index, const InstrIds& values) {
    Builder& b = emit.builder();
    InstrId at = index;
    if (form.reverse) {
      const InstrId last = emit.Scalar(DType::kS32, static_cast<double>(form.length - 1));
      at = emit.Minus(last, index);
    }
    Instr call;
    call.op = Op::kCall;
    call.called = instr.called;
    call.loc = instr.loc;
    for (size_t i = 0; i < form.inputs; ++i)
      call.operands.push_back(ElementAt(emit, values[i], form.dim, at));
    call.operands.insert(call.operands.end(),
                         values.begin() + static_cast<std::ptrdiff_t>(first_carry), values.end());
    std::vector<Shape> shapes;
    for (size_t i = 0; i < results.size(); ++i) {
      shapes.push_back(ArrayShape(results[i].dtype, results[i].dims));
      if (i < form.outputs) shapes[i].dims.erase(shapes[i].dims.begin() + form.dim);
    }
    call.shape = instr.shape.is_tuple ? TupleShape(shapes) : shapes[0];
    const InstrId called = b.Emit(std::move(call));

    InstrIds next = values;
    for (size_t i = 0; i < results.size(); ++i) {
      const auto position = static_cast<int64_t>(i);
      InstrId value = instr.shape.is_tuple ? b.TupleElement(called, position) : called;
      if (i < form.outputs) value = WithElement(emit, values[form.inputs + i], value, form.dim, at);
      next[form.inputs + i] = value;
    }
    return next;
  };
  InstrIds last = context.Loop(form.length, std::move(state), step);
  last.erase(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(form.inputs));
  return instr.shape.is_tuple ? outer.builder().Tuple(std::move(last)) : last[0];
}

}  // namespace fusemark
