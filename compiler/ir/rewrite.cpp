#include "compiler/ir/rewrite.h"

#include <cstring>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/number.h"

namespace fusemark {
namespace {

// "add" for "add.12": new names count from the stem, so repeated rewriting does not grow them.
std::string_view StemOf(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size() || name[last] != '.') return name;
  return last == 0 ? name : name.substr(0, last);
}

}  // namespace

Effects FindEffects(const Module& module) {
  // Callees precede callers, so one pass in order is enough.
  Effects effects(module.computations.size(), false);
  for (size_t c = 0; c < module.computations.size(); ++c) {
    for (const Instr& instr : module.computations[c].instrs) {
      if (!HasSideEffect(instr, effects)) continue;
      effects[c] = true;
      break;
    }
  }
  return effects;
}

bool HasSideEffect(const Instr& instr, const Effects& effects) {
  switch (instr.op) {
    case Op::kInfeed:
    case Op::kOutfeed:
    case Op::kSend:
    case Op::kSendDone:
    case Op::kRecv:
    case Op::kRecvDone:
    case Op::kRngGetAndUpdateState: return true;
    case Op::kCustomCall:
      if (instr.As<CustomCallAttrs>().has_side_effect) return true;
      break;
    default: break;
  }
  for (ComputationId callee : instr.called) {
    if (callee.index < effects.size() && effects[callee.index]) return true;
  }
  return false;
}

InstrId Builder::Keep(Instr instr) {
  instrs_.push_back(std::move(instr));
  is_new_.push_back(false);
  return {size() - 1};
}

InstrId Builder::Emit(Instr instr) {
  instrs_.push_back(std::move(instr));
  is_new_.push_back(true);
  return {size() - 1};
}

InstrId Builder::Emit(Op op, Shape shape, std::vector<InstrId> operands, Attrs attrs) {
  Instr instr;
  instr.op = op;
  instr.shape = std::move(shape);
  instr.operands = std::move(operands);
  instr.attrs = std::move(attrs);
  if (!instr.operands.empty()) instr.loc = instrs_[instr.operands[0].index].loc;
  return Emit(std::move(instr));
}

InstrId Builder::Constant(Literal literal) {
  Shape shape = literal.shape;
  return Emit(Op::kConstant, std::move(shape), {}, ConstantAttrs{std::move(literal), false});
}

InstrId Builder::Reshape(InstrId operand, Dims dims) {
  const Shape& from = instrs_[operand.index].shape;
  if (from.dims == dims) return operand;
  return Emit(Op::kReshape, ArrayShape(from.dtype, std::move(dims)), {operand});
}

InstrId Builder::Transpose(InstrId operand, Dims permutation) {
  const Shape& from = instrs_[operand.index].shape;
  if (permutation == IdentityDims(from.rank())) return operand;
  Shape shape = ArrayShape(from.dtype, {});
  for (int64_t dim : permutation) shape.dims.push_back(from.dims[dim]);
  return Emit(Op::kTranspose, std::move(shape), {operand}, DimsAttrs{std::move(permutation)});
}

InstrId Builder::Broadcast(InstrId operand, const Dims& result_dims, Dims dims) {
  const Shape& from = instrs_[operand.index].shape;
  if (from.dims == result_dims && dims == IdentityDims(from.rank())) return operand;
  return Emit(Op::kBroadcast, ArrayShape(from.dtype, result_dims), {operand},
              DimsAttrs{std::move(dims)});
}

InstrId Builder::Convert(InstrId operand, DType dtype) {
  const Shape& from = instrs_[operand.index].shape;
  if (from.dtype == dtype) return operand;
  return Emit(Op::kConvert, ArrayShape(dtype, from.dims), {operand});
}

InstrId Builder::TupleElement(InstrId tuple, int64_t index) {
  const Instr& from = instrs_[tuple.index];
  if (from.op == Op::kTuple) return from.operands[index];
  Shape shape = from.shape.elements[index];
  return Emit(Op::kGetTupleElement, std::move(shape), {tuple}, TupleIndexAttrs{index});
}

InstrId Builder::Tuple(std::vector<InstrId> elements) {
  std::vector<Shape> shapes;
  for (InstrId element : elements) shapes.push_back(instrs_[element.index].shape);
  return Emit(Op::kTuple, TupleShape(std::move(shapes)), std::move(elements));
}

InstrId Builder::Unary(Op op, InstrId operand) {
  const Shape& from = instrs_[operand.index].shape;
  return Emit(op, ArrayShape(from.dtype, from.dims), {operand});
}

