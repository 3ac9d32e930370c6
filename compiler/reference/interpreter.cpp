#include "compiler/reference/interpreter.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/one_device.h"
#include "compiler/ir/random.h"
#include "compiler/reference/collective.h"
#include "compiler/reference/custom_call.h"
#include "compiler/reference/indices.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

Value ArrayValue(Tensor tensor) {
  return {std::make_shared<Tensor>(std::move(tensor)), {}};
}

Value LiteralValue(const Literal& literal) {
  if (!literal.shape.is_tuple) return ArrayValue(TensorFromLiteral(literal));
  Value tuple;
  for (const Literal& element : literal.elements) tuple.elements.push_back(LiteralValue(element));
  return tuple;
}

InstrId IdOf(const Computation& computation, const Instr& instr) {
  return {static_cast<uint32_t>(&instr - computation.instrs.data())};
}

bool ReadPred(const Value& value) {
  return *value.array->as<uint8_t>() != 0;
}

}  // namespace

void FlattenValue(const Value& value, std::vector<std::shared_ptr<Tensor>>& leaves) {
  if (value.array) leaves.push_back(value.array);
  for (const Value& element : value.elements) FlattenValue(element, leaves);
}

Value BuildValue(const Shape& shape, std::span<const std::shared_ptr<Tensor>>& leaves) {
  Value value;
  if (!shape.is_tuple) {
    value.array = leaves.front();
    leaves = leaves.subspan(1);
    return value;
  }
  for (const Shape& element : shape.elements) value.elements.push_back(BuildValue(element, leaves));
  return value;
}

Interpreter::Interpreter(const Module& module, const std::atomic<bool>* cancelled)
    : module_(module),
      context_{module,
               [this](ComputationId computation, Tensors arguments) {
                 return CallFlat(computation, std::move(arguments));
               },
               [cancelled] {
                 if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
                   throw Cancelled{};
               }},
      plans_(module.computations.size()) {}

Interpreter::Plan& Interpreter::PlanOf(ComputationId id) {
  auto& cached = plans_[id.index];
  if (cached) return *cached;
  const Computation& computation = module_[id];
  const auto count = static_cast<uint32_t>(computation.instrs.size());
  Plan& plan = cached.emplace();
  plan.last_uses.resize(count);
  plan.reuse.assign(count, Plan::Reuse::kNone);
  if (!effects_) effects_ = FindEffects(module_);
  for (uint32_t i = 0; i < count; ++i) {
    const Instr& instr = computation.instrs[i];
    plan.last_uses[i] = i;
    plan.effects.push_back(HasSideEffect(instr, *effects_));
    bool invariant = instr.op != Op::kParameter && !plan.effects[i];
    for (InstrId operand : instr.operands) {
      plan.last_uses[operand.index] = i;
      invariant = invariant && plan.reuse[operand.index] != Plan::Reuse::kNone;
    }
    if (invariant) plan.reuse[i] = Plan::Reuse::kInner;
  }
  plan.last_uses[computation.root.index] = count;
  for (uint32_t i = 0; i < count; ++i) {
    if (plan.reuse[i] != Plan::Reuse::kNone) continue;
    for (InstrId operand : computation.instrs[i].operands)
      if (plan.reuse[operand.index] == Plan::Reuse::kInner)
        plan.reuse[operand.index] = Plan::Reuse::kKept;
  }
  if (plan.reuse[computation.root.index] == Plan::Reuse::kInner)
    plan.reuse[computation.root.index] = Plan::Reuse::kKept;
  return plan;
}

std::vector<Value> Interpreter::TakeOperands(const Instr& instr, uint32_t index, const Plan& plan,
                                             std::vector<Value>& values) {
  // The last reader takes the value over, so that an update can see it is the only holder. Of
  // several operands with the same value the first one takes it (hence the backward loop).
  std::vector<Value> operands(instr.operands.size());
  for (size_t k = instr.operands.size(); k-- > 0;) {
    const uint32_t from = instr.operands[k].index;
    bool last = plan.last_uses[from] == index;
    for (size_t other = 0; last && other < k; ++other) last = instr.operands[other].index != from;
    operands[k] = last ? std::move(values[from]) : values[from];
  }
  return operands;
}

