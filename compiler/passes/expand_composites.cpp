#include "compiler/passes/expand_composites.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "compiler/ir/one_device.h"
#include "compiler/ir/users.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

class Expander {
 public:
  explicit Expander(Module& module)
      : module_(module), regions_(module), one_device_(RunsOnOneDevice(module)) {}

  bool Run() {
    const Effects effects = FindEffects(module_);
    for (Computation& computation : module_.computations) {
      changed_ |= ExpandBitcasts(computation, effects);
    }
    changed_ |= RewriteModule(module_, [this](Builder& builder, Instr&& instr) {
      changed_ |= std::erase_if(instr.extra, [](const auto& attribute) {
                    return attribute.first == "control-predecessors";  // names instructions
                  }) > 0;
      const std::optional<InstrId> expanded = Expand(builder, instr);
      changed_ |= expanded.has_value();
      return expanded ? *expanded : builder.Keep(std::move(instr));
    });
    regions_.AppendTo(module_);
    return CollectComputations(module_) || changed_;
  }

 private:
  std::optional<InstrId> Expand(Builder& builder, const Instr& instr) {
    switch (instr.op) {
      case Op::kCopy:
      case Op::kOptimizationBarrier:
      case Op::kDomain:
      case Op::kAddDependency:
      case Op::kAsyncUpdate: return instr.operands[0];
      case Op::kCustomCall: return ExpandCustomCall(builder, instr);
      case Op::kBatchNormTraining:
      case Op::kBatchNormInference:
      case Op::kBatchNormGrad: return ExpandBatchNorm(builder, instr, regions_);
      case Op::kReduce:
      case Op::kReduceWindow: return ExpandTrivialReduce(builder, instr);
      case Op::kGetDimensionSize: return ExpandDimensionSize(builder, instr);
      case Op::kAsyncStart: {
        // Not in place yet: what an rng draws depends on the names around it (ir/random.h).
        Instr call;
        call.op = Op::kCall;
        call.shape = module_[instr.called[0]].Root().shape;
        call.operands = instr.operands;
        call.called = instr.called;
        const InstrId value = builder.Emit(std::move(call));
        return Started(builder, instr, builder.Tuple(instr.operands), value);
      }
      case Op::kCopyStart: return Started(builder, instr, instr.operands[0], instr.operands[0]);
      case Op::kAsyncDone: return builder.TupleElement(instr.operands[0], 1);
      case Op::kCopyDone: return builder.TupleElement(instr.operands[0], 0);
      default:
        if (ClassOf(instr.op) != OpClass::Collective || !one_device_) return std::nullopt;
        return ExpandCollective(builder, instr);
    }
  }

  static std::optional<InstrId> ExpandCustomCall(const Builder& builder, const Instr& instr) {
    if (!IsIdentityCall(instr)) return std::nullopt;
    if (!SameType(builder[instr.operands[0]].shape, instr.shape)) return std::nullopt;
    return instr.operands[0];
  }

  static std::optional<InstrId> ExpandDimensionSize(Builder& builder, const Instr& instr) {
    const Shape& shape = builder[instr.operands[0]].shape;
    if (shape.dynamic_dims != 0 || instr.shape.dtype != DType::kS32) return std::nullopt;
    const int64_t size = shape.dims[static_cast<size_t>(instr.As<DimsAttrs>().dims[0])];
    return builder.Constant(ScalarLiteral(DType::kS32, static_cast<uint64_t>(size)));
  }

  // The result tuple of an async start: (operand, result, state...).
  static std::optional<InstrId> Started(Builder& builder, const Instr& instr, InstrId operand,
                                        InstrId result) {
    std::vector<InstrId> elements = {operand, result};
    for (size_t i = 2; i < instr.shape.elements.size(); ++i) {
      const Shape& state = instr.shape.elements[i];
      if (!state.is_scalar()) return std::nullopt;
      elements.push_back(builder.Constant(ScalarLiteral(state.dtype, 0)));
    }
    return builder.Tuple(std::move(elements));
  }

  static std::optional<InstrId> ExpandCollective(Builder& builder, const Instr& instr) {
    switch (instr.op) {
      case Op::kPartitionId:
      case Op::kReplicaId: return builder.Constant(ScalarLiteral(instr.shape.dtype, 0));
      case Op::kAllReduceDone: return instr.operands[0];
      case Op::kAllGatherDone:
      case Op::kCollectivePermuteDone: return builder.TupleElement(instr.operands[0], 1);
      case Op::kRaggedAllToAll: return std::nullopt;
      case Op::kCollectivePermute:
      case Op::kCollectivePermuteStart: return ExpandPermute(builder, instr);
      default: break;
    }
    std::vector<InstrId> operands = instr.operands;
    if (operands.empty()) return std::nullopt;
    return Received(builder, instr,
                    operands.size() == 1 ? operands[0] : builder.Tuple(std::move(operands)));
  }

