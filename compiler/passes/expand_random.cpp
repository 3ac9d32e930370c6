// Random123's Threefry-2x32 and Philox-4x32 in elementwise operations on u32, and what rng makes of
// their words. ir/random.h says what is drawn.
#include <array>
#include <numbers>

#include "compiler/ir/random.h"
#include "compiler/passes/expand_numerics.h"

namespace fusemark {
namespace {

constexpr DType kU32 = DType::kU32, kU64 = DType::kU64;

// Arrays of words, all of the dims it is made with.
class Words {
 public:
  Words(Emitter& emit, Dims dims) : emit_(emit), dims_(std::move(dims)) {}

  InstrId Constant(DType dtype, uint64_t value) {
    return emit_.Fill(emit_.Bits(dtype, value), dims_);
  }
  InstrId Low(InstrId wide) { return emit_.builder().Convert(wide, kU32); }
  InstrId High(InstrId wide) { return Low(Shift(Op::kShiftRightLogical, wide, 32)); }
  InstrId Join(InstrId low, InstrId high) {
    const InstrId wide = emit_.builder().Convert(high, kU64);
    const InstrId shifted = Shift(Op::kShiftLeft, wide, 32);
    return emit_.builder().Binary(Op::kOr, shifted, emit_.builder().Convert(low, kU64));
  }
  InstrId Shift(Op op, InstrId value, uint64_t amount) {
    return emit_.builder().Binary(op, value, Constant(emit_.dtype(value), amount));
  }
  InstrId Xor(InstrId a, InstrId b) { return emit_.builder().Binary(Op::kXor, a, b); }
  InstrId Add(InstrId a, InstrId b) { return emit_.Add(a, b); }

  std::array<InstrId, 2> ThreeFry(InstrId key, InstrId counter) {
    constexpr uint64_t kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const InstrId low = Low(key), high = High(key);
    const InstrId both = Xor(low, high);
    const InstrId keys[3] = {low, high, Xor(both, Constant(kU32, 0x1BD11BDA))};
    InstrId x = Add(Low(counter), low);
    InstrId y = Add(High(counter), high);
    for (uint64_t round = 0; round < 20; ++round) {
      x = Add(x, y);
      const uint64_t by = kRotations[round % 8];
      const InstrId left = Shift(Op::kShiftLeft, y, by);
      const InstrId right = Shift(Op::kShiftRightLogical, y, 32 - by);
      y = Xor(emit_.builder().Binary(Op::kOr, left, right), x);
      if (round % 4 != 3) continue;
      const uint64_t injection = round / 4 + 1;
      x = Add(x, keys[injection % 3]);
      y = Add(y, keys[(injection + 1) % 3]);
      y = Add(y, Constant(kU32, injection));
    }
    return {x, y};
  }

  std::array<InstrId, 4> Philox(InstrId key, InstrId low, InstrId high) {
    std::array<InstrId, 4> w = {Low(low), High(low), Low(high), High(high)};
    InstrId k0 = Low(key);
    InstrId k1 = High(key);
    for (int round = 0; round < 10; ++round) {
      const InstrId p = Product(w[0], 0xD2511F53);
      const InstrId q = Product(w[2], 0xCD9E8D57);
      const InstrId first = Xor(Xor(High(q), w[1]), k0);
      const InstrId third = Xor(Xor(High(p), w[3]), k1);
      w = {first, Low(q), third, Low(p)};
      k0 = Add(k0, Constant(kU32, 0x9E3779B9));
      k1 = Add(k1, Constant(kU32, 0xBB67AE85));
    }
    return w;
  }

 private:
  InstrId Product(InstrId word, uint64_t factor) {
    return emit_.Times(emit_.builder().Convert(word, kU64), Constant(kU64, factor));
  }

