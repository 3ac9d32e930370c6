// Lowers HLO text, proves the kernel, runs it in the loop interpreter and compares with the
// reference evaluator.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/number.h"
#include "compiler/ir/tensor.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/print.h"
#include "compiler/loops/verify.h"
#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"

namespace fusemark::loops {

inline Module MustParseHlo(const std::string& text) {
  auto module = ParseModule(text, "test.hlo");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message);
  return module.ok() ? *module : Module{};
}

// Floats in [-2, 2), integers in [-3, 8], from a fixed sequence.
inline Tensor MakeInput(const Shape& shape, uint64_t seed) {
  Tensor tensor = MakeTensor(shape);
  const auto size = static_cast<size_t>(ByteSize(shape.dtype));
  uint64_t state = seed * 2862933555777941757ULL + 3037000493ULL;
  for (int64_t i = 0; i < ElementCount(shape); ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint64_t bits = 0;
    if (IsFloat(shape.dtype)) {
      bits = FloatToBits(shape.dtype, static_cast<double>((state >> 33) % 4001) / 1000.0 - 2.0);
    } else if (shape.dtype == DType::kPred) {
      bits = (state >> 40) & 1;
    } else {
      const auto small = static_cast<int64_t>((state >> 33) % 12);
      bits = static_cast<uint64_t>(IsSigned(shape.dtype) ? small - 3 : small);
    }
    std::memcpy(tensor.data.get() + static_cast<size_t>(i) * size, &bits, size);
  }
  return tensor;
}

inline uint64_t BitsAt(const Tensor& tensor, int64_t i) {
  const auto size = static_cast<size_t>(ByteSize(tensor.shape.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.get() + static_cast<size_t>(i) * size, size);
  return bits;
}

// "" when equal: exactly (any NaN equals any NaN), or for floats within tolerance * max(1, |want|).
inline std::string Difference(const Tensor& got, const Tensor& want, double tolerance) {
  for (int64_t i = 0; i < ElementCount(want.shape); ++i) {
    const uint64_t a = BitsAt(got, i), b = BitsAt(want, i);
    if (a == b) continue;
    if (!IsFloat(want.shape.dtype))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " +
             std::to_string(b);
    const double x = FloatFromBits(want.shape.dtype, a), y = FloatFromBits(want.shape.dtype, b);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y && (tolerance > 0 || x != 0)) continue;
    if (std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(x) + ", expected " +
           std::to_string(y);
  }
  return "";
}

// Values of every instruction of the entry computation, leaf by leaf; empty where the reference
// cannot give one.
using Leaves = std::vector<Tensor>;
class Values {
 public:
  Values(const Module& module, uint64_t seed) : values(module.Entry().instrs.size()) {
    const Computation& entry = module.Entry();
    for (uint32_t i = 0; i < entry.instrs.size(); ++i) Fill(module, {i}, seed + i);
  }
  std::vector<Leaves> values;

 private:
  void Fill(const Module& module, InstrId id, uint64_t seed) {
    const Instr& in = module.Entry()[id];
    Leaves& out = values[id.index];
    if (in.op == Op::kParameter) {
      std::vector<Shape> leaves;
      FlattenLeaves(in.shape, leaves);
      for (const Shape& leaf : leaves) out.push_back(MakeInput(leaf, seed));
      return;
    }
    if (in.op == Op::kConstant && in.shape.is_array()) {
      out.push_back(TensorFromLiteral(in.As<ConstantAttrs>().literal));
      return;
    }
    if (in.op == Op::kGetTupleElement) {
      const auto leaf = static_cast<size_t>(in.As<TupleIndexAttrs>().index);
      const Leaves& tuple = values[in.operands[0].index];
      if (leaf < tuple.size() && in.shape.is_array()) out.push_back(CopyTensor(tuple[leaf]));
      return;
    }
    if (in.op == Op::kTuple || !ReferenceSupports(module, module.entry, id)) return;
    std::vector<const Tensor*> operands;
    for (const InstrId operand : in.operands) {
      if (values[operand.index].size() != 1) return;
      operands.push_back(&values[operand.index][0]);
    }
    auto result = EvaluateInstr(module, module.entry, id, operands);
    if (result.ok()) out = std::move(*result);
  }
};

// Runs a lowered kernel on the values of its operands.
inline Result<Leaves> RunLowered(const Lowered& lowered, const std::vector<Leaves>& values) {
  std::vector<const void*> operands;
  for (const InstrId id : lowered.operands) operands.push_back(values[id.index].at(0).data.get());
  Leaves results;
  std::vector<void*> pointers;
  for (const BufferId id : lowered.kernel.results) {
    const Buffer& buffer = lowered.kernel[id];
    results.push_back(MakeTensor(ArrayShape(buffer.dtype, buffer.dims)));
    pointers.push_back(results.back().data.get());
  }
  FM_RETURN_IF_ERROR(Interpret(lowered.kernel, operands, pointers));
  return results;
}

struct Fused {
  KernelClass klass = KernelClass::kLoop;
  Rounding rounding = Rounding::kEveryOperation;
  double tolerance = 0;  // 0: bit for bit
};

// The whole entry as one kernel: its result (or the elements of its tuple) are the roots, all other
// instructions but parameters and constants are members. Returns the kernel's text.
inline std::string LowerFused(const std::string& text, const Fused& fused) {
  const Module module = MustParseHlo(text);
  const Computation& entry = module.Entry();
  LowerRequest request{.module = &module, .computation = module.entry};
  request.klass = fused.klass;
  request.rounding = fused.rounding;
  const bool tuple = entry.Root().op == Op::kTuple;
  request.roots = tuple ? entry.Root().operands : std::vector<InstrId>{entry.root};
  for (uint32_t i = 0; i < entry.instrs.size(); ++i) {
    const Op op = entry.instrs[i].op;
    const bool root =
        std::find(request.roots.begin(), request.roots.end(), InstrId{i}) != request.roots.end();
    if (!root && op != Op::kParameter && op != Op::kConstant && op != Op::kTuple)
      request.members.push_back({i});
  }
  auto lowered = Lower(request);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  if (!lowered.ok()) return "";
  const std::string printed = Print(lowered->kernel);
  const auto proved = Verify(lowered->kernel);
  EXPECT_TRUE(proved.ok()) << (proved.ok() ? "" : proved.error().message) << "\n" << printed;
  if (!proved.ok()) return printed;
  const Values values(module, 7);
  auto got = RunLowered(*lowered, values.values);
  EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message) << "\n" << printed;
  if (!got.ok()) return printed;
  size_t next = 0;
  for (const InstrId root : request.roots) {
    EXPECT_FALSE(values.values[root.index].empty()) << "no reference for " << entry[root].name;
    for (const Tensor& want : values.values[root.index])
      EXPECT_EQ(Difference((*got)[next++], want, fused.tolerance), "") << entry[root].name << "\n"
                                                                       << printed;
  }
  return printed;
}

}  // namespace fusemark::loops
