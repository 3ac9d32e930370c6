#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

// Conditions larger than this are not evaluated for their first trip.
constexpr size_t kMaxConditionInstrs = 64;

const Literal* ScalarConstant(const Instr& instr) {
  if (instr.op != Op::kConstant || !instr.shape.is_scalar()) return nullptr;
  const auto& constant = instr.As<ConstantAttrs>();
  return constant.elided ? nullptr : &constant.literal;
}

int64_t SelectorValue(const Literal& literal) {
  int32_t value = 0;
  std::memcpy(&value, literal.data->data(), std::min(literal.data->size(), sizeof value));
  return value;
}

// Elements of a tuple value, by index.
using Elements = std::map<int64_t, Literal>;

// Is `instr` an element of the parameter of a computation with one (tuple) parameter?
std::optional<int64_t> ElementOfParameter(const Computation& computation, const Instr& instr) {
  if (instr.op != Op::kGetTupleElement || computation.parameters.size() != 1) return std::nullopt;
  if (instr.operands[0] != computation.parameters[0]) return std::nullopt;
  return instr.As<TupleIndexAttrs>().index;
}

// Scalar constants the loop starts with.
Elements InitialConstants(const Computation& computation, const Instr& loop) {
  Elements elements;
  const Instr& init = computation[loop.operands[0]];
  if (init.op != Op::kTuple) return elements;
  for (size_t i = 0; i < init.operands.size(); ++i) {
    const Literal* literal = ScalarConstant(computation[init.operands[i]]);
    if (literal != nullptr) elements.emplace(static_cast<int64_t>(i), *literal);
  }
  return elements;
}

// Those that the body hands on unchanged.
Elements KeepInvariant(Elements elements, const Computation& body) {
  const Instr& root = body.Root();
  if (root.op != Op::kTuple) return {};
  std::erase_if(elements, [&](const auto& element) {
    const Instr& next = body[root.operands[static_cast<size_t>(element.first)]];
    return ElementOfParameter(body, next) != element.first;
  });
  return elements;
}

// True when the condition, applied to the loop's initial value, is known to be false.
bool NeverRuns(const Module& module, ComputationId id, const Elements& init,
               const PassContext& context) {
  const Computation& condition = module[id];
  if (condition.instrs.size() > kMaxConditionInstrs) return false;
  std::vector<std::optional<Literal>> values(condition.instrs.size());
  for (uint32_t i = 0; i < condition.instrs.size(); ++i) {
    const Instr& instr = condition.instrs[i];
    if (const Literal* literal = ScalarConstant(instr)) {
      values[i] = *literal;
    } else if (const auto element = ElementOfParameter(condition, instr)) {
      if (const auto it = init.find(*element); it != init.end()) values[i] = it->second;
    } else if (IsElementwise(instr.op) && instr.shape.is_scalar() && context.evaluate != nullptr) {
      std::vector<Tensor> operands;
      for (InstrId operand : instr.operands) {
        if (values[operand.index]) operands.push_back(TensorFromLiteral(*values[operand.index]));
      }
      if (operands.size() != instr.operands.size()) continue;
      std::vector<const Tensor*> pointers;
      for (const Tensor& operand : operands) pointers.push_back(&operand);
      const auto result = context.evaluate(module, id, {i}, pointers);
      if (!result.ok() || result->size() != 1) continue;
      const Tensor& tensor = (*result)[0];
      const std::byte* data = tensor.data.get();
      values[i] =
          MakeLiteral(instr.shape, std::vector<std::byte>(data, data + tensor.size_bytes()));
    }
  }
  const auto& root = values[condition.root.index];
  return root && SelectorValue(*root) == 0;
}

// Reads of `elements` of the parameter become constants.
bool UseConstants(Computation& computation, const Elements& elements, const Effects& effects) {
  if (computation.parameters.size() != 1) return false;
  bool changed = false;
  Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
    if (instr.op != Op::kGetTupleElement) return builder.Keep(std::move(instr));
    if (builder[instr.operands[0]].op != Op::kParameter) return builder.Keep(std::move(instr));
    const auto it = elements.find(instr.As<TupleIndexAttrs>().index);
    if (it == elements.end()) return builder.Keep(std::move(instr));
    changed = true;
    return builder.Constant(it->second);
  });
  return changed;
}

bool SpecialiseLoops(Module& module, const Effects& effects) {
  std::vector<int> callers(module.computations.size(), 0);
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      for (ComputationId callee : instr.called) ++callers[callee.index];
    }
  }
  bool changed = false;
  // Callers first: what an outer loop makes constant can make an inner one's start constant.
  for (size_t c = module.computations.size(); c-- > 0;) {
    for (const Instr& instr : module.computations[c].instrs) {
      if (instr.op != Op::kWhile) continue;
      const auto [condition, body] = std::pair(instr.called[0], instr.called[1]);
      // A body shared between loops cannot assume one loop's constants.
      if (callers[condition.index] != 1 || callers[body.index] != 1) continue;
      const Elements invariant =
          KeepInvariant(InitialConstants(module.computations[c], instr), module[body]);
      if (invariant.empty()) continue;
      changed |= UseConstants(module[condition], invariant, effects);
      changed |= UseConstants(module[body], invariant, effects);
    }
  }
  return changed;
}

// Per computation, the names of loops that never run.
std::vector<std::string> DeadLoops(const Module& module, const Computation& computation,
                                   const PassContext& context) {
  std::vector<std::string> names;
  for (const Instr& instr : computation.instrs) {
    if (instr.op != Op::kWhile) continue;
    const Elements init = InitialConstants(computation, instr);
    if (NeverRuns(module, instr.called[0], init, context)) names.push_back(instr.name);
  }
  return names;
}

}  // namespace

Result<bool> SimplifyControl(Module& module, const PassContext& context) {
  const Effects effects = FindEffects(module);
  bool changed = SpecialiseLoops(module, effects);
  for (Computation& computation : module.computations) {
    const bool any = std::any_of(
        computation.instrs.begin(), computation.instrs.end(),
        [](const Instr& instr) { return instr.op == Op::kWhile || instr.op == Op::kConditional; });
    if (!any) continue;
    const std::vector<std::string> dead = DeadLoops(module, computation, context);
    changed |= Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
      if (instr.op == Op::kWhile && std::find(dead.begin(), dead.end(), instr.name) != dead.end()) {
        changed = true;
        return instr.operands[0];
      }
      if (instr.op != Op::kConditional) return builder.Keep(std::move(instr));
      const Instr& selector = builder[instr.operands[0]];
      const Literal* literal = ScalarConstant(selector);
      if (literal == nullptr) return builder.Keep(std::move(instr));
      const auto last = static_cast<int64_t>(instr.called.size()) - 1;
      const int64_t value = SelectorValue(*literal);
      int64_t branch = value < 0 || value > last ? last : value;
      if (selector.shape.dtype == DType::kPred) branch = value != 0 ? 0 : 1;
      changed = true;
      const InstrId argument = instr.operands[static_cast<size_t>(branch) + 1];
      return builder.Inline(module[instr.called[static_cast<size_t>(branch)]], {&argument, 1});
    });
  }
  return CollectComputations(module) || changed;
}

}  // namespace fusemark
