#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

// Starts of a slice at `index` of dimension `dim`, 0 elsewhere.
InstrIds StartsAt(Emitter& emit, int64_t rank, int64_t dim, InstrId index) {
  InstrIds starts(static_cast<size_t>(rank), emit.Scalar(DType::kS32, 0));
  starts[static_cast<size_t>(dim)] = index;
  return starts;
}

}  // namespace

// A loop over the scanned dimension whose state holds the inputs, the outputs so far and the
// carries.
InstrId ExpandScan(const ExpandContext& context, const Instr& instr, const ScanForm& form) {
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
    for (size_t i = 0; i < form.inputs; ++i) {
      Dims sizes = emit.dims(values[i]), dims = sizes;
      sizes[static_cast<size_t>(form.dim)] = 1;
      dims.erase(dims.begin() + form.dim);
      const auto rank = static_cast<int64_t>(sizes.size());
      const InstrIds starts = StartsAt(emit, rank, form.dim, at);
      call.operands.push_back(b.Reshape(emit.DynamicSlice(values[i], starts, sizes), dims));
    }
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
      InstrId value =
          instr.shape.is_tuple ? b.TupleElement(called, static_cast<int64_t>(i)) : called;
      if (i < form.outputs) {
        Dims dims = results[i].dims;
        dims[static_cast<size_t>(form.dim)] = 1;
        const auto rank = static_cast<int64_t>(dims.size());
        const InstrIds starts = StartsAt(emit, rank, form.dim, at);
        value = emit.DynamicUpdate(values[form.inputs + i], b.Reshape(value, dims), starts);
      }
      next[form.inputs + i] = value;
    }
    return next;
  };
  InstrIds last = context.Loop(form.length, std::move(state), step);
  last.erase(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(form.inputs));
  return instr.shape.is_tuple ? outer.builder().Tuple(std::move(last)) : last[0];
}

}  // namespace fusemark