InstrId Builder::Binary(Op op, InstrId lhs, InstrId rhs) {
  const Shape& from = instrs_[lhs.index].shape;
  return Emit(op, ArrayShape(from.dtype, from.dims), {lhs, rhs});
}

InstrId Builder::Inline(const Computation& callee, std::span<const InstrId> arguments) {
  std::vector<InstrId> map(callee.instrs.size());
  for (size_t i = 0; i < callee.instrs.size(); ++i) {
    const Instr& old = callee.instrs[i];
    if (old.op == Op::kParameter) {
      map[i] = arguments[old.As<ParameterAttrs>().number];
      continue;
    }
    Instr copy = old;
    for (InstrId& operand : copy.operands) operand = map[operand.index];
    map[i] = Emit(std::move(copy));
  }
  return map[callee.root.index];
}

void Builder::NameNewInstrs() {
  std::unordered_set<std::string_view> taken;
  size_t fresh = 0;
  for (size_t i = 0; i < instrs_.size(); ++i) {
    if (is_new_[i]) ++fresh;
  }
  if (fresh == 0) return;
  taken.reserve(instrs_.size());
  for (size_t i = 0; i < instrs_.size(); ++i) {
    if (!is_new_[i]) taken.insert(instrs_[i].name);
  }
  std::unordered_map<std::string, uint64_t> next;  // per stem; only grows, so naming stays linear
  for (size_t i = 0; i < instrs_.size(); ++i) {
    if (!is_new_[i]) continue;
    Instr& instr = instrs_[i];
    if (instr.name.empty()) instr.name = OpName(instr.op);
    if (!taken.contains(instr.name)) {
      taken.insert(instr.name);
      continue;
    }
    const std::string stem(StemOf(instr.name));
    uint64_t& count = next[stem];
    do {
      instr.name = stem + "." + std::to_string(++count);
    } while (taken.contains(instr.name));
    taken.insert(instr.name);
  }
}

Computation Builder::Finish(std::string name, InstrId root) {
  std::vector<bool> needed(instrs_.size(), false);
  needed[root.index] = true;
  for (size_t i = instrs_.size(); i-- > 0;) {
    const Instr& instr = instrs_[i];
    if (instr.op == Op::kParameter || HasSideEffect(instr, effects_)) needed[i] = true;
    if (!needed[i]) continue;
    for (InstrId operand : instr.operands) needed[operand.index] = true;
  }

  std::vector<uint32_t> renumber(instrs_.size());
  uint32_t kept = 0;
  for (size_t i = 0; i < instrs_.size(); ++i) {
    if (!needed[i]) continue;
    renumber[i] = kept;
    for (InstrId& operand : instrs_[i].operands) operand.index = renumber[operand.index];
    if (kept != i) {
      instrs_[kept] = std::move(instrs_[i]);
      is_new_[kept] = is_new_[i];
    }
    ++kept;
  }
  dropped_ = size() - kept;
  instrs_.resize(kept);
  is_new_.resize(kept);
  NameNewInstrs();

  Computation result;
  result.name = std::move(name);
  result.root = {renumber[root.index]};
  result.instrs = std::move(instrs_);
  for (uint32_t i = 0; i < kept; ++i) {
    if (result.instrs[i].op != Op::kParameter) continue;
    const auto number = static_cast<size_t>(result.instrs[i].As<ParameterAttrs>().number);
    if (result.parameters.size() <= number) result.parameters.resize(number + 1);
    result.parameters[number] = {i};
  }
  return result;
}

bool Rewrite(Computation& computation, const Effects& effects, const RewriteFn& fn) {
  std::vector<bool> needed(computation.instrs.size(), false);
  needed[computation.root.index] = true;
  bool dropped = false;
  for (size_t i = computation.instrs.size(); i-- > 0;) {
    const Instr& instr = computation.instrs[i];
    if (instr.op == Op::kParameter || HasSideEffect(instr, effects)) needed[i] = true;
    if (!needed[i]) {
      dropped = true;
      continue;
    }
    for (InstrId operand : instr.operands) needed[operand.index] = true;
  }

  Builder builder(effects);
  builder.instrs_.reserve(computation.instrs.size());
  std::vector<InstrId> map(computation.instrs.size());
  for (size_t i = 0; i < computation.instrs.size(); ++i) {
    if (!needed[i]) continue;
    Instr instr = std::move(computation.instrs[i]);
    for (InstrId& operand : instr.operands) operand = map[operand.index];
    map[i] =
        instr.op == Op::kParameter ? builder.Keep(std::move(instr)) : fn(builder, std::move(instr));
  }
  computation = builder.Finish(std::move(computation.name), map[computation.root.index]);
  return dropped || builder.dropped_ > 0;
}

