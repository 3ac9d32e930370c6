#include "compiler/ir/scan.h"

#include "compiler/reference/context.h"
#include "compiler/reference/strided.h"

namespace fusemark::reference {
namespace {

Dims WithoutDim(Dims dims, int64_t dim) {
  dims.erase(dims.begin() + dim);
  return dims;
}

// Where position t of the scanned dimension lies in an array.
struct Position {
  Dims dims, strides;  // without the scanned dimension
  int64_t offset;

  Position(const Tensor& whole, int64_t dim, int64_t t) {
    const std::vector<int64_t> all = RowMajorStrides(whole.shape.dims);
    dims = WithoutDim(whole.shape.dims, dim);
    strides = WithoutDim(all, dim);
    offset = t * all[static_cast<size_t>(dim)] * ByteSize(whole.shape.dtype);
  }
};

}  // namespace

// `form` comes with its instruction's result leaves: outputs, then carries.
Tensors EvalScan(const Context& context, const Instr& instr, const ScanForm& form,
                 Operands operands) {
  std::vector<Shape> leaves;
  FlattenLeaves(instr.shape, leaves);
  Tensors outputs, carries;
  for (size_t i = 0; i < form.outputs; ++i) outputs.push_back(MakeTensor(leaves[i]));
  for (size_t i = 0; i < form.carries; ++i)
    carries.push_back(CopyTensor(*operands[form.inputs + i]));
  for (int64_t step = 0; step < form.length; ++step) {
    context.poll();
    const int64_t t = form.reverse ? form.length - 1 - step : step;
    Tensors arguments;
    for (size_t i = 0; i < form.inputs; ++i) {
      const Position at(*operands[i], form.dim, t);
      Tensor slice = MakeTensor(ArrayShape(operands[i]->shape.dtype, at.dims), false);
      CopyStrided(ByteSize(slice.shape.dtype), at.dims, operands[i]->data.get() + at.offset,
                  at.strides, slice.data.get(), RowMajorStrides(at.dims));
      arguments.push_back(std::move(slice));
    }
    for (Tensor& carry : carries) arguments.push_back(std::move(carry));
    Tensors results = context.call(instr.called[0], std::move(arguments));
    for (size_t i = 0; i < form.outputs; ++i) {
      const Position at(outputs[i], form.dim, t);
      CopyStrided(ByteSize(outputs[i].shape.dtype), at.dims, results[i].data.get(),
                  RowMajorStrides(at.dims), outputs[i].data.get() + at.offset, at.strides);
    }
    for (size_t i = 0; i < form.carries; ++i) carries[i] = std::move(results[form.outputs + i]);
  }
  for (Tensor& carry : carries) outputs.push_back(std::move(carry));
  return outputs;
}

}  // namespace fusemark::reference
