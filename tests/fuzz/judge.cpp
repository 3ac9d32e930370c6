#include "tests/fuzz/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/ir/number.h"
#include "compiler/ir/rewrite.h"
#include "compiler/reference/evaluate.h"

namespace fusemark {
namespace {

constexpr int kRuns = 8, kMoreRuns = 40;
constexpr double kUlps = 8, kSpreads = 8;

DType PartOf(DType dtype) {
  return IsComplex(dtype) ? ComponentOf(dtype) : dtype;
}

// The distance from 1 to the next value.
double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 0x1p-52;
    case DType::kF32: return 0x1p-23;
    case DType::kF16: return 0x1p-10;
    case DType::kBF16: return 0x1p-7;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ: return 0.25;
    case DType::kF8E3M4: return 0x1p-4;
    case DType::kF4E2M1FN: return 0.5;
    case DType::kF8E8M0FNU: return 1;
    default: return 0.125;
  }
}

double Smallest(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 0x1p-1074;
    case DType::kF32: return 0x1p-149;
    case DType::kBF16: return 0x1p-133;
    default: return 0x1p-24;
  }
}

bool IsInexactType(const Shape& shape) {
  return shape.is_array() && (IsFloat(shape.dtype) || IsComplex(shape.dtype));
}

// Its result depends on how an engine computes, given the same operands.
bool Rounds(const Computation& computation, const Instr& instr) {
  switch (instr.op) {
    case Op::kNegate:
    case Op::kAbs:
    case Op::kSign:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kFloor:
    case Op::kCeil:
    case Op::kRoundNearestAfz:
    case Op::kRoundNearestEven:
    case Op::kSelect:
    case Op::kClamp:
    case Op::kReal:
    case Op::kImag:
    case Op::kComplex:
    case Op::kCopy:
    case Op::kConvert:
    case Op::kBitcastConvert:
    case Op::kReducePrecision:
      return instr.op == Op::kAbs && IsComplex(computation[instr.operands[0]].shape.dtype);
    default: break;
  }
  switch (ClassOf(instr.op)) {
    case OpClass::Elementwise: return IsInexactType(instr.shape);
    case OpClass::Normalize: return true;
    case OpClass::Reduce:
    case OpClass::Contract:
    case OpClass::Linear: return IsInexactType(computation[instr.operands[0]].shape);
    case OpClass::Update: {
      const bool adds = instr.op == Op::kScatter || instr.op == Op::kSelectAndScatter;
      return adds && IsInexactType(computation[instr.operands[0]].shape);
    }
    case OpClass::Control: return instr.op == Op::kMap && IsInexactType(instr.shape);
    default: return false;
  }
}

// Computations on scalars that an instruction applies element by element.
std::vector<bool> Regions(const Module& module) {
  std::vector<bool> regions(module.computations.size(), false);
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      const bool whole = ClassOf(instr.op) == OpClass::Control && instr.op != Op::kMap;
      for (const ComputationId id : instr.called) regions[id.index] = regions[id.index] || !whole;
    }
  }
  return regions;
}

class Perturbation {
 public:
  explicit Perturbation(uint64_t seed) : random_(seed) {}

  // operand * (1 + e), a different e for every element; narrow floats also by one step of their
  // denormals (an engine may keep them wider and so not round them there), zeros stay zeros. A NaN
  // that was computed may have either sign.
  InstrId Of(Builder& builder, InstrId operand) {
    const Shape shape = builder[operand].shape;
    if (!IsInexactType(shape)) return operand;
    const DType part = PartOf(shape.dtype);
    const bool wide = part == DType::kF32 || part == DType::kF64;
    const double relative = Epsilon(part) * (wide ? 4 : 1);
    InstrId moved = builder.Binary(Op::kMultiply, operand, Steps(builder, shape, 1, relative));
    if (IsComplex(shape.dtype)) return moved;
    if (!wide) {
      const InstrId step = builder.Binary(Op::kMultiply, builder.Unary(Op::kSign, operand),
                                          Steps(builder, shape, 0, Smallest(part)));
      moved = builder.Binary(Op::kAdd, moved, step);
    }
    return random_() % 2 == 0 ? moved : WithNegatedNaNs(builder, moved);
  }