Value Interpreter::Run(ComputationId id, std::vector<Value> arguments) {
  const Computation& computation = module_[id];
  Plan& plan = PlanOf(id);
  ++plan.calls;
  const bool keep = plan.calls == 2, reuse = plan.calls > 2;
  std::vector<Value> values(computation.instrs.size());
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (plan.last_uses[i] == i && !plan.effects[i]) continue;  // nobody reads it
    if (reuse && plan.reuse[i] != Plan::Reuse::kNone) {
      if (plan.reuse[i] == Plan::Reuse::kKept) values[i] = plan.kept.at(i);
      continue;
    }
    if (instr.op == Op::kParameter) {
      values[i] = std::move(arguments[static_cast<size_t>(instr.As<ParameterAttrs>().number)]);
    } else if (instr.op == Op::kGetTupleElement) {
      // Without copying the tuple, which may have thousands of elements.
      const uint32_t from = instr.operands[0].index;
      values[i] = values[from].elements[static_cast<size_t>(instr.As<TupleIndexAttrs>().index)];
      if (plan.last_uses[from] == i) values[from] = {};
    } else {
      context_.poll();
      values[i] = EvalInstr(id, instr, TakeOperands(instr, i, plan, values));
    }
    if (keep && plan.reuse[i] == Plan::Reuse::kKept) plan.kept[i] = values[i];
  }
  return std::move(values[computation.root.index]);
}

Tensors Interpreter::CallFlat(ComputationId id, Tensors arguments) {
  std::vector<std::shared_ptr<Tensor>> leaves;
  for (Tensor& argument : arguments)
    leaves.push_back(std::make_shared<Tensor>(std::move(argument)));
  std::span<const std::shared_ptr<Tensor>> rest = leaves;
  const Computation& computation = module_[id];
  std::vector<Value> values;
  for (InstrId parameter : computation.parameters)
    values.push_back(BuildValue(computation[parameter].shape, rest));
  std::vector<std::shared_ptr<Tensor>> results;
  FlattenValue(Run(id, std::move(values)), results);
  Tensors tensors;
  for (const auto& result : results) tensors.push_back(CopyTensor(*result));
  return tensors;
}

Value Interpreter::Constant(const Instr& instr) {
  const auto found = constants_.find(&instr);
  if (found != constants_.end()) return found->second;
  return constants_.emplace(&instr, LiteralValue(instr.As<ConstantAttrs>().literal)).first->second;
}

Value Interpreter::EvalWhile(const Instr& instr, Value state) {
  while (ReadPred(Run(instr.called[0], {state}))) {
    std::vector<Value> arguments;
    arguments.push_back(std::exchange(state, {}));
    state = Run(instr.called[1], std::move(arguments));
  }
  return state;
}

Value Interpreter::EvalControl(const Instr& instr, std::vector<Value> operands) {
  if (instr.op == Op::kCall || instr.op == Op::kFusion)
    return Run(instr.called[0], std::move(operands));
  if (instr.op == Op::kWhile) return EvalWhile(instr, std::move(operands[0]));
  FM_CHECK(instr.op == Op::kConditional);
  const auto branches = static_cast<int64_t>(instr.called.size());
  int64_t branch = 0;
  if (operands[0].array->shape.dtype == DType::kPred) {
    branch = ReadPred(operands[0]) ? 0 : 1;
  } else {
    branch = ReadIndices(*operands[0].array)[0];
    if (branch < 0 || branch >= branches) branch = branches - 1;
  }
  std::vector<Value> arguments;
  arguments.push_back(std::move(operands[static_cast<size_t>(branch) + 1]));
  return Run(instr.called[static_cast<size_t>(branch)], std::move(arguments));
}

Value Interpreter::RandomState(const Instr& instr) {
  Tensor state = MakeTensor(instr.shape);
  std::copy_n(random_state_, 2, state.as<uint64_t>());
  const auto delta = static_cast<uint64_t>(instr.As<RngAttrs>().delta);
  random_state_[0] += delta;
  if (random_state_[0] < delta) ++random_state_[1];
  return ArrayValue(std::move(state));
}

