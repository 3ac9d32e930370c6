#include "compiler/fusion/cost.h"

#include <algorithm>
#include <cmath>

namespace fusemark {
namespace {

constexpr double kTranscendentalFlops = 10;

double Elements(const Shape& shape) {
  return static_cast<double>(ElementCount(shape));
}

double DotFlops(const Computation& computation, const Instr& instr) {
  const Shape& lhs = computation[instr.operands[0]].shape;
  double depth = 1;
  for (const int64_t dim : instr.As<DotAttrs>().lhs_contracting) {
    depth *= static_cast<double>(lhs.dims[static_cast<size_t>(dim)]);
  }
  return 2 * Elements(instr.shape) * depth;
}

double ConvolutionFlops(const Computation& computation, const Instr& instr) {
  const Shape& kernel = computation[instr.operands[1]].shape;
  const int64_t outputs = kernel.dims[static_cast<size_t>(instr.As<ConvAttrs>().dims.rhs_output)];
  if (outputs == 0) return 0;
  return 2 * Elements(instr.shape) * Elements(kernel) / static_cast<double>(outputs);
}

double RegionFlops(const Module& module, const Instr& instr) {
  double flops = 0;
  if (instr.called.empty()) return 1;
  for (const Instr& step : module[instr.called.back()].instrs) flops += FlopsPerElement(step);
  return flops;
}

}  // namespace

double FlopsPerElement(const Instr& instr) {
  if (!IsElementwise(instr.op) || instr.op == Op::kCopy || instr.op == Op::kConvert) return 0;
  if (IsTranscendental(instr.op)) return kTranscendentalFlops;
  // Division and square roots have a tenth of the throughput of a multiply on the CPUs we know.
  const bool slow = instr.op == Op::kDivide || instr.op == Op::kSqrt || instr.op == Op::kRsqrt;
  return slow ? 4 : 1;
}

double FlopsOf(const Module& module, const Computation& computation, const Instr& instr) {
  if (IsElementwise(instr.op)) return Elements(instr.shape) * FlopsPerElement(instr);
  switch (instr.op) {
    case Op::kDot: return DotFlops(computation, instr);
    case Op::kConvolution: return ConvolutionFlops(computation, instr);
    case Op::kReduce:
      return Elements(computation[instr.operands[0]].shape) * RegionFlops(module, instr);
    case Op::kReduceWindow: {
      double window = 1;
      for (const WindowDim& dim : instr.As<WindowAttrs>().window) {
        window *= static_cast<double>(dim.size);
      }
      const Shape& out = instr.shape.is_tuple ? instr.shape.elements[0] : instr.shape;
      return Elements(out) * window * RegionFlops(module, instr);
    }
    case Op::kScatter:
      return Elements(computation[instr.operands.back()].shape) * RegionFlops(module, instr);
    case Op::kSort: {
      const Shape& keys = computation[instr.operands[0]].shape;
      const double length =
          static_cast<double>(keys.dims[static_cast<size_t>(instr.As<SortAttrs>().dim)]);
      return Elements(keys) * std::log2(std::max(length, 2.0)) * RegionFlops(module, instr);
    }
    default: return 0;
  }
}

}  // namespace fusemark
