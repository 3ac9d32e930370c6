// Shape inference, split by class of opcode; private to compiler/ir. The entry point is InferShape
// (ir/verify.h), which has checked operand counts, called computations and the kind of attributes
// before it calls one of these functions.
//
// Each function checks operands and attribute ranges and returns the shape that must result, or
// nothing if the written shape counts (after checking what can be checked of it).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace fusemark {

using Inferred = Result<std::optional<Shape>>;

struct InferContext {
  const Module& module;
  const Computation& computation;
  const Instr& instr;

  size_t operand_count() const { return instr.operands.size(); }
  const Instr& operand(size_t i) const { return computation[instr.operands[i]]; }
  const Shape& shape(size_t i) const { return operand(i).shape; }
  const Computation& called(size_t i) const { return module[instr.called[i]]; }

  // "add %r: <message>"
  Error Fail(std::string message) const;
  // "add %r: operand 1 (%b, defined at 3:3) is f32[4], expected <expected>"
  Error BadOperand(size_t i, std::string_view expected) const;
  // Every operand an array.
  Result<void> ExpectArrays() const;
  Result<void> ExpectSameType(size_t i, const Shape& expected) const;
  Result<void> ExpectScalar(size_t i) const;
  // Distinct numbers in [0, rank), named `what` in messages.
  Result<void> ExpectDims(std::string_view what, const Dims& dims, int64_t rank) const;
  // The called computation takes scalars of these element types, in this order.
  Result<void> ExpectScalarParameters(size_t called, const std::vector<DType>& dtypes) const;
};

// Unbounded dynamic dims (-1) match every size.
bool SizesMatch(int64_t a, int64_t b);
// SameType up to layouts, bounds and dynamic dims.
bool Compatible(const Shape& a, const Shape& b);
// Same dims, whatever the element types.
bool DimsMatch(const Shape& a, const Shape& b);
// A copy without layout.
Shape Plain(const Shape& shape);
Shape PlainArray(DType dtype, Dims dims);

// infer_elementwise.cpp
Inferred InferElementwise(const InferContext& context);
// infer_movement.cpp
Inferred InferBroadcast(const InferContext& context);
Inferred InferReshape(const InferContext& context);
Inferred InferBitcast(const InferContext& context);
Inferred InferTranspose(const InferContext& context);
Inferred InferSlice(const InferContext& context);
Inferred InferReverse(const InferContext& context);
Inferred InferConcatenate(const InferContext& context);
Inferred InferIota(const InferContext& context);
Inferred InferPad(const InferContext& context);
Inferred InferDynamicSlice(const InferContext& context);
Inferred InferDynamicUpdateSlice(const InferContext& context);
// infer_gather.cpp
Inferred InferGather(const InferContext& context);
Inferred InferScatter(const InferContext& context);
// infer_contract.cpp
Inferred InferDot(const InferContext& context);
Inferred InferConvolution(const InferContext& context);
// infer_reduce.cpp
Inferred InferReduce(const InferContext& context);
Inferred InferReduceWindow(const InferContext& context);
Inferred InferSelectAndScatter(const InferContext& context);
Inferred InferSort(const InferContext& context);
Inferred InferTopK(const InferContext& context);
Inferred InferMap(const InferContext& context);
// The dims a window makes of `dims`; `what` names the instruction's part in messages.
Result<Dims> WindowedDims(const InferContext& context, const Dims& dims, const Window& window);
// infer_scan.cpp
Inferred InferScan(const InferContext& context);
// infer_control.cpp
Inferred InferTuple(const InferContext& context);
Inferred InferGetTupleElement(const InferContext& context);
Inferred InferCall(const InferContext& context);
Inferred InferWhile(const InferContext& context);
Inferred InferConditional(const InferContext& context);
Inferred InferAsyncStart(const InferContext& context);
Inferred InferCopyStart(const InferContext& context);
Inferred InferTransferStart(const InferContext& context);
Inferred InferDone(const InferContext& context);
// infer_composite.cpp
Inferred InferBatchNorm(const InferContext& context);
Inferred InferRng(const InferContext& context);
Inferred InferRngBitGenerator(const InferContext& context);
Inferred InferCholesky(const InferContext& context);
Inferred InferTriangularSolve(const InferContext& context);
Inferred InferFft(const InferContext& context);
Inferred InferDimensionSize(const InferContext& context);
Inferred InferFirstOperand(const InferContext& context);
Inferred InferAllReduce(const InferContext& context);
Inferred InferToken(const InferContext& context);
Inferred InferId(const InferContext& context);
Inferred InferNothing(const InferContext& context);

}  // namespace fusemark
