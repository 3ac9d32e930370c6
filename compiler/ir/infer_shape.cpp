#include <fmt/format.h>

#include <array>

#include "compiler/ir/infer.h"
#include "compiler/ir/verify.h"

namespace fusemark {
namespace {

using InferFn = Inferred (*)(const InferContext&);

template <class T, size_t I = 0>
constexpr size_t AttrIndex() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attrs>, T>) {
    return I;
  } else {
    return AttrIndex<T, I + 1>();
  }
}

constexpr size_t kNone = AttrIndex<std::monostate>();
constexpr int kAny = -1;

struct Rule {
  Op op;
  int min_operands;  // for variadic opcodes; the others have Arity(op)
  int called;        // number of called computations, kAny if the function checks
  size_t attrs;      // index into the variant
  InferFn infer;
};

constexpr Rule kRules[] = {
    {Op::kParameter, 0, 0, AttrIndex<ParameterAttrs>(), InferNothing},
    {Op::kConstant, 0, 0, AttrIndex<ConstantAttrs>(), InferNothing},
    {Op::kTuple, 0, 0, kNone, InferTuple},
    {Op::kGetTupleElement, 1, 0, AttrIndex<TupleIndexAttrs>(), InferGetTupleElement},
    {Op::kCall, 0, 1, kNone, InferCall},
    {Op::kWhile, 1, 2, kNone, InferWhile},
    {Op::kConditional, 1, kAny, kNone, InferConditional},
    {Op::kFusion, 0, 1, AttrIndex<FusionAttrs>(), InferCall},
    {Op::kMap, 1, 1, AttrIndex<DimsAttrs>(), InferMap},
    {Op::kCompare, 2, 0, AttrIndex<CompareAttrs>(), InferElementwise},
    {Op::kReducePrecision, 1, 0, AttrIndex<ReducePrecisionAttrs>(), InferElementwise},
    {Op::kBroadcast, 1, 0, AttrIndex<DimsAttrs>(), InferBroadcast},
    {Op::kReshape, 1, 0, kNone, InferReshape},
    {Op::kDynamicReshape, 1, 0, kNone, InferReshape},
    {Op::kBitcast, 1, 0, kNone, InferBitcast},
    {Op::kTranspose, 1, 0, AttrIndex<DimsAttrs>(), InferTranspose},
    {Op::kSlice, 1, 0, AttrIndex<SliceAttrs>(), InferSlice},
    {Op::kReverse, 1, 0, AttrIndex<DimsAttrs>(), InferReverse},
    {Op::kConcatenate, 1, 0, AttrIndex<DimsAttrs>(), InferConcatenate},
    {Op::kIota, 0, 0, AttrIndex<DimsAttrs>(), InferIota},
    {Op::kPad, 2, 0, AttrIndex<PadAttrs>(), InferPad},
    {Op::kGather, 2, 0, AttrIndex<GatherAttrs>(), InferGather},
    {Op::kDynamicSlice, 1, 0, AttrIndex<DimsAttrs>(), InferDynamicSlice},
    {Op::kReduce, 2, 1, AttrIndex<DimsAttrs>(), InferReduce},
    {Op::kReduceWindow, 2, 1, AttrIndex<WindowAttrs>(), InferReduceWindow},
    {Op::kScan, 1, 1, AttrIndex<DimsAttrs>(), InferScan},
    {Op::kDot, 2, 0, AttrIndex<DotAttrs>(), InferDot},
    {Op::kRaggedDot, 3, 0, AttrIndex<DotAttrs>(), InferNothing},
    {Op::kScaledDot, 2, 0, AttrIndex<DotAttrs>(), InferNothing},
    {Op::kConvolution, 2, 0, AttrIndex<ConvAttrs>(), InferConvolution},
    {Op::kScatter, 3, 1, AttrIndex<ScatterAttrs>(), InferScatter},
    {Op::kDynamicUpdateSlice, 2, 0, kNone, InferDynamicUpdateSlice},
    {Op::kSelectAndScatter, 3, 2, AttrIndex<WindowAttrs>(), InferSelectAndScatter},
    {Op::kSort, 1, 1, AttrIndex<SortAttrs>(), InferSort},
    {Op::kTopK, 1, 0, AttrIndex<TopKAttrs>(), InferTopK},
    {Op::kBatchNormTraining, 3, 0, AttrIndex<BatchNormAttrs>(), InferBatchNorm},
    {Op::kBatchNormInference, 5, 0, AttrIndex<BatchNormAttrs>(), InferBatchNorm},
    {Op::kBatchNormGrad, 5, 0, AttrIndex<BatchNormAttrs>(), InferBatchNorm},
    {Op::kRng, 2, 0, AttrIndex<RngAttrs>(), InferRng},
    {Op::kRngBitGenerator, 1, 0, AttrIndex<RngAttrs>(), InferRngBitGenerator},
    {Op::kRngGetAndUpdateState, 0, 0, AttrIndex<RngAttrs>(), InferNothing},
    {Op::kCholesky, 1, 0, AttrIndex<TriangularAttrs>(), InferCholesky},
    {Op::kTriangularSolve, 2, 0, AttrIndex<TriangularAttrs>(), InferTriangularSolve},
    {Op::kFft, 1, 0, AttrIndex<FftAttrs>(), InferFft},
    {Op::kOptimizationBarrier, 1, 0, kNone, InferFirstOperand},
    {Op::kDomain, 1, 0, kNone, InferFirstOperand},
    {Op::kAddDependency, 2, 0, kNone, InferFirstOperand},
    {Op::kAfterAll, 0, 0, kNone, InferToken},
    {Op::kGetDimensionSize, 1, 0, AttrIndex<DimsAttrs>(), InferDimensionSize},
    {Op::kSetDimensionSize, 2, 0, AttrIndex<DimsAttrs>(), InferDimensionSize},
    {Op::kCustomCall, 0, kAny, AttrIndex<CustomCallAttrs>(), InferNothing},
    {Op::kInfeed, 1, 0, kNone, InferNothing},
    {Op::kOutfeed, 2, 0, kNone, InferToken},
    {Op::kSend, 2, 0, kNone, InferNothing},
    {Op::kSendDone, 1, 0, kNone, InferNothing},
    {Op::kRecv, 1, 0, kNone, InferNothing},
    {Op::kRecvDone, 1, 0, kNone, InferNothing},
    {Op::kAsyncStart, 0, 1, kNone, InferAsyncStart},
    {Op::kAsyncUpdate, 1, 0, kNone, InferFirstOperand},
    {Op::kAsyncDone, 1, 0, kNone, InferDone},
    {Op::kCopyStart, 1, 0, kNone, InferCopyStart},
    {Op::kCopyDone, 1, 0, kNone, InferDone},
    {Op::kAllGather, 1, 0, AttrIndex<CollectiveAttrs>(), InferNothing},
    {Op::kAllGatherStart, 1, 0, AttrIndex<CollectiveAttrs>(), InferTransferStart},
    {Op::kAllGatherDone, 1, 0, kNone, InferDone},
    {Op::kAllReduce, 1, kAny, AttrIndex<CollectiveAttrs>(), InferAllReduce},
    {Op::kAllReduceStart, 1, kAny, AttrIndex<CollectiveAttrs>(), InferNothing},
    {Op::kAllReduceDone, 1, 0, kNone, InferFirstOperand},
    {Op::kAllToAll, 1, 0, AttrIndex<CollectiveAttrs>(), InferNothing},
    {Op::kRaggedAllToAll, 1, 0, kNone, InferNothing},
    {Op::kReduceScatter, 1, kAny, AttrIndex<CollectiveAttrs>(), InferNothing},
    {Op::kCollectiveBroadcast, 1, 0, AttrIndex<CollectiveAttrs>(), InferNothing},
    {Op::kCollectivePermute, 1, 0, kNone, InferNothing},
    {Op::kCollectivePermuteStart, 1, 0, kNone, InferTransferStart},
    {Op::kCollectivePermuteDone, 1, 0, kNone, InferDone},
    {Op::kPartitionId, 0, 0, kNone, InferId},
    {Op::kReplicaId, 0, 0, kNone, InferId},
};

