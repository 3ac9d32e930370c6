#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

// Results up to this size are folded whatever they come from; larger ones only from dense
// constants, because an iota or a spread scalar is cheaper to compute than to load.
constexpr int64_t kSmallBytes = 1024;
// Element operations the (slow) evaluator may spend on one instruction, with what it needs computed
// first, and on one run of the pass.
constexpr int64_t kMaxWork = int64_t{1} << 22;
constexpr int64_t kMaxTotalWork = int64_t{1} << 25;

bool IsFoldable(const Instr& instr) {
  if (!instr.shape.is_array() || instr.shape.dynamic_dims != 0) return false;
  switch (instr.op) {
    case Op::kBroadcast:  // kept symbolic
    case Op::kIota:
    case Op::kBitcast:
    case Op::kDynamicReshape:
    case Op::kStochasticConvert:
    case Op::kScan: return false;
    case Op::kDot: return true;
    default: break;
  }
  const OpClass klass = ClassOf(instr.op);
  return klass == OpClass::Elementwise || klass == OpClass::Index || klass == OpClass::Reduce ||
         klass == OpClass::Update;
}

bool IsOneValue(const Literal& literal) {
  const auto bytes = literal.bytes();
  const auto size = static_cast<size_t>(ByteSize(literal.shape.dtype));
  // Each element equals its predecessor.
  return std::equal(bytes.begin() + static_cast<int64_t>(size), bytes.end(), bytes.begin());
}

// Literals of one computation, found before it is rewritten: the evaluator wants the module intact.
class Folder {
 public:
  Folder(const Module& module, ComputationId id, const PassContext& context, int64_t& budget)
      : module_(module), computation_(module[id]), id_(id), context_(context), budget_(budget) {}

  // By instruction name.
  std::unordered_map<std::string, Literal> Run() {
    const size_t count = computation_.instrs.size();
    values_.resize(count);
    known_.resize(count, Known::kNo);
    work_.resize(count, 0);
    for (size_t i = 0; i < count; ++i) Visit(i);
    return std::move(folded_);
  }

 private:
  // Symbolic: too large to store, but a small result made of it (a reduction, a slice) may be
  // folded.
  enum class Known : uint8_t { kNo, kDense, kSymbolic };

  void Visit(size_t i) {
    const Instr& instr = computation_.instrs[i];
    if (instr.op == Op::kConstant) {
      const auto& constant = instr.As<ConstantAttrs>();
      if (constant.elided || !instr.shape.is_array()) return;
      values_[i] = constant.literal;
      known_[i] = Known::kDense;
      return;
    }
    if (instr.op == Op::kIota || (instr.op == Op::kBroadcast && IsKnown(instr.operands[0]))) {
      MakeSymbolic(i, ElementCount(instr.shape));
      return;
    }
    if (!IsFoldable(instr) || !std::all_of(instr.operands.begin(), instr.operands.end(),
                                           [&](InstrId id) { return IsKnown(id); })) {
      return;
    }
    if (instr.operands.empty()) return;
    const std::optional<int64_t> work = WorkOf(instr);
    if (!work) return;
    if (!IsSmallEnough(instr)) return MakeSymbolic(i, *work);
    if (*work > budget_) return;
    budget_ -= *work;
    if (auto literal = Evaluate({static_cast<uint32_t>(i)})) {
      values_[i] = *literal;
      known_[i] = Known::kDense;
      folded_.emplace(instr.name, std::move(*literal));
    }
  }

  bool IsKnown(InstrId id) const { return known_[id.index] != Known::kNo; }

  void MakeSymbolic(size_t i, int64_t work) {
    known_[i] = Known::kSymbolic;
    work_[i] = work;
  }

  // Element operations to compute the instruction and its symbolic operands; none if beyond the
  // limit.
  std::optional<int64_t> WorkOf(const Instr& instr) const {
    int64_t work = ElementCount(instr.shape), before = 0;
    for (const InstrId id : instr.operands) {
      before += work_[id.index];
      if (before > kMaxWork) return std::nullopt;
      work = std::max(work, ElementCount(computation_[id].shape));
    }
    std::vector<int64_t> factors;
    if (instr.op == Op::kDot) {
      const Shape& lhs = computation_[instr.operands[0]].shape;
      for (const int64_t d : instr.As<DotAttrs>().lhs_contracting) {
        factors.push_back(lhs.dims[static_cast<size_t>(d)]);
      }
    }
    if (instr.op == Op::kReduceWindow || instr.op == Op::kSelectAndScatter) {
      for (const WindowDim& dim : instr.As<WindowAttrs>().window) factors.push_back(dim.size);
    }
    for (const int64_t factor : factors) {
      if (work > kMaxWork || factor > kMaxWork) return std::nullopt;
      work *= std::max<int64_t>(1, factor);
    }
    work += before;
    return work > kMaxWork ? std::nullopt : std::optional(work);
  }