 private:
  // Elements are center - step, center or center + step; of a complex number's imaginary part the
  // center is 0.
  InstrId Steps(Builder& builder, const Shape& shape, double center, double step) {
    std::vector<std::byte> bytes(static_cast<size_t>(ByteSizeOf(shape)));
    const DType part = PartOf(shape.dtype);
    const auto size = static_cast<size_t>(ByteSize(part));
    for (size_t at = 0, i = 0; at + size <= bytes.size(); at += size, ++i) {
      const double move = (static_cast<double>(random_() % 3) - 1) * step;
      const bool imaginary = IsComplex(shape.dtype) && i % 2 == 1;
      const uint64_t bits = FloatToBits(part, imaginary ? move : center + move);
      std::memcpy(&bytes[at], &bits, size);
    }
    return builder.Constant(MakeLiteral(ArrayShape(shape.dtype, shape.dims), std::move(bytes)));
  }

  InstrId WithNegatedNaNs(Builder& builder, InstrId value) {
    const Dims dims = builder[value].shape.dims;
    const InstrId is_nan = builder.Emit(Op::kCompare, ArrayShape(DType::kPred, dims),
                                        {value, value}, CompareAttrs{Direction::kNe});
    const Shape shape = ArrayShape(builder[value].shape.dtype, dims);
    return builder.Emit(Op::kSelect, shape, {is_nan, builder.Unary(Op::kNegate, value), value});
  }

  std::mt19937_64 random_;
};

double PartAt(const Tensor& tensor, size_t part) {
  const DType dtype = PartOf(tensor.shape.dtype);
  const auto size = static_cast<size_t>(ByteSize(dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.get() + part * size, size);
  return FloatFromBits(dtype, bits);
}

bool SameBytes(const Tensor& a, const Tensor& b, size_t part) {
  const auto size = static_cast<size_t>(ByteSize(PartOf(a.shape.dtype)));
  return std::memcmp(a.data.get() + part * size, b.data.get() + part * size, size) == 0;
}

// Of the whole complex number: its parts may cancel each other.
double Magnitude(const Tensor& tensor, size_t part) {
  if (!IsComplex(tensor.shape.dtype)) return std::fabs(PartAt(tensor, part));
  return std::hypot(PartAt(tensor, part & ~size_t{1}), PartAt(tensor, part | 1));
}

std::string ValueText(const Tensor& tensor, size_t part) {
  if (IsInexactType(tensor.shape)) return fmt::format("{}", PartAt(tensor, part));
  const auto size = static_cast<size_t>(ByteSize(tensor.shape.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.get() + part * size, size);
  return fmt::format("{:#x}", bits);
}

struct Suspect {
  size_t leaf, part;
  double spread = 0;
  bool decided_by_rounding = false;
};

// Rules 1 and 2. Exact suspects are wrong at once.
bool PassesPlainly(const Tensor& want, const Tensor& got, size_t part, bool exact) {
  if (SameBytes(want, got, part)) return true;
  if (!IsInexactType(want.shape)) return false;
  const double w = PartAt(want, part), g = PartAt(got, part);
  if (std::isnan(w) && std::isnan(g)) return true;
  if (exact) return false;
  if (w == g) return true;
  const DType dtype = PartOf(want.shape.dtype);
  if (!std::isfinite(w) || !std::isfinite(g)) return false;
  const double bound = Magnitude(want, part) * Epsilon(dtype) + Smallest(dtype);
  return std::fabs(w - g) <= kUlps * bound;
}

void Observe(Suspect& suspect, const Tensor& want, const Tensor& sample) {
  if (!IsInexactType(want.shape)) {
    suspect.decided_by_rounding |= !SameBytes(want, sample, suspect.part);
    return;
  }
  const double w = PartAt(want, suspect.part), s = PartAt(sample, suspect.part);
  if (std::isfinite(w) && std::isfinite(s)) {
    suspect.spread = std::max(suspect.spread, std::fabs(w - s));
  } else {
    const bool same = w == s || (std::isnan(w) && std::isnan(s));
    suspect.decided_by_rounding |= !same;
  }
}

bool Excused(const Suspect& suspect, const Tensor& want, const Tensor& got) {
  if (suspect.decided_by_rounding) return true;
  if (!IsInexactType(want.shape)) return false;
  const double w = PartAt(want, suspect.part), g = PartAt(got, suspect.part);
  return std::fabs(w - g) <= kSpreads * suspect.spread;
}

std::string Report(const Suspect& suspect, const Tensor& want, const Tensor& got, bool exact) {
  return fmt::format("leaf {} {}, value {}: got {}, want {} ({}, spread {:.3g})", suspect.leaf,
                     ToString(want.shape), suspect.part, ValueText(got, suspect.part),
                     ValueText(want, suspect.part), exact ? "exact" : "rounded", suspect.spread);
}

}  // namespace

Module Perturbed(const Module& module, uint64_t seed) {
  Module result = module;
  const Effects effects = FindEffects(module);
  const std::vector<bool> regions = Regions(module);
  Perturbation perturbation(seed);
  for (size_t c = 0; c < result.computations.size(); ++c) {
    if (regions[c]) continue;
    size_t at = 0;
    const Computation original = result.computations[c];
    // Dead instructions are not offered to the rewriter: look them up by name.
    Rewrite(result.computations[c], effects, [&](Builder& builder, Instr&& instr) {
      while (original.instrs[at].name != instr.name) ++at;
      if (!Rounds(original, original.instrs[at])) return builder.Keep(std::move(instr));
      for (InstrId& operand : instr.operands) operand = perturbation.Of(builder, operand);
      return perturbation.Of(builder, builder.Keep(std::move(instr)));
    });
  }
  return result;
}

Result<std::vector<Tensor>> EvaluateTensors(const Module& module, std::span<const Tensor> inputs) {
  std::vector<const Tensor*> params;
  for (const Tensor& input : inputs) params.push_back(&input);
  return Evaluate(module, params);
}

std::vector<bool> ExactLeaves(const Module& module) {
  std::vector<bool> computation_rounds(module.computations.size(), false);
  std::vector<bool> exact;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    exact.assign(computation.instrs.size(), true);
    for (size_t i = 0; i < computation.instrs.size(); ++i) {
      const Instr& instr = computation.instrs[i];
      bool rounds = Rounds(computation, instr);
      for (const InstrId operand : instr.operands) rounds = rounds || !exact[operand.index];
      for (const ComputationId id : instr.called) rounds = rounds || computation_rounds[id.index];
      exact[i] = !rounds;
      if (rounds) computation_rounds[c] = true;
    }
  }
  const Computation& entry = module.Entry();
  std::vector<bool> leaves;
  const Instr& root = entry.Root();
  if (root.op == Op::kTuple) {
    for (const InstrId operand : root.operands)
      leaves.insert(leaves.end(), static_cast<size_t>(LeafCount(entry[operand].shape)),
                    exact[operand.index]);
  } else {
    leaves.assign(static_cast<size_t>(LeafCount(root.shape)), exact[entry.root.index]);
  }
  return leaves;
}

