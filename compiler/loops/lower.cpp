#include "compiler/loops/lower.h"

#include "compiler/loops/lower_nests.h"
#include "compiler/loops/simplify.h"
#include "compiler/support/check.h"

namespace fusemark::loops {
namespace {

void AddResults(Lowering& lowering) {
  for (size_t i = 0; i < lowering.request.roots.size(); ++i) {
    const Instr& root = lowering.root(i);
    std::vector<Shape> leaves;
    FlattenLeaves(root.shape, leaves);
    auto& buffers = lowering.results.emplace_back();
    for (const Shape& leaf : leaves) {
      std::vector<int64_t> dims = leaf.dims;
      if (IsComplex(leaf.dtype)) dims.push_back(2);  // parts next to each other
      const DType dtype = IsComplex(leaf.dtype) ? ComponentOf(leaf.dtype) : StorageType(leaf.dtype);
      buffers.push_back(lowering.emitter.builder().AddResult(root.name, dtype, dims));
    }
  }
}

Result<void> LowerBody(Lowering& lowering) {
  switch (lowering.request.klass) {
    case KernelClass::kRow: return LowerRows(lowering);
    case KernelClass::kAttention: return LowerAttention(lowering);
    case KernelClass::kUpdate: LowerUpdates(lowering); return Ok();
    case KernelClass::kWindow:
      if (!LowerScan(lowering)) LowerLoops(lowering);
      return Ok();
    case KernelClass::kLoop:
    case KernelClass::kReduce:
    case KernelClass::kContraction: LowerLoops(lowering); return Ok();
  }
  return Ok();
}

}  // namespace

Result<Lowered> Lower(const LowerRequest& request) {
  FM_CHECK(request.module != nullptr && !request.roots.empty());
  FM_RETURN_IF_ERROR(CheckRequest(request));
  Lowered lowered;
  const Computation& computation = (*request.module)[request.computation];
  lowered.kernel.name = computation[request.roots.back()].name;
  lowered.kernel.klass = request.klass;
  Emitter emitter(request, lowered);
  Lowering lowering{request, emitter, {}};
  AddResults(lowering);
  FM_RETURN_IF_ERROR(LowerBody(lowering));
  lowered.kernel.body = emitter.TakeBody();
  lowered.kernel = Simplify(lowered.kernel);
  return lowered;
}

KernelClass ClassOfInstr(const Module& module, ComputationId computation, InstrId instr) {
  switch (module[computation][instr].op) {
    case Op::kReduce: return KernelClass::kReduce;
    case Op::kReduceWindow: return KernelClass::kWindow;
    case Op::kDot:
    case Op::kConvolution: return KernelClass::kContraction;
    case Op::kScatter:
    case Op::kDynamicUpdateSlice:
    case Op::kSelectAndScatter:
    case Op::kSort:
    case Op::kTopK: return KernelClass::kUpdate;
    default: return KernelClass::kLoop;
  }
}

}  // namespace fusemark::loops