  // The one device receives from itself or, where no pair sends to it, zeros.
  static std::optional<InstrId> ExpandPermute(Builder& builder, const Instr& instr) {
    if (instr.operands.size() != 1) return std::nullopt;
    if (SendsToItself(instr)) return Received(builder, instr, instr.operands[0]);
    const Shape shape = builder[instr.operands[0]].shape;
    if (!shape.is_array()) return std::nullopt;
    const InstrId zero = builder.Constant(ScalarLiteralOf(shape.dtype, 0));
    return Received(builder, instr, builder.Broadcast(zero, shape.dims, {}));
  }

  // `value` as the result of the collective, which is a tuple where it only starts.
  static std::optional<InstrId> Received(Builder& builder, const Instr& instr, InstrId value) {
    const Shape& shape = builder[value].shape;
    if (SameType(shape, instr.shape)) return value;
    const bool started = instr.op == Op::kAllGatherStart || instr.op == Op::kCollectivePermuteStart;
    if (!started || instr.shape.elements.size() < 2) return std::nullopt;
    if (!SameType(shape, instr.shape.elements[1])) return std::nullopt;
    return Started(builder, instr, value, value);
  }

  // Every reduced extent is 1, so the region runs once: f(init, x).
  std::optional<InstrId> ExpandTrivialReduce(Builder& builder, const Instr& instr) {
    if (instr.operands.size() != 2 || !instr.shape.is_array()) return std::nullopt;
    const Shape& x = builder[instr.operands[0]].shape;
    if (instr.op == Op::kReduce) {
      for (int64_t dim : instr.As<DimsAttrs>().dims) {
        if (x.dims[static_cast<size_t>(dim)] != 1) return std::nullopt;
      }
    } else {
      for (const WindowDim& dim : instr.As<WindowAttrs>().window) {
        const bool trivial = dim.size == 1 && dim.stride == 1 && dim.pad_low == 0 &&
                             dim.pad_high == 0 && dim.base_dilation == 1;
        if (!trivial) return std::nullopt;
      }
    }
    const ScalarRegion region = MatchScalarRegion(module_[instr.called[0]]);
    const bool same_type = x.dtype == builder[instr.operands[1]].shape.dtype;
    if (!IsCommutative(region.op) || !same_type) return std::nullopt;
    const InstrId value = builder.Reshape(instr.operands[0], instr.shape.dims);
    const InstrId init = builder.Broadcast(instr.operands[1], instr.shape.dims, {});
    return builder.Binary(region.op, init, value);
  }

  Module& module_;
  NewRegions regions_;
  bool one_device_;
  bool changed_ = false;
};

bool IsRowMajor(const Shape& shape) {
  if (shape.is_tuple) {
    return std::all_of(shape.elements.begin(), shape.elements.end(), IsRowMajor);
  }
  return !shape.layout ||
         std::is_sorted(shape.layout->minor_to_major.rbegin(), shape.layout->minor_to_major.rend());
}

// The entry's own layouts say how callers hand over bytes; they move to the module header before
// values are forwarded and layouts dropped.
void KeepEntryLayout(Module& module) {
  if (module.entry_layout) return;
  EntryLayout layout;
  for (InstrId id : module.Entry().parameters) {
    layout.parameters.push_back(module.Entry()[id].shape);
  }
  layout.result = module.Entry().Root().shape;
  const bool plain = IsRowMajor(layout.result) &&
                     std::all_of(layout.parameters.begin(), layout.parameters.end(), IsRowMajor);
  if (!plain) module.entry_layout = std::move(layout);
}

bool DropLayout(Shape& shape) {
  bool changed = shape.layout.has_value();
  shape.layout.reset();
  for (Shape& element : shape.elements) changed |= DropLayout(element);
  return changed;
}

// Without bitcasts every operation is defined on logical indices.
bool DropLayouts(Module& module) {
  bool changed = false;
  for (Computation& computation : module.computations) {
    for (Instr& instr : computation.instrs) {
      if (instr.op == Op::kBitcast) continue;  // one that could not be expanded: left as it was
      changed |= DropLayout(instr.shape);
      if (instr.op == Op::kConstant) changed |= DropLayout(instr.As<ConstantAttrs>().literal.shape);
    }
  }
  return changed;
}

}  // namespace

Result<bool> ExpandComposites(Module& module, const PassContext&) {
  KeepEntryLayout(module);
  const bool expanded = Expander(module).Run();
  return DropLayouts(module) || expanded;
}

}  // namespace fusemark
