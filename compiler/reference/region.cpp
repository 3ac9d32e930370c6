#include "compiler/reference/region.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/users.h"
#include "compiler/reference/lane_ops.h"
#include "compiler/support/check.h"

namespace fusemark::reference {
namespace {

bool IsScalarArray(const Shape& shape) {
  return shape.is_array() && ElementCount(shape) == 1 && shape.dynamic_dims == 0;
}

// One element in, the same element out.
bool IsScalarIdentity(Op op) {
  return op == Op::kReshape || op == Op::kBroadcast || op == Op::kTranspose || op == Op::kCopy ||
         op == Op::kOptimizationBarrier || op == Op::kReverse;
}

// Steps with lanes equal to the stored value; the rest is rounded to the element type after each.
bool ChangesPrecision(const Instr& instr) {
  return instr.op != Op::kSelect && instr.op != Op::kCompare && instr.op != Op::kBitcastConvert;
}

}  // namespace

Region::Region(const Context& context, ComputationId computation)
    : context_(context),
      computation_(computation),
      parameter_count_(context.module[computation].parameters.size()) {
  const Computation& body = context.module[computation];
  std::vector<Shape> leaves;
  FlattenLeaves(body.Root().shape, leaves);
  for (const Shape& leaf : leaves) result_types_.push_back(leaf.dtype);
  std::vector<std::vector<size_t>> arguments;
  for (size_t i = 0; i < parameter_count_; ++i) {
    registers_.push_back(nullptr);
    arguments.push_back({i});
    by_call_ = by_call_ || !IsScalarArray(body[body.parameters[i]].shape);
  }
  by_call_ = by_call_ || !Append(computation, arguments, results_);
  if (!by_call_) return;
  steps_.clear();
  results_.clear();
  for (size_t i = 0; i < leaves.size(); ++i) results_.push_back(NewRegister());
}

size_t Region::NewRegister() {
  buffers_.emplace_back();
  registers_.push_back(buffers_.back().data());
  return registers_.size() - 1;
}

void Region::AddConstant(const Literal& literal, size_t target) {
  const DType dtype = literal.shape.dtype;
  auto* lanes = static_cast<std::byte*>(const_cast<void*>(registers_[target]));
  const auto size = static_cast<size_t>(LaneSize(dtype));
  Decode(dtype, literal.bytes().data(), 1, lanes);
  for (int64_t i = 1; i < kBlock; ++i)
    std::memcpy(lanes + static_cast<size_t>(i) * size, lanes, size);
}

bool Region::Append(ComputationId computation, const std::vector<std::vector<size_t>>& arguments,
                    std::vector<size_t>& results) {
  const Computation& body = context_.module[computation];
  const std::vector<bool> live = Live(body);
  std::vector<std::vector<size_t>> values(body.instrs.size());
  for (size_t i = 0; i < body.instrs.size(); ++i) {
    const Instr& instr = body.instrs[i];
    if (instr.op == Op::kParameter)
      values[i] = arguments[static_cast<size_t>(instr.As<ParameterAttrs>().number)];
    else if (live[i] && !AppendInstr(body, instr, values))
      return false;
  }
  results = values[body.root.index];
  return true;
}

bool Region::AppendInstr(const Computation& computation, const Instr& instr,
                         std::vector<std::vector<size_t>>& values) {
  auto& value = values[static_cast<size_t>(&instr - computation.instrs.data())];
  const auto operand = [&](size_t i) -> const std::vector<size_t>& {
    return values[instr.operands[i].index];
  };
  if (instr.op == Op::kTuple) {
    for (size_t i = 0; i < instr.operands.size(); ++i)
      value.insert(value.end(), operand(i).begin(), operand(i).end());
    return true;
  }
  if (instr.op == Op::kGetTupleElement) {
    const Shape& tuple = computation[instr.operands[0]].shape;
    int64_t first = 0;
    const auto index = static_cast<size_t>(instr.As<TupleIndexAttrs>().index);
    for (size_t i = 0; i < index; ++i) first += LeafCount(tuple.elements[i]);
    const auto begin = operand(0).begin() + first;
    value.assign(begin, begin + LeafCount(tuple.elements[index]));
    return true;
  }
  if (instr.op == Op::kCall || instr.op == Op::kFusion) {
    std::vector<std::vector<size_t>> arguments;
    for (size_t i = 0; i < instr.operands.size(); ++i) arguments.push_back(operand(i));
    return Append(instr.called[0], arguments, value);
  }
  if (!IsScalarArray(instr.shape)) return false;
  if (instr.op == Op::kConstant) {
    value = {NewRegister()};
    AddConstant(instr.As<ConstantAttrs>().literal, value[0]);
    return true;
  }
  for (InstrId id : instr.operands)
    if (!IsScalarArray(computation[id].shape)) return false;
  if (IsScalarIdentity(instr.op)) {
    value = operand(0);
    return true;
  }
  if (!IsElementwise(instr.op)) return false;
  Step step{&instr, {}, {}, NewRegister(), {}};
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    step.operands.push_back(operand(i)[0]);
    step.types.push_back(computation[instr.operands[i]].shape.dtype);
  }
  step.pointers.resize(step.operands.size());
  value = {step.target};
  steps_.push_back(std::move(step));
  return true;
}

