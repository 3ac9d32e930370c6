#include <fmt/format.h>

#include "compiler/ir/infer.h"

namespace fusemark {
namespace {

// The called computation takes exactly the operands from `first` on.
Result<void> CheckArguments(const InferContext& context, const Computation& callee, size_t first) {
  const size_t count = context.operand_count() - first;
  if (callee.parameters.size() != count) {
    return context.Fail(fmt::format("found {} argument{} for %{}, expected {}", count,
                                    count == 1 ? "" : "s", callee.name, callee.parameters.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    const Shape& parameter = callee[callee.parameters[i]].shape;
    if (Compatible(context.shape(first + i), parameter)) continue;
    return context.BadOperand(
        first + i, fmt::format("{}, parameter {} of %{}", ToString(parameter), i, callee.name));
  }
  return Ok();
}

// Shapes inside a shape, itself included; stops counting above `limit`, as nested too deep.
int64_t CountNodes(const Shape& shape, int depth, int64_t limit) {
  if (depth == 0) return limit + 1;
  int64_t count = 1;
  for (const Shape& element : shape.elements) {
    count += CountNodes(element, depth - 1, limit);
    if (count > limit) break;
  }
  return count;
}

Shape OperandTuple(const InferContext& context) {
  std::vector<Shape> elements;
  for (size_t i = 0; i < context.operand_count(); ++i) elements.push_back(Plain(context.shape(i)));
  return TupleShape(std::move(elements));
}

// The written result is (first, second, state...); no `second` stands for any.
Inferred CheckStarted(const InferContext& context, const Shape& first, const Shape* second) {
  const Shape& written = context.instr.shape;
  if (written.is_tuple && written.elements.size() >= 2 && Compatible(written.elements[0], first) &&
      (second == nullptr || Compatible(written.elements[1], *second)))
    return std::optional<Shape>();
  return context.Fail(fmt::format("the result is written as {}, expected ({}, {}, state...)",
                                  ToString(written), ToString(first),
                                  second == nullptr ? "result" : ToString(*second)));
}

}  // namespace

// Tuples of tuples could grow as 2^n in n lines, so their size and depth are bounded.
Inferred InferTuple(const InferContext& context) {
  constexpr int64_t kMaxNodes = 100000;
  constexpr int kMaxDepth = 100;
  int64_t nodes = 0;
  for (size_t i = 0; i < context.operand_count() && nodes <= kMaxNodes; ++i)
    nodes += CountNodes(context.shape(i), kMaxDepth, kMaxNodes);
  if (nodes > kMaxNodes) {
    return context.Fail(fmt::format("the tuple has more than {} elements or nests deeper than {}",
                                    kMaxNodes, kMaxDepth));
  }
  std::vector<Shape> elements;
  elements.reserve(context.operand_count());
  for (size_t i = 0; i < context.operand_count(); ++i) elements.push_back(Plain(context.shape(i)));
  return std::optional<Shape>(TupleShape(std::move(elements)));
}

Inferred InferGetTupleElement(const InferContext& context) {
  const Shape& tuple = context.shape(0);
  const int64_t index = context.instr.As<TupleIndexAttrs>().index;
  if (!tuple.is_tuple) return context.BadOperand(0, "a tuple");
  if (index < 0 || index >= static_cast<int64_t>(tuple.elements.size())) {
    return context.Fail(fmt::format("index={}, expected 0 to {} for a tuple of {} elements", index,
                                    static_cast<int64_t>(tuple.elements.size()) - 1,
                                    tuple.elements.size()));
  }
  return std::optional<Shape>(Plain(tuple.elements[static_cast<size_t>(index)]));
}

Inferred InferCall(const InferContext& context) {
  FM_RETURN_IF_ERROR(CheckArguments(context, context.called(0), 0));
  return std::optional<Shape>(Plain(context.called(0).Root().shape));
}

Inferred InferWhile(const InferContext& context) {
  const Computation& condition = context.called(0);
  const Computation& body = context.called(1);
  FM_RETURN_IF_ERROR(CheckArguments(context, condition, 0));
  FM_RETURN_IF_ERROR(CheckArguments(context, body, 0));
  const Shape& test = condition.Root().shape;
  if (!test.is_scalar() || test.dtype != DType::kPred) {
    return context.Fail(fmt::format("the condition %{} returns {}, expected pred[]", condition.name,
                                    ToString(test)));
  }
  if (!Compatible(body.Root().shape, context.shape(0))) {
    return context.Fail(fmt::format("the body %{} returns {}, expected the loop state {}",
                                    body.name, ToString(body.Root().shape),
                                    ToString(context.shape(0))));
  }
  return std::optional<Shape>(Plain(context.shape(0)));
}

Inferred InferConditional(const InferContext& context) {
  const size_t branches = context.instr.called.size();
  const Shape& selector = context.shape(0);
  const bool is_pred = selector.dtype == DType::kPred;
  if (!selector.is_scalar() || (!is_pred && selector.dtype != DType::kS32))
    return context.BadOperand(0, "pred[] or s32[] to select a branch");
  if (branches == 0 || (is_pred && branches != 2)) {
    return context.Fail(fmt::format("found {} branches, expected {}", branches,
                                    is_pred ? "2 for a pred selector" : "at least one"));
  }
  if (context.operand_count() != branches + 1) {
    return context.Fail(
        fmt::format("found {} operands, expected the selector and one per branch "
                    "({})",
                    context.operand_count(), branches + 1));
  }
  const Shape& first = context.called(0).Root().shape;
  for (size_t i = 0; i < branches; ++i) {
    const Computation& branch = context.called(i);
    if (branch.parameters.size() != 1) {
      return context.Fail(fmt::format("branch %{} has {} parameters, expected 1", branch.name,
                                      branch.parameters.size()));
    }
    const Shape& parameter = branch[branch.parameters[0]].shape;
    if (!Compatible(context.shape(i + 1), parameter)) {
      return context.BadOperand(
          i + 1, fmt::format("{}, the parameter of branch %{}", ToString(parameter), branch.name));
    }
    if (!Compatible(branch.Root().shape, first)) {
      return context.Fail(fmt::format("branch %{} returns {}, expected {} as branch %{}",
                                      branch.name, ToString(branch.Root().shape), ToString(first),
                                      context.called(0).name));
    }
  }
  return std::optional<Shape>(Plain(first));
}

// What starts another instruction gives a tuple with a state that is free to choose.
Inferred InferAsyncStart(const InferContext& context) {
  FM_RETURN_IF_ERROR(CheckArguments(context, context.called(0), 0));
  return CheckStarted(context, OperandTuple(context), &context.called(0).Root().shape);
}

Inferred InferCopyStart(const InferContext& context) {
  return CheckStarted(context, context.shape(0), &context.shape(0));
}

// What arrives depends on who takes part. Forms of several operands differ in what they give.
Inferred InferTransferStart(const InferContext& context) {
  if (context.operand_count() == 1) return CheckStarted(context, context.shape(0), nullptr);
  if (context.instr.op == Op::kCollectivePermuteStart) return std::optional<Shape>();
  return CheckStarted(context, OperandTuple(context), nullptr);
}

Inferred InferDone(const InferContext& context) {
  const Shape& state = context.shape(0);
  if (!state.is_tuple || state.elements.size() < 2)
    return context.BadOperand(0, "the result of an instruction that starts another one");
  return std::optional<Shape>(Plain(state.elements[context.instr.op == Op::kCopyDone ? 0 : 1]));
}

}  // namespace fusemark
