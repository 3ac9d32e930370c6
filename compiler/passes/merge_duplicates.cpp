#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

uint64_t MixText(uint64_t hash, std::string_view text) {
  return Mix(hash, std::hash<std::string_view>()(text));
}

uint64_t MixDims(uint64_t hash, const Dims& dims) {
  hash = Mix(hash, dims.size());
  for (int64_t d : dims) hash = Mix(hash, static_cast<uint64_t>(d));
  return hash;
}

uint64_t MixShape(uint64_t hash, const Shape& shape) {
  hash = Mix(hash, static_cast<uint64_t>(shape.dtype));
  hash = MixDims(hash, shape.dims);
  for (const Shape& element : shape.elements) hash = MixShape(hash, element);
  return hash;
}

// The attributes that tell instructions on the same operands apart in practice; equality compares
// all of them.
uint64_t MixAttrs(uint64_t hash, const Attrs& attrs) {
  hash = Mix(hash, attrs.index());
  if (const auto* dims = std::get_if<DimsAttrs>(&attrs)) return MixDims(hash, dims->dims);
  if (const auto* slice = std::get_if<SliceAttrs>(&attrs)) {
    return MixDims(MixDims(hash, slice->start), slice->limit);
  }
  if (const auto* parameter = std::get_if<ParameterAttrs>(&attrs)) {
    return Mix(hash, static_cast<uint64_t>(parameter->number));
  }
  if (const auto* element = std::get_if<TupleIndexAttrs>(&attrs)) {
    return Mix(hash, static_cast<uint64_t>(element->index));
  }
  if (const auto* compare = std::get_if<CompareAttrs>(&attrs)) {
    return Mix(hash, static_cast<uint64_t>(compare->direction));
  }
  if (const auto* pad = std::get_if<PadAttrs>(&attrs)) {
    return MixDims(MixDims(hash, pad->low), pad->high);
  }
  if (const auto* constant = std::get_if<ConstantAttrs>(&attrs)) {
    const auto bytes = constant->literal.bytes();
    return MixText(hash, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return hash;
}

uint64_t HashOf(const Instr& instr) {
  uint64_t hash = MixShape(static_cast<uint64_t>(instr.op), instr.shape);
  hash = MixAttrs(hash, instr.attrs);
  uint64_t operands = 0;
  for (InstrId id : instr.operands) {
    // A sum where the order does not matter, so that a+b meets b+a.
    operands = IsCommutative(instr.op) ? operands + Mix(1, id.index) : Mix(operands, id.index);
  }
  hash = Mix(hash, operands);
  for (ComputationId id : instr.called) hash = Mix(hash, id.index);
  return hash;
}

bool IsAnnotation(std::string_view attribute) {
  return attribute == "metadata" || attribute == "sharding" || attribute == "frontend_attributes" ||
         attribute == "origin" || attribute == "statistics" || attribute == "parameter_replication";
}

// The attributes nothing reads must still agree where they are not mere annotations.
bool SameExtra(const Instr& a, const Instr& b) {
  const auto next = [](const Instr& instr, size_t i) {
    while (i < instr.extra.size() && IsAnnotation(instr.extra[i].first)) ++i;
    return i;
  };
  size_t i = next(a, 0), j = next(b, 0);
  while (i < a.extra.size() && j < b.extra.size()) {
    if (a.extra[i] != b.extra[j]) return false;
    i = next(a, i + 1);
    j = next(b, j + 1);
  }
  return i == a.extra.size() && j == b.extra.size();
}

bool SameOperands(const Instr& a, const Instr& b) {
  if (a.operands == b.operands) return true;
  return IsCommutative(a.op) && a.operands.size() == 2 && b.operands.size() == 2 &&
         a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0];
}

bool IsSame(const Instr& a, const Instr& b) {
  // What an elided constant holds depends on its name.
  if (a.op == Op::kConstant && a.As<ConstantAttrs>().elided) return false;
  return a.op == b.op && SameType(a.shape, b.shape) && SameOperands(a, b) && a.attrs == b.attrs &&
         a.called == b.called && SameExtra(a, b);
}

// Two draws of a random generator, tokens, communication and opaque calls are never one.
bool IsMergeable(const Instr& instr, const Effects& effects) {
  if (HasSideEffect(instr, effects)) return false;
  const OpClass klass = ClassOf(instr.op);
  if (klass == OpClass::Collective || klass == OpClass::Other) return false;
  return instr.op != Op::kParameter && instr.op != Op::kRng && instr.op != Op::kStochasticConvert;
}

bool ContainsRng(const Computation& computation, const std::vector<bool>& random) {
  return std::any_of(computation.instrs.begin(), computation.instrs.end(), [&](const Instr& instr) {
    if (instr.op == Op::kRng || instr.op == Op::kStochasticConvert) return true;
    return std::any_of(instr.called.begin(), instr.called.end(),
                       [&](ComputationId id) { return random[id.index]; });
  });
}

uint64_t HashOf(const Computation& computation) {
  uint64_t hash = Mix(computation.instrs.size(), computation.root.index);
  for (const Instr& instr : computation.instrs) hash = Mix(hash, HashOf(instr));
  return hash;
}

bool IsSame(const Computation& a, const Computation& b) {
  return a.root == b.root && a.parameters == b.parameters && a.instrs.size() == b.instrs.size() &&
         std::equal(a.instrs.begin(), a.instrs.end(), b.instrs.begin(),
                    [](const Instr& x, const Instr& y) {
                      return x.operands == y.operands && IsSame(x, y);
                    });
}

// Callees first, so equal bodies already call the same computations when they are compared.
bool MergeComputations(Module& module) {
  std::unordered_multimap<uint64_t, ComputationId> seen;
  std::vector<ComputationId> representative(module.computations.size());
  bool changed = false;
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    Computation& computation = module.computations[c];
    representative[c] = {c};
    for (Instr& instr : computation.instrs) {
      for (ComputationId& callee : instr.called) {
        changed |= representative[callee.index] != callee;
        callee = representative[callee.index];
      }
    }
    if (module.entry.index == c) continue;
    const uint64_t hash = HashOf(computation);
    const auto [begin, end] = seen.equal_range(hash);
    const auto same = std::find_if(
        begin, end, [&](const auto& entry) { return IsSame(module[entry.second], computation); });
    if (same == end) {
      seen.emplace(hash, ComputationId{c});
    } else {
      representative[c] = same->second;
    }
  }
  return changed;
}

}  // namespace

Result<bool> MergeDuplicates(Module& module, const PassContext&) {
  bool changed = MergeComputations(module);
  changed |= CollectComputations(module);
  const Effects effects = FindEffects(module);
  std::vector<bool> random;
  for (const Computation& computation : module.computations) {
    random.push_back(false);
    random.back() = ContainsRng(computation, random);
  }
  for (Computation& computation : module.computations) {
    std::unordered_multimap<uint64_t, InstrId> seen;
    seen.reserve(computation.instrs.size());
    changed |= Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
      const bool draws = std::any_of(instr.called.begin(), instr.called.end(),
                                     [&](ComputationId id) { return random[id.index]; });
      if (draws || !IsMergeable(instr, effects)) return builder.Keep(std::move(instr));
      const uint64_t hash = HashOf(instr);
      const auto [begin, end] = seen.equal_range(hash);
      for (auto it = begin; it != end; ++it) {
        if (!IsSame(builder[it->second], instr)) continue;
        changed = true;
        return it->second;
      }
      const InstrId id = builder.Keep(std::move(instr));
      seen.emplace(hash, id);
      return id;
    });
  }
  return changed;
}

}  // namespace fusemark
