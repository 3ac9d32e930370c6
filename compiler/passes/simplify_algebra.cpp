#include "compiler/passes/simplify_algebra.h"

#include <algorithm>
#include <cstring>

#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

// Rules per instruction before it is left to the next round; chains longer than this do not occur.
constexpr int kMaxSteps = 32;

bool IsDynamic(const Shape& shape) {
  return shape.dynamic_dims != 0 ||
         std::any_of(shape.elements.begin(), shape.elements.end(), IsDynamic);
}

Step SimplifyTuple(Builder& builder, Instr& instr) {
  if (instr.op == Op::kGetTupleElement) {
    const Instr& tuple = builder[instr.operands[0]];
    if (tuple.op != Op::kTuple) return Leave();
    return Use(tuple.operands[static_cast<size_t>(instr.As<TupleIndexAttrs>().index)]);
  }
  if (instr.op != Op::kTuple || instr.operands.empty()) return Leave();
  // A tuple of all elements of one tuple, in order, is that tuple.
  const Instr& first = builder[instr.operands[0]];
  if (first.op != Op::kGetTupleElement) return Leave();
  const InstrId whole = first.operands[0];
  if (builder[whole].shape.elements.size() != instr.operands.size()) return Leave();
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    const Instr& element = builder[instr.operands[i]];
    const bool same = element.op == Op::kGetTupleElement && element.operands[0] == whole &&
                      element.As<TupleIndexAttrs>().index == static_cast<int64_t>(i);
    if (!same) return Leave();
  }
  return Use(whole);
}

Step SimplifyOnce(Builder& builder, Instr& instr) {
  switch (ClassOf(instr.op)) {
    case OpClass::Elementwise: {
      if (!instr.shape.is_array()) return Leave();
      Step step = SimplifyConversion(builder, instr);
      if (!step.fired) step = SimplifyElementwise(builder, instr);
      return step.fired ? step : SimplifyHoist(builder, instr);
    }
    case OpClass::Index: {
      const Step step = SimplifyMovement(builder, instr);
      return step.fired ? step : SimplifySlicing(builder, instr);
    }
    case OpClass::Reduce: return SimplifyMovement(builder, instr);
    case OpClass::Update: return SimplifySlicing(builder, instr);
    case OpClass::Tuple: return SimplifyTuple(builder, instr);
    default: return Leave();
  }
}

}  // namespace

Step Become(Instr& instr, Op op, std::vector<InstrId> operands, Attrs attrs) {
  instr.op = op;
  instr.operands = std::move(operands);
  instr.attrs = std::move(attrs);
  instr.called.clear();
  instr.extra.clear();
  return {true, std::nullopt};
}

const Literal* SplatOf(const Builder& builder, InstrId id) {
  const Instr* instr = &builder[id];
  while (instr->op == Op::kBroadcast || instr->op == Op::kReshape) {
    instr = &builder[instr->operands[0]];
  }
  if (instr->op != Op::kConstant || !instr->shape.is_array()) return nullptr;
  const auto& constant = instr->As<ConstantAttrs>();
  const bool scalar = !constant.elided && ElementCount(instr->shape) == 1;
  return scalar ? &constant.literal : nullptr;
}

bool IsSplat(const Builder& builder, InstrId id, double value) {
  const DType dtype = builder[id].shape.dtype;
  if (IsComplex(dtype)) return false;
  const Literal* literal = SplatOf(builder, id);
  if (literal == nullptr) return false;
  const Literal wanted = ScalarLiteralOf(dtype, value);
  return std::memcmp(literal->data->data(), wanted.data->data(), wanted.data->size()) == 0;
}

bool IsIncreasing(const Dims& dims) {
  return std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) == dims.end();
}

Result<bool> SimplifyAlgebra(Module& module, const PassContext&) {
  bool changed = false;
  changed |= RewriteModule(module, [&](Builder& builder, Instr&& instr) {
    for (int i = 0; i < kMaxSteps && !IsDynamic(instr.shape); ++i) {
      const bool dynamic =
          std::any_of(instr.operands.begin(), instr.operands.end(),
                      [&](InstrId operand) { return IsDynamic(builder[operand].shape); });
      if (dynamic) break;
      const Step step = SimplifyOnce(builder, instr);
      if (!step.fired) break;
      changed = true;
      if (step.value) return *step.value;
    }
    return builder.Keep(std::move(instr));
  });
  return changed;
}

}  // namespace fusemark
