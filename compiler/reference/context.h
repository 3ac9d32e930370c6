// What the per-opcode files of the interpreter share: the module, how to call a computation, and
// the entry point of each of them. Operations get array operands and give array results; tuples,
// calls and loops are evaluate.cpp's business.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/scan.h"
#include "compiler/ir/tensor.h"

namespace fusemark::reference {

using Tensors = std::vector<Tensor>;
using Operands = std::span<const Tensor* const>;

// Thrown when the caller's cancellation flag is set; caught by Evaluate().
struct Cancelled {};

struct Context {
  const Module& module;
  // Runs a computation on flattened arguments and returns the flattened results.
  std::function<Tensors(ComputationId, Tensors)> call;
  // Throws Cancelled; called now and then by operations that can take seconds.
  std::function<void()> poll;
};

// elementwise.cpp
Tensor EvalElementwise(const Instr& instr, Operands operands);
Tensors EvalMap(const Context& context, const Instr& instr, Operands operands);
// data_movement.cpp
Tensor EvalDataMovement(const Instr& instr, Operands operands);
// `from`: the operand as declared, with its layout (tensors are always row-major).
Tensor EvalBitcast(const Instr& instr, const Tensor& source, const Shape& from);
// `base` is a copy of operand 0, or operand 0 itself when nothing reads it afterwards.
Tensor EvalDynamicUpdateSlice(Operands operands, Tensor base);
// gather_scatter.cpp
Tensor EvalGather(const Instr& instr, Operands operands);
Tensors EvalScatter(const Context& context, const Instr& instr, Operands operands);
// contract.cpp, convolution.cpp
Tensor EvalDot(const Context& context, const Instr& instr, Operands operands);
Tensor EvalConvolution(const Context& context, const Instr& instr, Operands operands);
// reduce.cpp
Tensors EvalReduce(const Context& context, const Instr& instr, Operands operands);
// reduce_window.cpp
Tensors EvalReduceWindow(const Context& context, const Instr& instr, Operands operands);
Tensor EvalSelectAndScatter(const Context& context, const Instr& instr, Operands operands);
// sort.cpp
Tensors EvalSort(const Context& context, const Instr& instr, Operands operands);
Tensors EvalTopK(const Instr& instr, Operands operands);
// batch_norm.cpp
Tensors EvalBatchNorm(const Instr& instr, Operands operands);
// scan.cpp
Tensors EvalScan(const Context& context, const Instr& instr, const ScanForm& form,
                 Operands operands);
// linear.cpp
Tensor EvalCholesky(const Context& context, const Instr& instr, Operands operands);
Tensor EvalTriangularSolve(const Context& context, const Instr& instr, Operands operands);
// fft.cpp
Tensor EvalFft(const Context& context, const Instr& instr, Operands operands);
// random.cpp; ir/random.h says what is drawn.
Tensors EvalRngBitGenerator(const Instr& instr, Operands operands);
Tensor EvalRng(uint64_t seed, const Instr& instr, Operands operands);

}  // namespace fusemark::reference
