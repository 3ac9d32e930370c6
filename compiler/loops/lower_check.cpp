#include <fmt/format.h>

#include <algorithm>

#include "compiler/loops/lower_nests.h"
#include "compiler/loops/scalar.h"

namespace fusemark::loops {
namespace {

bool IsLoopType(DType dtype) {
  return ClassOf(dtype) != DTypeClass::Complex && ClassOf(dtype) != DTypeClass::Opaque;
}

// On pred these are logical (lower_scalar.cpp).
bool IsLogical(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: return true;
    default: return false;
  }
}

bool HasScalarFunction(const Instr& instr, DType operand) {
  switch (instr.op) {
    case Op::kCopy:
    case Op::kReal:
    case Op::kImag:
    case Op::kSelect:
    case Op::kConvert:
    case Op::kCompare:
    case Op::kBitcastConvert: return true;
    case Op::kReducePrecision: return IsFloat(operand) && BitWidth(operand) >= 16;
    case Op::kClamp: return operand != DType::kPred;
    default: break;
  }
  const DType held = HeldType(operand);
  if (instr.operands.size() == 1) return UnaryFunction(instr.op, held) != nullptr;
  if (held == DType::kPred) return IsLogical(instr.op);
  return instr.operands.size() == 2 && BinaryFunction(instr.op, held) != nullptr;
}

class Check {
 public:
  explicit Check(const Module& module) : module_(module) {}

  // `root`: the instruction is materialised, so an update may stand there.
  Result<void> Instruction(const Computation& computation, InstrId id, bool root) {
    const Instr& in = computation[id];
    if (const std::string reason = Types(computation, in); !reason.empty())
      return Refuse(in, reason);
    if (in.op == Op::kComplex && root) return Ok();
    if (IsElementwise(in.op)) {
      if (!HasScalarFunction(in, computation[in.operands[0]].shape.dtype))
        return Refuse(in, "with operands of type " +
                              std::string(DTypeName(computation[in.operands[0]].shape.dtype)));
      return Ok();
    }
    switch (in.op) {
      case Op::kGetTupleElement:
      case Op::kDot:
      case Op::kConvolution:
      case Op::kBroadcast:
      case Op::kReshape:
      case Op::kTranspose:
      case Op::kSlice:
      case Op::kReverse:
      case Op::kConcatenate:
      case Op::kIota:
      case Op::kPad:
      case Op::kGather:
      case Op::kOptimizationBarrier:
      case Op::kDynamicUpdateSlice: return Ok();
      case Op::kDynamicSlice: return Starts(computation, in, 1);
      case Op::kBitcast:
        if (ChangesSize(computation, in)) return Refuse(in, "between different sizes");
        return Ok();
      case Op::kMap:
      case Op::kReduce:
      case Op::kReduceWindow: return Regions(in);
      case Op::kTopK:
        if (!root) return Refuse(in, "inside a fused kernel");
        return Ok();
      case Op::kScatter:
      case Op::kSort:
      case Op::kSelectAndScatter:
        if (!root) return Refuse(in, "inside a fused kernel");
        return Regions(in);
      default: return Refuse(in, "");
    }
  }

 private:
  static Error Refuse(const Instr& in, const std::string& reason) {
    return Unsupported(
        fmt::format("instruction `{}` (line {}): opcode {}{}{} is not supported", in.name,
                    in.loc.line, OpName(in.op), reason.empty() ? "" : " ", reason),
        in.loc);
  }

  // Complex arrays exist at the border only: real() and imag() load a part from a buffer, complex()
  // stores both (passes/expand_complex.cpp has seen to everything between).
  static bool IsBorderType(const Instr& in, DType dtype) {
    return IsComplex(dtype) && (in.op == Op::kReal || in.op == Op::kImag || in.op == Op::kComplex);
  }

  static std::string Types(const Computation& computation, const Instr& in) {
    std::vector<Shape> leaves;
    FlattenLeaves(in.shape, leaves);
    if (in.op != Op::kGetTupleElement) {
      for (const InstrId operand : in.operands) {
        // Tuples are read through get-tuple-element only.
        if (computation[operand].shape.is_tuple) return "with a tuple operand";
        leaves.push_back(computation[operand].shape);
      }
    }
    for (const Shape& leaf : leaves) {
      if (!IsLoopType(leaf.dtype) && !IsBorderType(in, leaf.dtype))
        return "with type " + std::string(DTypeName(leaf.dtype));
      if (leaf.dynamic_dims != 0) return "with a dynamic shape";
    }
    return "";
  }

  // Old files give one vector of start indices.
  static Result<void> Starts(const Computation& computation, const Instr& in, size_t first) {
    const size_t rank = in.shape.dims.size();
    const bool vector =
        in.operands.size() == first + 1 && computation[in.operands[first]].shape.rank() == 1;
    if (vector || in.operands.size() != first + rank)
      return Refuse(in, "with a vector of start indices");
    return Ok();
  }

  static bool ChangesSize(const Computation& computation, const Instr& in) {
    const Shape& operand = computation[in.operands[0]].shape;
    return ElementCount(in.shape) != ElementCount(operand) ||
           ByteSize(in.shape.dtype) != ByteSize(operand.dtype);
  }

  Result<void> Regions(const Instr& in) {
    for (const ComputationId called : in.called) FM_RETURN_IF_ERROR(Region(module_[called]));
    return Ok();
  }

  // A called computation must be arithmetic on scalars.
  Result<void> Region(const Computation& region) {
    for (uint32_t i = 0; i < region.instrs.size(); ++i) {
      const Instr& in = region.instrs[i];
      std::vector<Shape> leaves;
      FlattenLeaves(in.shape, leaves);
      const bool scalars = std::all_of(leaves.begin(), leaves.end(), [](const Shape& leaf) {
        return leaf.dims.empty() && IsLoopType(leaf.dtype);
      });
      if (!scalars) return Refuse(in, "on arrays inside a called computation");
      switch (in.op) {
        case Op::kParameter:
        case Op::kConstant:
        case Op::kTuple:
        case Op::kGetTupleElement:
        case Op::kBroadcast:
        case Op::kReshape:
        case Op::kTranspose: break;
        case Op::kMap:
        case Op::kCall:
        case Op::kFusion: FM_RETURN_IF_ERROR(Regions(in)); break;
        default:
          if (!IsElementwise(in.op)) return Refuse(in, "inside a called computation");
          FM_RETURN_IF_ERROR(Instruction(region, {i}, false));
      }
    }
    return Ok();
  }

  const Module& module_;
};

}  // namespace

Result<void> CheckRequest(const LowerRequest& request) {
  const Computation& computation = (*request.module)[request.computation];
  Check check(*request.module);
  for (const InstrId id : request.members)
    FM_RETURN_IF_ERROR(check.Instruction(computation, id, false));
  for (const InstrId id : request.roots)
    FM_RETURN_IF_ERROR(check.Instruction(computation, id, true));
  return Ok();
}

}  // namespace fusemark::loops