  bool IsSmallEnough(const Instr& instr) const {
    const int64_t bytes = ByteSizeOf(instr.shape);
    int64_t dense_bytes = 0;
    for (const InstrId id : instr.operands) {
      const Shape& shape = computation_[id].shape;
      if (known_[id.index] == Known::kDense && !shape.dims.empty())
        dense_bytes += ByteSizeOf(shape);
    }
    return bytes <= kSmallBytes || (bytes <= context_.max_folded_bytes && bytes <= dense_bytes);
  }

  // The operand's value, computed now if it is symbolic.
  std::optional<Literal> ValueOf(InstrId id) {
    if (known_[id.index] == Known::kDense) return values_[id.index];
    return Evaluate(id);
  }

  std::optional<Literal> Evaluate(InstrId id) {
    const Instr& instr = computation_[id];
    std::vector<Tensor> operands;
    std::vector<const Tensor*> pointers;
    for (InstrId operand : instr.operands) {
      const auto value = ValueOf(operand);
      if (!value) return std::nullopt;
      operands.push_back(TensorFromLiteral(*value));
    }
    for (const Tensor& operand : operands) pointers.push_back(&operand);
    // An operation the evaluator does not know simply stays.
    const auto result = context_.evaluate(module_, id_, id, pointers);
    if (!result.ok() || result->size() != 1) return std::nullopt;
    const Tensor& tensor = (*result)[0];
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.size_bytes()));
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data.get(), bytes.size());
    return MakeLiteral(ArrayShape(instr.shape.dtype, instr.shape.dims), std::move(bytes));
  }

  const Module& module_;
  const Computation& computation_;
  ComputationId id_;
  const PassContext& context_;
  int64_t& budget_;
  std::vector<Literal> values_;
  std::vector<Known> known_;
  std::vector<int64_t> work_;  // to compute a symbolic value
  std::unordered_map<std::string, Literal> folded_;
};

InstrId EmitConstant(Builder& builder, Instr&& instr, Literal literal) {
  instr.operands.clear();
  instr.called.clear();
  instr.extra.clear();
  if (ElementCount(instr.shape) > 1 && !IsComplex(instr.shape.dtype) && IsOneValue(literal)) {
    const DType dtype = literal.shape.dtype;
    const auto one = literal.bytes().first(static_cast<size_t>(ByteSize(dtype)));
    const InstrId scalar = builder.Constant(
        MakeLiteral(ArrayShape(dtype, {}), std::vector<std::byte>(one.begin(), one.end())));
    instr.op = Op::kBroadcast;
    instr.operands = {scalar};
    instr.attrs = DimsAttrs{};
  } else {
    instr.op = Op::kConstant;
    instr.attrs = ConstantAttrs{std::move(literal), false};
  }
  return builder.Keep(std::move(instr));
}

bool IsSplatConstant(const Instr& instr) {
  if (instr.op != Op::kConstant || !instr.shape.is_array()) return false;
  if (IsComplex(instr.shape.dtype)) return false;  // a result of the entry: nothing reads it
  const auto& constant = instr.As<ConstantAttrs>();
  return !constant.elided && ElementCount(instr.shape) > 1 && IsOneValue(constant.literal);
}

}  // namespace

Result<bool> FoldConstants(Module& module, const PassContext& context) {
  const Effects effects = FindEffects(module);
  bool changed = false;
  int64_t budget = kMaxTotalWork;
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    std::unordered_map<std::string, Literal> folded;
    if (context.evaluate != nullptr) folded = Folder(module, {c}, context, budget).Run();
    Computation& computation = module.computations[c];
    const bool any = !folded.empty() || std::any_of(computation.instrs.begin(),
                                                    computation.instrs.end(), IsSplatConstant);
    if (!any) continue;
    changed = true;
    Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
      if (const auto it = folded.find(instr.name); it != folded.end()) {
        return EmitConstant(builder, std::move(instr), std::move(it->second));
      }
      if (!IsSplatConstant(instr)) return builder.Keep(std::move(instr));
      Literal literal = instr.As<ConstantAttrs>().literal;
      return EmitConstant(builder, std::move(instr), std::move(literal));
    });
  }
  return changed;
}

}  // namespace fusemark