void Region::Run(int64_t n, std::span<const void* const> params) {
  FM_DCHECK(n <= kBlock && params.size() == parameter_count_);
  if (by_call_) return RunByCall(n, params);
  std::copy(params.begin(), params.end(), registers_.begin());
  for (const Step& step : steps_) {
    for (size_t i = 0; i < step.operands.size(); ++i)
      step.pointers[i] = registers_[step.operands[i]];
    auto* target = const_cast<void*>(registers_[step.target]);
    ApplyLanes(*step.instr, step.types, step.pointers, n, target);
    if (ChangesPrecision(*step.instr)) RoundLanes(step.instr->shape.dtype, target, n);
  }
}

void Region::RunByCall(int64_t n, std::span<const void* const> params) {
  const Computation& body = context_.module[computation_];
  for (int64_t lane = 0; lane < n; ++lane) {
    Tensors arguments;
    for (size_t i = 0; i < params.size(); ++i) {
      arguments.push_back(MakeTensor(body[body.parameters[i]].shape));
      const DType dtype = arguments.back().shape.dtype;
      Encode(dtype, static_cast<const std::byte*>(params[i]) + lane * LaneSize(dtype), 1,
             arguments.back().data.get());
    }
    const Tensors results = context_.call(computation_, std::move(arguments));
    for (size_t i = 0; i < results.size(); ++i) {
      auto* lanes = static_cast<std::byte*>(const_cast<void*>(registers_[results_[i]]));
      Decode(result_types_[i], results[i].data.get(), 1, lanes + lane * LaneSize(result_types_[i]));
    }
  }
}

Combiner::Combiner(const Context& context, ComputationId computation, std::vector<DType> types)
    : types_(std::move(types)), region_(context, computation) {
  const Computation& body = context.module[computation];
  if (types_.size() != 1 || body.Root().shape.is_tuple || body.Root().shape.dtype != types_[0])
    return;
  const ScalarRegion exact = MatchScalarRegion(body);
  returns_second_ = exact.returns_second;
  // Operations whose result needs no rounding, and sums.
  if (exact.op == Op::kAdd || exact.op == Op::kMaximum || exact.op == Op::kMinimum ||
      exact.op == Op::kAnd || exact.op == Op::kOr)
    op_ = exact.op;
}

void Combiner::Combine(int64_t n, std::span<void* const> accumulators,
                       std::span<const void* const> elements) {
  if (returns_second_) {
    std::memcpy(accumulators[0], elements[0], static_cast<size_t>(n * LaneSize(types_[0])));
    return;
  }
  if (op_ != Op::kParameter)
    return BinaryLanes(op_, types_[0], accumulators[0], elements[0], n, accumulators[0]);
  const size_t count = types_.size();
  params_.resize(2 * count);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t lanes = std::min(kBlock, n - i);
    for (size_t k = 0; k < count; ++k) {
      const int64_t offset = i * LaneSize(types_[k]);
      params_[k] = static_cast<std::byte*>(accumulators[k]) + offset;
      params_[count + k] = static_cast<const std::byte*>(elements[k]) + offset;
    }
    region_.Run(lanes, params_);
    for (size_t k = 0; k < count; ++k)
      std::memcpy(const_cast<void*>(params_[k]), region_.result(k),
                  static_cast<size_t>(lanes * LaneSize(types_[k])));
  }
}

}  // namespace fusemark::reference