  Emitter& emit_;
  Dims dims_;
};

// Element i of the state, as a scalar.
InstrId StateWord(Emitter& emit, InstrId state, int64_t i) {
  return emit.builder().Reshape(emit.Slice(state, 0, i, i + 1), {});
}

struct Counter {
  InstrId low, high;
};

// counter + n in 128 bits; all of the same dims.
Counter Advance(Emitter& emit, Counter counter, InstrId n) {
  const InstrId low = emit.Add(counter.low, n);
  const InstrId carry = emit.Compare(Direction::kLt, low, n);
  return {low, emit.Add(counter.high, emit.builder().Convert(carry, kU64))};
}

// Words as values of the wanted type: the low bits of each.
InstrId AsBits(Emitter& emit, InstrId words, const Shape& wanted) {
  constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
  const int64_t size = ByteSize(wanted.dtype);
  const DType same_size = kUnsigned[size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
  words = emit.builder().Reshape(words, wanted.dims);
  words = emit.builder().Convert(words, same_size);
  if (same_size == wanted.dtype) return words;
  return emit.builder().Emit(Op::kBitcastConvert, ArrayShape(wanted.dtype, wanted.dims), {words});
}

// Parts of equal dims [n], element by element: [n * parts], cut to `count`.
InstrId Interleave(Emitter& emit, InstrIds parts, int64_t count) {
  const int64_t blocks = emit.dims(parts[0])[0], per_block = static_cast<int64_t>(parts.size());
  for (InstrId& part : parts) part = emit.builder().Reshape(part, {blocks, 1});
  const InstrId joined = emit.Concatenate(std::move(parts), 1);
  return emit.Slice(emit.builder().Reshape(joined, {blocks * per_block}), 0, 0, count);
}

struct Drawn {
  InstrId bits;
  InstrIds state;  // scalars
};

Drawn DrawThreeFry(Emitter& emit, InstrId state, const Shape& wanted) {
  Builder& b = emit.builder();
  const InstrId key = StateWord(emit, state, 0);
  const InstrId counter = StateWord(emit, state, 1);
  const bool wide = ByteSize(wanted.dtype) == 8;
  const size_t paired = PairedDim(wanted.dims);
  int64_t length = 1, inner = 1, outer = 1;
  for (size_t d = 0; d < wanted.dims.size(); ++d)
    (d < paired ? outer : d == paired ? length : inner) *= wanted.dims[d];
  const int64_t half = (length + 1) / 2;
  const int64_t blocks = wide ? ElementCount(wanted) : outer * half * inner;
  Words words(emit, {blocks});
  const InstrId number = emit.Iota(kU64, {blocks}, 0);
  const InstrId at = emit.Add(number, emit.Fill(counter, {blocks}));
  const auto pair = words.ThreeFry(emit.Fill(key, {blocks}), at);
  const InstrId after = emit.Add(counter, emit.Bits(kU64, static_cast<uint64_t>(blocks)));
  if (wide) return {AsBits(emit, words.Join(pair[0], pair[1]), wanted), {key, after}};
  const Dims dims = {outer, half, 1, inner};
  const InstrId first = b.Reshape(pair[0], dims), second = b.Reshape(pair[1], dims);
  const InstrId both = emit.Concatenate({first, second}, 2);
  const InstrId paired_up = b.Reshape(both, {outer, 2 * half, inner});
  return {AsBits(emit, emit.Slice(paired_up, 1, 0, length), wanted), {key, after}};
}

Drawn DrawPhilox(Emitter& emit, InstrId state, const Shape& wanted) {
  const InstrId key = StateWord(emit, state, 0);
  const bool long_state = emit.dims(state)[0] == 3;
  const InstrId second = StateWord(emit, state, 1);
  // A state of two words is read backwards as the counter, and its low word comes back.
  const Counter counter = {second, long_state ? StateWord(emit, state, 2) : key};
  const bool wide = ByteSize(wanted.dtype) == 8;
  const int64_t count = ElementCount(wanted), per_block = wide ? 2 : 4;
  const int64_t blocks = (count + per_block - 1) / per_block;
  Words words(emit, {blocks});
  const Counter start = {emit.Fill(counter.low, {blocks}), emit.Fill(counter.high, {blocks})};
  const Counter at = Advance(emit, start, emit.Iota(kU64, {blocks}, 0));
  const auto w = words.Philox(emit.Fill(key, {blocks}), at.low, at.high);
  InstrIds parts(w.begin(), w.end());
  if (wide) {
    const InstrId low = words.Join(w[0], w[1]);
    parts = {low, words.Join(w[2], w[3])};
  }
  const InstrId bits = AsBits(emit, Interleave(emit, std::move(parts), count), wanted);
  const Counter after = Advance(emit, counter, emit.Bits(kU64, static_cast<uint64_t>(blocks)));
  InstrIds next = {key, after.low};
  if (long_state) next.push_back(after.high);
  return {bits, next};
}

// The top `used` bits of words as fractions in [0, 1), in the type of the computation.
InstrId Fraction(Emitter& emit, Words& words, InstrId bits, int used, DType type) {
  const int width = BitWidth(emit.dtype(bits));
  const auto unused = static_cast<uint64_t>(width - used);
  const InstrId top = words.Shift(Op::kShiftRightLogical, bits, unused);
  const InstrId number = emit.builder().Convert(top, type);
  const InstrId scale = emit.Scalar(type, 1 / static_cast<double>(uint64_t{1} << used));
  return emit.Times(number, emit.Fill(scale, emit.dims(bits)));
}

InstrId DrawFloat(Emitter& emit, const Instr& instr, Words& words,
                  const std::array<InstrId, 4>& w) {
  Builder& b = emit.builder();
  const DType dtype = instr.shape.dtype, type = dtype == DType::kF64 ? dtype : DType::kF32;
  const Dims dims = emit.dims(w[0]);
  const InstrId low = emit.Fill(b.Convert(instr.operands[0], type), dims);
  const InstrId high = emit.Fill(b.Convert(instr.operands[1], type), dims);
  const bool is_double = type == DType::kF64;
  const InstrId first = is_double ? words.Join(w[0], w[1]) : w[0];
  if (instr.As<RngAttrs>().kind == "rng_uniform") {
    const InstrId u = Fraction(emit, words, first, FractionBits(dtype), type);
    const InstrId offset = emit.Times(u, emit.Minus(high, low));
    const InstrId value = b.Convert(emit.Add(low, offset), dtype);
    const InstrId a = emit.Fill(instr.operands[0], dims);
    const InstrId too_high =
        emit.Compare(Direction::kGe, value, emit.Fill(instr.operands[1], dims));
    return emit.Select(too_high, a, value);
  }
  const InstrId second = is_double ? words.Join(w[2], w[3]) : w[1];
  const InstrId u = Fraction(emit, words, first, FractionBits(type), type);
  const InstrId v = Fraction(emit, words, second, FractionBits(type), type);
  const auto constant = [&](double value) { return emit.Fill(emit.Scalar(type, value), dims); };
  const InstrId log = b.Unary(Op::kLog, emit.Minus(constant(1), u));
  const InstrId radius = b.Unary(Op::kSqrt, emit.Times(constant(-2), log));
  const InstrId angle = emit.Times(constant(2 * std::numbers::pi), v);
  const InstrId normal = emit.Times(radius, b.Unary(Op::kCosine, angle));
  return b.Convert(emit.Add(low, emit.Times(high, normal)), dtype);
}

InstrId DrawInteger(Emitter& emit, const Instr& instr, Words& words,
                    const std::array<InstrId, 4>& w) {
  Builder& b = emit.builder();
  const DType dtype = instr.shape.dtype;
  const Dims dims = emit.dims(w[0]);
  const auto widened = [&](InstrId bound) {
    const InstrId wide = IsSigned(dtype) ? b.Convert(bound, DType::kS64) : bound;
    return b.Convert(wide, kU64);
  };
  const InstrId low = widened(instr.operands[0]);
  const InstrId range = emit.Fill(emit.Minus(widened(instr.operands[1]), low), dims);
  const InstrId start = emit.Fill(low, dims);
  const InstrId rest = b.Binary(Op::kRemainder, words.Join(w[0], w[1]), range);
  const InstrId nothing = emit.Zeros(kU64, dims);
  const InstrId is_empty = emit.Compare(Direction::kEq, range, nothing);
  const InstrId offset = emit.Select(is_empty, nothing, rest);
  InstrId value = emit.Add(start, offset);
  // Else anything but 0 would be true.
  if (dtype == DType::kPred) value = b.Binary(Op::kAnd, value, words.Constant(kU64, 1));
  return b.Convert(value, dtype);
}

}  // namespace

std::optional<InstrId> ExpandRngBitGenerator(const ExpandContext& context, const Instr& instr) {
  Emitter& emit = context.emit;
  const InstrId state = instr.operands[0];
  const auto algorithm = AlgorithmOf(instr, emit.shape(state));
  if (!algorithm) return std::nullopt;
  const Shape wanted = instr.shape.is_tuple ? instr.shape.elements[1] : instr.shape;
  if (ElementCount(wanted) == 0) {
    const InstrId none = emit.Zeros(wanted.dtype, wanted.dims);
    return instr.shape.is_tuple ? emit.builder().Tuple({state, none}) : none;
  }
  Drawn drawn = *algorithm == BitAlgorithm::kThreeFry ? DrawThreeFry(emit, state, wanted)
                                                      : DrawPhilox(emit, state, wanted);
  if (!instr.shape.is_tuple) return drawn.bits;
  for (InstrId& word : drawn.state) word = emit.builder().Reshape(word, {1});
  const InstrId next = emit.Concatenate(std::move(drawn.state), 0);
  return emit.builder().Tuple({next, drawn.bits});
}

std::optional<InstrId> ExpandRng(const ExpandContext& context, const Instr& instr, uint64_t seed) {
  Emitter& emit = context.emit;
  if (!IsSupportedRng(instr)) return std::nullopt;
  const int64_t count = ElementCount(instr.shape);
  if (count == 0) return emit.Zeros(instr.shape.dtype, instr.shape.dims);
  const Dims dims = {count};
  Words words(emit, dims);
  const InstrId key = words.Constant(kU64, seed);
  const InstrId number = emit.Iota(kU64, dims, 0);
  const auto w = words.Philox(key, number, words.Constant(kU64, 0));
  const InstrId value = IsFloat(instr.shape.dtype) ? DrawFloat(emit, instr, words, w)
                                                   : DrawInteger(emit, instr, words, w);
  return emit.builder().Reshape(value, instr.shape.dims);
}

}  // namespace fusemark