// Opcodes without a row are elementwise without attributes.
const Rule& RuleOf(Op op) {
  static const auto kByOp = [] {
    std::array<Rule, 256> by_op{};
    by_op.fill({Op::kAdd, 0, 0, kNone, InferElementwise});
    for (const Rule& rule : kRules) by_op[static_cast<size_t>(rule.op)] = rule;
    return by_op;
  }();
  return kByOp[static_cast<size_t>(op)];
}

Result<void> CheckForm(const InferContext& context, const Rule& rule) {
  const Instr& instr = context.instr;
  const auto count = static_cast<int>(instr.operands.size());
  const int arity = Arity(instr.op);
  if (arity >= 0 && count != arity) {
    return context.Fail(
        fmt::format("found {} operand{}, expected {}", count, count == 1 ? "" : "s", arity));
  }
  if (count < rule.min_operands) {
    return context.Fail(fmt::format("found {} operand{}, expected {} or more", count,
                                    count == 1 ? "" : "s", rule.min_operands));
  }
  if (rule.called != kAny && instr.called.size() != static_cast<size_t>(rule.called)) {
    return context.Fail(
        fmt::format("found {} called computations, expected {}", instr.called.size(), rule.called));
  }
  if (instr.attrs.index() != rule.attrs) {
    return context.Fail("carries the attributes of another opcode");
  }
  return Ok();
}

}  // namespace

