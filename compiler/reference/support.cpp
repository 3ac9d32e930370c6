// What the interpreter can run; asked for the whole module before the first instruction runs.
#include <algorithm>

#include "compiler/calls/host_call.h"
#include "compiler/ir/one_device.h"
#include "compiler/ir/random.h"
#include "compiler/reference/collective.h"
#include "compiler/reference/evaluate.h"
#include "compiler/reference/lane_ops.h"

namespace fusemark {
namespace {

using reference::KindOf;
using reference::LaneOpSupported;

bool IsStaticArray(const Shape& shape) {
  return shape.is_array() && shape.dynamic_dims == 0;
}

bool SupportsElementwise(const Instr& instr, const std::vector<const Shape*>& operands) {
  if (instr.op == Op::kCopy) return true;
  const Shape& typed = instr.op == Op::kSelect ? instr.shape : *operands[0];
  const DType dtype = typed.dtype;
  if (!LaneOpSupported(instr.op, KindOf(dtype))) return false;
  const bool is_complex = IsComplex(dtype);
  switch (instr.op) {
    case Op::kConvert: return !is_complex || IsComplex(instr.shape.dtype);
    case Op::kCompare: {
      const Direction direction = instr.As<CompareAttrs>().direction;
      return !is_complex || direction == Direction::kEq || direction == Direction::kNe;
    }
    case Op::kReducePrecision:
      return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
             dtype == DType::kBF16;
    default: return true;
  }
}

// The verifier has seen to the first two elements, and only numbers are given as states.
bool SupportsStart(const Instr& instr) {
  return std::all_of(instr.shape.elements.begin() + 2, instr.shape.elements.end(),
                     [](const Shape& state) { return state.is_scalar(); });
}

bool SupportsOp(const Instr& instr, const std::vector<const Shape*>& operands) {
  switch (instr.op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kTuple:
    case Op::kGetTupleElement:
    case Op::kCall:
    case Op::kWhile:
    case Op::kConditional:
    case Op::kFusion:
    case Op::kMap:
    case Op::kBroadcast:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kReverse:
    case Op::kConcatenate:
    case Op::kIota:
    case Op::kPad:
    case Op::kGather:
    case Op::kDynamicSlice:
    case Op::kReduce:
    case Op::kReduceWindow:
    case Op::kDot:
    case Op::kConvolution:
    case Op::kScatter:
    case Op::kDynamicUpdateSlice:
    case Op::kSelectAndScatter:
    case Op::kSort:
    case Op::kTopK:
    case Op::kOptimizationBarrier:
    case Op::kDomain:
    case Op::kAddDependency:
    case Op::kAfterAll:
    case Op::kBatchNormTraining:
    case Op::kBatchNormInference:
    case Op::kBatchNormGrad:
    case Op::kScan:
    case Op::kCholesky:
    case Op::kTriangularSolve:
    case Op::kFft:
    case Op::kGetDimensionSize:
    case Op::kAsyncUpdate:
    case Op::kAsyncDone:
    case Op::kCopyDone: return true;
    case Op::kAsyncStart:
    case Op::kCopyStart: return SupportsStart(instr);
    case Op::kRng: return IsSupportedRng(instr);
    case Op::kRngBitGenerator: return AlgorithmOf(instr, *operands[0]).has_value();
    case Op::kRngGetAndUpdateState: return IsRandomState(instr);
    default: return false;
  }
}

}  // namespace

bool ReferenceSupports(const Module& module, ComputationId computation, InstrId id) {
  const Computation& body = module[computation];
  const Instr& instr = body[id];
  std::vector<Shape> leaves;
  std::vector<const Shape*> operands;
  FlattenLeaves(instr.shape, leaves);
  for (InstrId operand : instr.operands) {
    FlattenLeaves(body[operand].shape, leaves);
    operands.push_back(&body[operand].shape);
  }
  const auto usable = [](const Shape& leaf) {
    return leaf.dtype == DType::kToken || IsStaticArray(leaf);
  };
  if (!std::all_of(leaves.begin(), leaves.end(), usable)) return false;
  if (instr.op == Op::kCustomCall) return IsIdentityCall(instr) || CheckHostCall(body, id).ok();
  if (IsElementwise(instr.op)) return SupportsElementwise(instr, operands);
  if (ClassOf(instr.op) == OpClass::Collective)
    return RunsOnOneDevice(module) && reference::SupportsCollective(instr, operands);
  if (instr.op == Op::kBitcast)
    return ElementCount(instr.shape) == ElementCount(*operands[0]) &&
           ByteSize(instr.shape.dtype) == ByteSize(operands[0]->dtype);
  return SupportsOp(instr, operands);
}

}  // namespace fusemark
