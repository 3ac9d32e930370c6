#include "tests/fuzz/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include "compiler/ir/number.h"
#include "compiler/ir/rewrite.h"
#include "compiler/reference/evaluate.h"
#include "tests/fuzz/freedoms.h"

namespace fusemark {
namespace {

constexpr int kRuns = 8, kMoreRuns = 60;
// One run of this many moves no value, so that rare choices are seen beside the values as they are.
constexpr uint64_t kRunsPerStill = 3;
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
      // |z| takes a root, and the sign of a complex number is z / |z|.
      return (instr.op == Op::kAbs || instr.op == Op::kSign) &&
             IsComplex(computation[instr.operands[0]].shape.dtype);
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
    case OpClass::Random: return instr.op == Op::kRng && IsInexactType(instr.shape);
    default: return false;
  }
}

// Of zeros of both signs it may give either.
bool PicksZero(const Instr& instr) {
  const bool picks = instr.op == Op::kMaximum || instr.op == Op::kMinimum || instr.op == Op::kClamp;
  return picks && IsFloat(instr.shape.dtype);
}

Exactness ExactnessOf(const Computation& computation, const Instr& instr) {
  if (Rounds(computation, instr)) return Exactness::kRounded;
  return PicksZero(instr) ? Exactness::kZeroSigns : Exactness::kBits;
}

// Of complex numbers, each part by itself: its error is a part of that of its own terms. That of
// others is a part of the whole number.
bool RoundsByParts(Op op) {
  return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply;
}

int64_t CountOf(const Shape& shape) {
  return shape.is_array() ? std::max<int64_t>(ElementCount(shape), 1) : 1;
}