std::string Judge(const Module& module, std::span<const Tensor> inputs,
                  std::span<const Tensor> want, std::span<const Tensor> got) {
  if (want.size() != got.size())
    return fmt::format("got {} leaves, want {}", got.size(), want.size());
  const std::vector<bool> exact = ExactLeaves(module);
  std::vector<Suspect> suspects;
  for (size_t leaf = 0; leaf < want.size(); ++leaf) {
    const auto size = static_cast<size_t>(ByteSize(PartOf(want[leaf].shape.dtype)));
    const size_t parts = static_cast<size_t>(want[leaf].size_bytes()) / size;
    for (size_t part = 0; part < parts; ++part) {
      if (PassesPlainly(want[leaf], got[leaf], part, exact[leaf])) continue;
      suspects.push_back({leaf, part});
      if (exact[leaf]) return Report(suspects.back(), want[leaf], got[leaf], true);
    }
  }
  const auto excused = [&](const Suspect& suspect) {
    return Excused(suspect, want[suspect.leaf], got[suspect.leaf]);
  };
  for (uint64_t run = 0; run < kMoreRuns && !suspects.empty(); ++run) {
    const auto sample = EvaluateTensors(Perturbed(module, run), inputs);
    if (!sample.ok()) return "perturbed reference: " + sample.error().message;
    for (Suspect& suspect : suspects) Observe(suspect, want[suspect.leaf], (*sample)[suspect.leaf]);
    // A first few runs must agree before an element counts as excused: spreads only grow.
    if (run + 1 >= kRuns) std::erase_if(suspects, excused);
  }
  if (suspects.empty()) return "";
  const Suspect& first = suspects.front();
  return Report(first, want[first.leaf], got[first.leaf], false);
}

}  // namespace fusemark