Error InferContext::Fail(std::string message) const {
  std::string_view name = OpName(instr.op);
  if (instr.name.empty()) return Invalid(fmt::format("{}: {}", name, message), instr.loc);
  return Invalid(fmt::format("{} %{}: {}", name, instr.name, message), instr.loc);
}

Error InferContext::BadOperand(size_t i, std::string_view expected) const {
  const Instr& found = operand(i);
  const std::string place =
      found.loc.line == 0 ? ""
                          : fmt::format(", defined at {}:{}", found.loc.line, found.loc.column);
  return Fail(fmt::format("operand {} (%{}{}) is {}, expected {}", i, found.name, place,
                          ToString(found.shape), expected));
}

Result<void> InferContext::ExpectArrays() const {
  for (size_t i = 0; i < operand_count(); ++i) {
    if (!shape(i).is_array()) return BadOperand(i, "an array");
  }
  return Ok();
}

Result<void> InferContext::ExpectSameType(size_t i, const Shape& expected) const {
  if (Compatible(shape(i), expected)) return Ok();
  return BadOperand(i, ToString(expected));
}

Result<void> InferContext::ExpectScalar(size_t i) const {
  if (shape(i).is_scalar()) return Ok();
  return BadOperand(i, "a scalar");
}

Result<void> InferContext::ExpectDims(std::string_view what, const Dims& dims, int64_t rank) const {
  uint64_t seen = 0;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank || dim >= 64) {
      return Fail(fmt::format("{} has dimension {}, expected 0 to {} (rank {})", what, dim,
                              rank - 1, rank));
    }
    if ((seen >> dim & 1) != 0) return Fail(fmt::format("{} lists dimension {} twice", what, dim));
    seen |= uint64_t{1} << dim;
  }
  return Ok();
}

Result<void> InferContext::ExpectScalarParameters(size_t index,
                                                  const std::vector<DType>& dtypes) const {
  const Computation& callee = called(index);
  if (callee.parameters.size() != dtypes.size()) {
    return Fail(fmt::format("%{} has {} parameters, expected {}", callee.name,
                            callee.parameters.size(), dtypes.size()));
  }
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const Shape& parameter = callee[callee.parameters[i]].shape;
    if (parameter.is_scalar() && parameter.dtype == dtypes[i]) continue;
    return Fail(fmt::format("parameter {} of %{} is {}, expected {}[]", i, callee.name,
                            ToString(parameter), DTypeName(dtypes[i])));
  }
  return Ok();
}

bool SizesMatch(int64_t a, int64_t b) {
  return a == b || a < 0 || b < 0;
}

bool DimsMatch(const Shape& a, const Shape& b) {
  if (a.is_tuple || b.is_tuple || a.dims.size() != b.dims.size()) return false;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (!SizesMatch(a.dims[i], b.dims[i])) return false;
  }
  return true;
}

bool Compatible(const Shape& a, const Shape& b) {
  if (a.is_tuple != b.is_tuple) return false;
  if (!a.is_tuple) return a.dtype == b.dtype && DimsMatch(a, b);
  if (a.elements.size() != b.elements.size()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!Compatible(a.elements[i], b.elements[i])) return false;
  }
  return true;
}

Shape Plain(const Shape& shape) {
  Shape plain;
  plain.dtype = shape.dtype;
  plain.is_tuple = shape.is_tuple;
  plain.dynamic_dims = shape.dynamic_dims;
  plain.dims = shape.dims;
  for (const Shape& element : shape.elements) plain.elements.push_back(Plain(element));
  return plain;
}

Shape PlainArray(DType dtype, Dims dims) {
  Shape shape = ArrayShape(dtype, std::move(dims));
  for (size_t i = 0; i < shape.dims.size() && i < 32; ++i) {
    if (shape.dims[i] < 0) shape.dynamic_dims |= 1U << i;
  }
  return shape;
}

Result<std::optional<Shape>> InferShape(const Module& module, const Computation& computation,
                                        const Instr& instr) {
  const InferContext context{module, computation, instr};
  const Rule& rule = RuleOf(instr.op);
  FM_RETURN_IF_ERROR(CheckForm(context, rule));
  return rule.infer(context);
}

}  // namespace fusemark