// How many products or terms make up an element of the result: each may have underflowed.
int64_t TermsOf(const Computation& computation, const Instr& instr) {
  const auto count = [&](size_t i) { return CountOf(computation[instr.operands[i]].shape); };
  switch (instr.op) {
    case Op::kDot: {
      int64_t terms = 1;
      for (const int64_t dim : instr.As<DotAttrs>().lhs_contracting)
        terms *= computation[instr.operands[0]].shape.dims[static_cast<size_t>(dim)];
      return std::max<int64_t>(terms, 1);
    }
    case Op::kConvolution: {
      const Shape& filter = computation[instr.operands[1]].shape;
      const auto outputs = static_cast<size_t>(instr.As<ConvAttrs>().dims.rhs_output);
      return std::max<int64_t>(count(1) / std::max<int64_t>(filter.dims[outputs], 1), 1);
    }
    case Op::kReduce: return std::max<int64_t>(count(0) / CountOf(instr.shape), 1);
    default: return 1;
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
  explicit Perturbation(uint64_t seed)
      : random_(seed), still_(seed % kRunsPerStill == kRunsPerStill - 1) {}
  std::mt19937_64& random() { return random_; }

  // A result of `terms` terms that underflowed is off by half a step for each. Narrow operands may
  // be wider in an engine that does not store them; f32 and f64 are what they are.
  InstrId OfOperand(Builder& builder, InstrId operand) {
    const Shape& shape = builder[operand].shape;
    if (!IsInexactType(shape)) return operand;
    return Moved(builder, operand, IsWide(PartOf(shape.dtype)) ? 0 : 1, /*by_parts=*/true);
  }
  InstrId OfResult(Builder& builder, InstrId result, int64_t terms, bool by_parts) {
    const Shape shape = builder[result].shape;
    if (IsInexactType(shape)) return Moved(builder, result, (terms + 1) / 2, by_parts);
    if (!shape.is_tuple) return result;
    std::vector<InstrId> elements;
    for (size_t i = 0; i < shape.elements.size(); ++i) {
      const InstrId element = builder.TupleElement(result, static_cast<int64_t>(i));
      elements.push_back(IsFloat(shape.elements[i].dtype) ? WithOpenNaNs(builder, element)
                                                          : element);
    }
    return builder.Tuple(std::move(elements));
  }

  // Half of the time with its operands exchanged: of equal ones the reference gives the first.
  InstrId Exchanged(Builder& builder, Instr&& instr) {
    if (random_() % 2 == 0) return builder.Keep(std::move(instr));
    if (instr.op != Op::kClamp) {
      std::swap(instr.operands[0], instr.operands[1]);
      return builder.Keep(std::move(instr));
    }
    const Dims dims = instr.shape.dims;
    const auto spread = [&](InstrId bound) {
      return builder[bound].shape.dims == dims ? bound : builder.Broadcast(bound, dims, {});
    };
    const InstrId low = spread(instr.operands[0]), high = spread(instr.operands[2]);
    const InstrId raised = builder.Binary(Op::kMaximum, low, instr.operands[1]);
    return builder.Binary(Op::kMinimum, high, raised);
  }

 private:
  static bool IsWide(DType part) { return part == DType::kF32 || part == DType::kF64; }

  // value * (1 + e), a different e for every element; and by `steps` steps of the denormals, but
  // zeros stay zeros. Each NaN that was computed may have any sign and payload. The parts of a
  // complex number move by their own sizes, or by the size of the whole.
  InstrId Moved(Builder& builder, InstrId value, int64_t steps, bool by_parts) {
    const Shape shape = builder[value].shape;
    if (still_) steps = 0;
    if (!IsComplex(shape.dtype)) return Finished(builder, Scaled(builder, value), steps);
    const Shape half = ArrayShape(PartOf(shape.dtype), shape.dims);
    const InstrId whole = by_parts ? value : ScaledWhole(builder, value);
    const auto part = [&](Op which) {
      const InstrId found = builder.Emit(which, half, {whole});
      return Finished(builder, by_parts ? Scaled(builder, found) : found, steps);
    };
    const InstrId re = part(Op::kReal);
    const InstrId im = part(Op::kImag);
    return builder.Emit(Op::kComplex, ArrayShape(shape.dtype, shape.dims), {re, im});
  }

  // Where both parts are finite: a product would carry what one part lacks over to the other.
  InstrId ScaledWhole(Builder& builder, InstrId value) {
    if (still_) return value;
    const Shape shape = builder[value].shape;
    const Shape half = ArrayShape(PartOf(shape.dtype), shape.dims);
    const auto is_finite = [&](Op which) {
      return builder.Emit(Op::kIsFinite, ArrayShape(DType::kPred, shape.dims),
                          {builder.Emit(which, half, {value})});
    };
    const InstrId re_finite = is_finite(Op::kReal), im_finite = is_finite(Op::kImag);
    const InstrId both = builder.Binary(Op::kAnd, re_finite, im_finite);
    return builder.Emit(Op::kSelect, ArrayShape(shape.dtype, shape.dims),
                        {both, Scaled(builder, value), value});
  }

  InstrId Scaled(Builder& builder, InstrId value) {
    if (still_) return value;
    const Shape shape = builder[value].shape;
    const DType part = PartOf(shape.dtype);
    const double relative = Epsilon(part) * (IsWide(part) ? 4 : 1);
    return builder.Binary(Op::kMultiply, value, Steps(builder, shape, 1, relative));
  }

  InstrId Finished(Builder& builder, InstrId value, int64_t steps) {
    const InstrId stepped = Stepped(builder, value, steps);
    return !still_ && random_() % 2 == 0 ? stepped : WithOpenNaNs(builder, stepped);
  }

  InstrId Stepped(Builder& builder, InstrId value, int64_t steps) {
    if (steps == 0) return value;
    const Shape shape = builder[value].shape;
    const double size = Smallest(shape.dtype) * static_cast<double>(steps);
    const InstrId step = builder.Binary(Op::kMultiply, builder.Unary(Op::kSign, value),
                                        Steps(builder, shape, 0, size));
    return builder.Binary(Op::kAdd, value, step);
  }

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

  // Some of them or all are negated, since the instructions of a processor give only one sign, or
  // any others.
  InstrId WithOpenNaNs(Builder& builder, InstrId value) {
    const Dims dims = builder[value].shape.dims;
    const InstrId is_nan = builder.Emit(Op::kCompare, ArrayShape(DType::kPred, dims),
                                        {value, value}, CompareAttrs{Direction::kNe});
    const Shape shape = ArrayShape(builder[value].shape.dtype, dims);
    std::vector<std::byte> bytes(static_cast<size_t>(CountOf(shape)));
    const bool all = random_() % 2 == 0;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(all || random_() % 2 == 0);
    bytes.resize(static_cast<size_t>(ByteSizeOf(ArrayShape(DType::kPred, dims))));
    const InstrId chosen =
        builder.Constant(MakeLiteral(ArrayShape(DType::kPred, dims), std::move(bytes)));
    const InstrId open = builder.Binary(Op::kAnd, is_nan, chosen);
    const bool negated = !HasPayload(shape.dtype) || random_() % 2 == 0;
    const InstrId other = negated ? builder.Unary(Op::kNegate, value) : AnyNaNs(builder, shape);
    return builder.Emit(Op::kSelect, shape, {open, other, value});
  }

  static bool HasPayload(DType dtype) {
    return IsWide(dtype) || dtype == DType::kF16 || dtype == DType::kBF16;
  }

  // Quiet ones: arithmetic makes no others.
  InstrId AnyNaNs(Builder& builder, const Shape& shape) {
    const auto size = static_cast<size_t>(ByteSize(shape.dtype));
    const auto quiet_bit = static_cast<uint64_t>(0.5 / Epsilon(shape.dtype));
    const uint64_t open = uint64_t{1} << (8 * size - 1) | (quiet_bit - 1);
    const uint64_t nan = FloatToBits(shape.dtype, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::byte> bytes(static_cast<size_t>(ByteSizeOf(shape)));
    for (size_t at = 0; at + size <= bytes.size(); at += size) {
      const uint64_t bits = nan ^ (random_() & open);
      std::memcpy(&bytes[at], &bits, size);
    }
    return builder.Constant(MakeLiteral(shape, std::move(bytes)));
  }

  std::mt19937_64 random_;
  const bool still_;
};

// A transform of one element is that element.
bool IsTransform(const Instr& instr) {
  if (instr.op != Op::kFft) return false;
  const Dims& length = instr.As<FftAttrs>().length;
  return std::any_of(length.begin(), length.end(), [](int64_t n) { return n > 1; });
}

// `instr` as it is or by another way that is as right.
InstrId ByAnyWay(Builder& builder, Instr&& instr, std::mt19937_64& random) {
  const bool normalises = instr.op == Op::kBatchNormTraining || instr.op == Op::kBatchNormGrad ||
                          instr.op == Op::kBatchNormInference;
  if (normalises && random() % 2 == 0) return BatchNormInSteps(builder, instr, random);
  const bool complex = instr.shape.is_array() && IsComplex(instr.shape.dtype);
  if (complex && ClassOf(instr.op) == OpClass::Elementwise && random() % 2 == 0) {
    if (instr.op == Op::kMultiply) return ProductByParts(builder, instr);
    if (instr.op == Op::kDivide) return QuotientByParts(builder, instr);
    if (instr.op == Op::kPower) return PowerByParts(builder, instr);
  }
  if (instr.op == Op::kReduceWindow && random() % 2 == 0) {
    if (const auto backwards = ReducedBackwards(builder, instr)) return *backwards;
  }
  const bool transforms = IsTransform(instr);
  const InstrId kept = builder.Keep(std::move(instr));
  if (!transforms) return kept;
  const InstrId value = random() % 2 == 0 ? kept : WithCancelledSums(builder, kept);
  return WithOpenInfinities(builder, value, random);
}

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

// Of the whole complex number, since its parts may cancel each other, if both are finite.
double Magnitude(const Tensor& tensor, size_t part) {
  const double own = std::fabs(PartAt(tensor, part));
  if (!IsComplex(tensor.shape.dtype)) return own;
  const double whole = std::hypot(own, PartAt(tensor, part ^ 1));
  return std::isfinite(whole) ? whole : own;
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
  bool decided_by_rounding = false;  // of integers and pred
  // What the runs gave where they differ in more than a finite amount.
  bool nan = false, infinite[2] = {};  // positive, negative
  double low = std::numeric_limits<double>::infinity(), high = -low;
};

// Rules 1 and 2.
bool PassesPlainly(const Tensor& want, const Tensor& got, size_t part, Exactness exactness) {
  if (SameBytes(want, got, part)) return true;
  if (!IsInexactType(want.shape)) return false;
  const double w = PartAt(want, part), g = PartAt(got, part);
  if (std::isnan(w) && std::isnan(g)) return true;
  if (exactness == Exactness::kBits) return false;
  if (w == g) return true;
  if (exactness != Exactness::kRounded) return false;
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
  if (std::isfinite(w) && std::isfinite(s))
    suspect.spread = std::max(suspect.spread, std::fabs(w - s));
  suspect.nan |= std::isnan(s);
  if (std::isinf(s)) suspect.infinite[std::signbit(s) ? 1 : 0] = true;
  if (!std::isfinite(s)) return;
  suspect.low = std::min(suspect.low, s);
  suspect.high = std::max(suspect.high, s);
}

bool Excused(const Suspect& suspect, const Tensor& want, const Tensor& got) {
  if (!IsInexactType(want.shape)) return suspect.decided_by_rounding;
  const double w = PartAt(want, suspect.part), g = PartAt(got, suspect.part);
  if (std::isnan(g)) return suspect.nan;
  if (std::isinf(g)) return suspect.infinite[std::signbit(g) ? 1 : 0];
  if (std::isfinite(w)) return std::fabs(w - g) <= kSpreads * suspect.spread;
  const DType dtype = PartOf(want.shape.dtype);
  const double largest = std::max(std::fabs(suspect.low), std::fabs(suspect.high));
  const double reach = kSpreads * (suspect.high - suspect.low) + kUlps * Epsilon(dtype) * largest;
  return g >= suspect.low - reach && g <= suspect.high + reach;
}

std::string Report(const Suspect& suspect, const Tensor& want, const Tensor& got,
                   Exactness exactness) {
  constexpr const char* kNames[] = {"exact", "exact but for signs of zeros", "rounded"};
  return fmt::format("leaf {} {}, value {}: got {}, want {} ({}, spread {:.3g})", suspect.leaf,
                     ToString(want.shape), suspect.part, ValueText(got, suspect.part),
                     ValueText(want, suspect.part), kNames[static_cast<size_t>(exactness)],
                     suspect.spread);
}

// On convolutions whose padding an engine may read as zeros: the library (library_call.cpp), or
// because it pads beforehand (PadBefore in canonicalise_conv.cpp).
std::optional<InstrId> PaddedBefore(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<ConvAttrs>();
  const Shape image = builder[instr.operands[0]].shape;
  const DType type = image.dtype;
  bool padded = false;
  bool plain = instr.shape.dtype == type && (type == DType::kF32 || type == DType::kBF16);
  for (const WindowDim& dim : attrs.window) {
    padded = padded || dim.pad_low > 0 || dim.pad_high > 0;
    plain = plain && dim.base_dilation == 1 && dim.pad_low >= 0 && dim.pad_high >= 0;
  }
  if (!padded || !plain) return std::nullopt;
  const size_t rank = image.dims.size();
  PadAttrs pad{Dims(rank, 0), Dims(rank, 0), Dims(rank, 0)};
  ConvAttrs unpadded = attrs;
  Shape shape = ArrayShape(image.dtype, image.dims);
  for (size_t i = 0; i < attrs.window.size(); ++i) {
    const auto at = static_cast<size_t>(attrs.dims.lhs_spatial[i]);
    pad.low[at] = std::exchange(unpadded.window[i].pad_low, 0);
    pad.high[at] = std::exchange(unpadded.window[i].pad_high, 0);
    shape.dims[at] += pad.low[at] + pad.high[at];
  }
  const InstrId zero = builder.Constant(ScalarLiteral(image.dtype, 0));
  Instr conv = instr;
  conv.operands[0] = builder.Emit(Op::kPad, shape, {instr.operands[0], zero}, std::move(pad));
  conv.attrs = std::move(unpadded);
  return builder.Keep(std::move(conv));
}

std::string JudgeBy(const Module& module, std::span<const Tensor> inputs,
                    std::span<const Tensor> want, std::span<const Tensor> got) {
  const std::vector<Exactness> exactness = LeafExactness(module);
  std::vector<Suspect> suspects;
  for (size_t leaf = 0; leaf < want.size(); ++leaf) {
    const auto size = static_cast<size_t>(ByteSize(PartOf(want[leaf].shape.dtype)));
    const size_t parts = static_cast<size_t>(want[leaf].size_bytes()) / size;
    for (size_t part = 0; part < parts; ++part) {
      if (PassesPlainly(want[leaf], got[leaf], part, exactness[leaf])) continue;
      suspects.push_back({leaf, part});
      if (exactness[leaf] == Exactness::kBits)
        return Report(suspects.back(), want[leaf], got[leaf], exactness[leaf]);
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
  return Report(first, want[first.leaf], got[first.leaf], exactness[first.leaf]);
}

}  // namespace

Module Perturbed(const Module& module, uint64_t seed) {
  Module result = module;
  const Effects effects = FindEffects(module);
  const std::vector<bool> regions = Regions(module);
  Perturbation perturbation(seed);
  ExcessPrecision excess(module);
  for (size_t c = 0; c < result.computations.size(); ++c) {
    size_t at = 0;
    const Computation original = result.computations[c];
    excess.StartComputation();
    // Dead instructions are not offered to the rewriter: look them up by name.
    Rewrite(result.computations[c], effects, [&](Builder& builder, Instr&& instr) {
      while (original.instrs[at].name != instr.name) ++at;
      const Instr& before = original.instrs[at];
      const bool moves = !regions[c] && Rounds(original, before);
      if (moves)
        for (InstrId& operand : instr.operands) {
          const InstrId exact = operand;
          operand = perturbation.OfOperand(builder, exact);
          excess.Renamed(exact, operand);
        }
      if (before.op == Op::kReduce && instr.operands.size() == 2)
        instr.operands[0] = Shuffled(builder, instr.operands[0], before.As<DimsAttrs>().dims,
                                     perturbation.random());
      if (PicksZero(before)) return perturbation.Exchanged(builder, std::move(instr));
      const auto widened = excess.Widened(builder, instr, perturbation.random());
      const InstrId plain =
          widened ? *widened : ByAnyWay(builder, std::move(instr), perturbation.random());
      if (!moves) return plain;
      const InstrId value = perturbation.OfResult(builder, plain, TermsOf(original, before),
                                                  RoundsByParts(before.op));
      excess.Renamed(plain, value);
      return value;
    });
  }
  excess.AppendRegions(result);
  return result;
}

std::optional<Module> WithExplicitPadding(const Module& module) {
  Module result = module;
  bool changed = false;
  RewriteModule(result, [&](Builder& builder, Instr&& instr) {
    if (instr.op == Op::kConvolution) {
      if (const auto padded = PaddedBefore(builder, instr)) {
        changed = true;
        return *padded;
      }
    }
    return builder.Keep(std::move(instr));
  });
  if (!changed) return std::nullopt;
  return result;
}

Result<std::vector<Tensor>> EvaluateTensors(const Module& module, std::span<const Tensor> inputs) {
  std::vector<const Tensor*> params;
  for (const Tensor& input : inputs) params.push_back(&input);
  return Evaluate(module, params);
}

std::vector<Exactness> LeafExactness(const Module& module) {
  std::vector<Exactness> called(module.computations.size(), Exactness::kBits);
  std::vector<Exactness> values;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    values.clear();
    for (const Instr& instr : computation.instrs) {
      Exactness value = ExactnessOf(computation, instr);
      for (const InstrId operand : instr.operands) value = std::max(value, values[operand.index]);
      for (const ComputationId id : instr.called) value = std::max(value, called[id.index]);
      values.push_back(value);
      called[c] = std::max(called[c], value);
    }
  }
  const Computation& entry = module.Entry();
  std::vector<Exactness> leaves;
  const Instr& root = entry.Root();
  if (root.op == Op::kTuple) {
    for (const InstrId operand : root.operands)
      leaves.insert(leaves.end(), static_cast<size_t>(LeafCount(entry[operand].shape)),
                    values[operand.index]);
  } else {
    leaves.assign(static_cast<size_t>(LeafCount(root.shape)), values[entry.root.index]);
  }
  return leaves;
}

std::string Judge(const Module& module, std::span<const Tensor> inputs,
                  std::span<const Tensor> want, std::span<const Tensor> got) {
  if (want.size() != got.size())
    return fmt::format("got {} leaves, want {}", got.size(), want.size());
  const std::string wrong = JudgeBy(module, inputs, want, got);
  if (wrong.empty()) return "";
  const auto padded = WithExplicitPadding(module);
  if (!padded) return wrong;
  const auto other = EvaluateTensors(*padded, inputs);
  if (!other.ok()) return "explicit padding: " + other.error().message;
  return JudgeBy(*padded, inputs, *other, got).empty() ? "" : wrong;
}

}  // namespace fusemark