Value Interpreter::EvalInstr(ComputationId id, const Instr& instr, std::vector<Value> operands) {
  switch (instr.op) {
    case Op::kConstant: return Constant(instr);
    case Op::kTuple: return {nullptr, std::move(operands)};
    case Op::kGetTupleElement:
      return std::move(
          operands[0].elements[static_cast<size_t>(instr.As<TupleIndexAttrs>().index)]);
    case Op::kCall:
    case Op::kFusion:
    case Op::kWhile:
    case Op::kConditional: return EvalControl(instr, std::move(operands));
    case Op::kCopy:
      if (instr.shape.is_tuple) return std::move(operands[0]);
      break;
    case Op::kOptimizationBarrier:
    case Op::kDomain:
    case Op::kAddDependency:
    case Op::kAsyncUpdate: return std::move(operands[0]);
    case Op::kAsyncStart: {
      Value given{nullptr, operands};
      return StartedValue(instr, std::move(given), Run(instr.called[0], std::move(operands)));
    }
    case Op::kCopyStart: return StartedValue(instr, operands[0], operands[0]);
    case Op::kAsyncDone: return std::move(operands[0].elements[1]);
    case Op::kCopyDone: return std::move(operands[0].elements[0]);
    case Op::kCustomCall:
      if (IsIdentityCall(instr)) return std::move(operands[0]);
      return EvalCustomCall(module_[id], IdOf(module_[id], instr), operands);
    case Op::kRngGetAndUpdateState: return RandomState(instr);
    case Op::kAfterAll: return ArrayValue(MakeTensor(instr.shape));
    case Op::kGetDimensionSize: {
      const auto dim = static_cast<size_t>(instr.As<DimsAttrs>().dims[0]);
      Tensor size = MakeTensor(instr.shape);
      *size.as<int32_t>() = static_cast<int32_t>(module_[id][instr.operands[0]].shape.dims[dim]);
      return ArrayValue(std::move(size));
    }
    case Op::kBitcast:
      return ArrayValue(
          EvalBitcast(instr, *operands[0].array, module_[id][instr.operands[0]].shape));
    default: break;
  }
  if (ClassOf(instr.op) == OpClass::Collective) return EvalCollective(instr, std::move(operands));
  if (IsElementwise(instr.op)) {
    const Tensor* arrays[3] = {};
    for (size_t i = 0; i < operands.size(); ++i) arrays[i] = operands[i].array.get();
    return ArrayValue(EvalElementwise(instr, Operands(arrays, operands.size())));
  }
  Tensors results = EvalArrays(id, instr, operands);
  if (!instr.shape.is_tuple) return ArrayValue(std::move(results[0]));
  Value tuple;
  for (Tensor& result : results) tuple.elements.push_back(ArrayValue(std::move(result)));
  return tuple;
}

Tensors Interpreter::EvalArrays(ComputationId id, const Instr& instr, std::vector<Value>& values) {
  std::vector<const Tensor*> operands;
  for (const Value& value : values) operands.push_back(value.array.get());
  const auto one = [](Tensor tensor) {
    Tensors results;
    results.push_back(std::move(tensor));
    return results;
  };
  switch (instr.op) {
    case Op::kMap: return EvalMap(context_, instr, operands);
    case Op::kGather: return one(EvalGather(instr, operands));
    case Op::kScatter: return EvalScatter(context_, instr, operands);
    case Op::kDot: return one(EvalDot(context_, instr, operands));
    case Op::kConvolution: return one(EvalConvolution(context_, instr, operands));
    case Op::kReduce: return EvalReduce(context_, instr, operands);
    case Op::kReduceWindow: return EvalReduceWindow(context_, instr, operands);
    case Op::kSelectAndScatter: return one(EvalSelectAndScatter(context_, instr, operands));
    case Op::kSort: return EvalSort(context_, instr, operands);
    case Op::kTopK: return EvalTopK(instr, operands);
    case Op::kScan:
      return EvalScan(context_, instr,
                      FormOfScan(module_[instr.called[0]], instr, operands[0]->shape), operands);
    case Op::kBatchNormTraining:
    case Op::kBatchNormInference:
    case Op::kBatchNormGrad: return EvalBatchNorm(instr, operands);
    case Op::kCholesky: return one(EvalCholesky(context_, instr, operands));
    case Op::kTriangularSolve: return one(EvalTriangularSolve(context_, instr, operands));
    case Op::kFft: return one(EvalFft(context_, instr, operands));
    case Op::kRngBitGenerator: return EvalRngBitGenerator(instr, operands);
    case Op::kRng: {
      const uint64_t seed = SeedOf(module_[id].name, instr.name);
      return one(EvalRng(seed, instr, operands));
    }
    case Op::kDynamicUpdateSlice: {
      const bool only_holder = values[0].array.use_count() == 1;
      Tensor base = only_holder ? std::move(*values[0].array) : CopyTensor(*values[0].array);
      return one(EvalDynamicUpdateSlice(operands, std::move(base)));
    }
    default: return one(EvalDataMovement(instr, operands));
  }
}

}  // namespace fusemark::reference