bool RewriteModule(Module& module, const RewriteFn& fn) {
  const Effects effects = FindEffects(module);
  bool dropped = false;
  for (size_t c = 0; c < effects.size(); ++c) {
    dropped |= Rewrite(module.computations[c], effects, fn);
  }
  return dropped;
}

namespace {

// Depth first over calls with an explicit stack: call chains of thousands occur, and input decides
// their depth.
std::vector<uint32_t> CalleesFirst(const Module& module, const std::vector<bool>& reached) {
  struct Frame {
    uint32_t computation;
    std::vector<uint32_t> callees;
    size_t next = 0;
  };
  const auto callees_of = [&](uint32_t c) {
    std::vector<uint32_t> callees;
    for (const Instr& instr : module.computations[c].instrs) {
      for (ComputationId callee : instr.called) callees.push_back(callee.index);
    }
    return callees;
  };
  std::vector<uint32_t> order;
  std::vector<bool> visited(module.computations.size(), false);
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    if (!reached[c] || visited[c]) continue;
    visited[c] = true;
    std::vector<Frame> stack;
    stack.push_back({c, callees_of(c)});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.callees.size()) {
        order.push_back(top.computation);
        stack.pop_back();
        continue;
      }
      const uint32_t callee = top.callees[top.next++];
      if (visited[callee]) continue;
      visited[callee] = true;
      stack.push_back({callee, callees_of(callee)});
    }
  }
  return order;
}

std::vector<bool> Reached(const Module& module) {
  std::vector<bool> reached(module.computations.size(), false);
  std::vector<uint32_t> work = {module.entry.index};
  reached[module.entry.index] = true;
  while (!work.empty()) {
    const uint32_t c = work.back();
    work.pop_back();
    for (const Instr& instr : module.computations[c].instrs) {
      for (ComputationId callee : instr.called) {
        if (reached[callee.index]) continue;
        reached[callee.index] = true;
        work.push_back(callee.index);
      }
    }
  }
  return reached;
}

}  // namespace

bool CollectComputations(Module& module) {
  const std::vector<uint32_t> order = CalleesFirst(module, Reached(module));
  std::vector<uint32_t> renumber(module.computations.size());
  bool moved = order.size() != module.computations.size();
  for (uint32_t i = 0; i < order.size(); ++i) {
    renumber[order[i]] = i;
    moved |= order[i] != i;
  }
  if (!moved) return false;
  std::vector<Computation> computations;
  computations.reserve(order.size());
  for (uint32_t old : order) computations.push_back(std::move(module.computations[old]));
  for (Computation& computation : computations) {
    for (Instr& instr : computation.instrs) {
      for (ComputationId& callee : instr.called) callee.index = renumber[callee.index];
    }
  }
  module.computations = std::move(computations);
  module.entry.index = renumber[module.entry.index];
  return true;
}

Dims IdentityDims(int64_t n) {
  Dims dims(static_cast<size_t>(n));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

Literal ScalarLiteral(DType dtype, uint64_t bits) {
  std::vector<std::byte> bytes(static_cast<size_t>(ByteSize(dtype)));
  std::memcpy(bytes.data(), &bits, std::min(bytes.size(), sizeof bits));
  return MakeLiteral(ArrayShape(dtype, {}), std::move(bytes));
}

Literal ScalarLiteralOf(DType dtype, double value) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred: return ScalarLiteral(dtype, value != 0);
    case DTypeClass::Float: return ScalarLiteral(dtype, FloatToBits(dtype, value));
    case DTypeClass::Complex: {
      const DType part = ComponentOf(dtype);
      const uint64_t real = FloatToBits(part, value);
      std::vector<std::byte> bytes(static_cast<size_t>(ByteSize(dtype)));
      std::memcpy(bytes.data(), &real, static_cast<size_t>(ByteSize(part)));
      return MakeLiteral(ArrayShape(dtype, {}), std::move(bytes));
    }
    case DTypeClass::Unsigned:
      return ScalarLiteral(dtype, value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                            : static_cast<uint64_t>(value));
    case DTypeClass::Signed:
      return ScalarLiteral(dtype, static_cast<uint64_t>(static_cast<int64_t>(value)));
    case DTypeClass::Opaque: break;
  }
  FM_CHECK(false, "a literal of a type without values");
  return {};
}

}  // namespace fusemark
