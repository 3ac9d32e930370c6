#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>

#include "compiler/ir/dot.h"
#include "compiler/ir/rewrite.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

bool Contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// dot(transpose(x), ...) reads x itself, renumbered, if x's free dims keep their order (they appear
// in the result).
bool AbsorbTranspose(const Builder& builder, InstrId& operand, Dims& batch, Dims& contracting) {
  const Instr& transpose = builder[operand];
  if (transpose.op != Op::kTranspose) return false;
  const Dims& permutation = transpose.As<DimsAttrs>().dims;
  Dims free = FreeDims(transpose.shape.rank(), batch, contracting);
  for (int64_t& d : free) d = permutation[static_cast<size_t>(d)];
  if (!std::is_sorted(free.begin(), free.end())) return false;
  for (int64_t& d : batch) d = permutation[static_cast<size_t>(d)];
  for (int64_t& d : contracting) d = permutation[static_cast<size_t>(d)];
  operand = transpose.operands[0];
  return true;
}

// What a product of 32 bit integers reads of narrower ones through converts, it converts itself:
// the type of its result is what they convert to. Only where both are, which has instructions.
bool AbsorbConverts(const Builder& builder, Instr& dot) {
  if (dot.shape.dtype != DType::kS32 && dot.shape.dtype != DType::kU32) return false;
  InstrId sources[2];
  for (size_t i = 0; i < 2; ++i) {
    const Instr& convert = builder[dot.operands[i]];
    if (convert.op != Op::kConvert || convert.shape.dtype != dot.shape.dtype) return false;
    sources[i] = convert.operands[0];
    const DType narrow = builder[sources[i]].shape.dtype;
    if (narrow != DType::kS8 && narrow != DType::kU8 && narrow != DType::kS16) return false;
  }
  dot.operands.assign(std::begin(sources), std::end(sources));
  return true;
}

// joins[d]: dim d and d + 1 of an operand become one.
using Joins = std::vector<bool>;

bool BothWide(const Dims& extents, int64_t d) {
  return extents[static_cast<size_t>(d)] > 1 && extents[static_cast<size_t>(d) + 1] > 1;
}

// Pairs k and k + 1 of a paired role (batch, contracting) are neighbours in both operands.
void JoinPairs(const Dims& lhs, const Dims& rhs, const Dims& extents, Joins& lhs_joins,
               Joins& rhs_joins) {
  for (size_t k = 0; k + 1 < lhs.size(); ++k) {
    if (lhs[k + 1] != lhs[k] + 1 || rhs[k + 1] != rhs[k] + 1 || !BothWide(extents, lhs[k])) {
      continue;
    }
    lhs_joins[static_cast<size_t>(lhs[k])] = true;
    rhs_joins[static_cast<size_t>(rhs[k])] = true;
  }
}

void JoinFree(const Dims& free, const Dims& extents, Joins& joins) {
  for (size_t k = 0; k + 1 < free.size(); ++k) {
    if (free[k + 1] == free[k] + 1 && BothWide(extents, free[k])) {
      joins[static_cast<size_t>(free[k])] = true;
    }
  }
}

Dims Joined(const Dims& extents, const Joins& joins) {
  Dims result;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (d > 0 && joins[d - 1]) {
      result.back() *= extents[d];
    } else {
      result.push_back(extents[d]);
    }
  }
  return result;
}

// Renumbers the dims of one role after joining; joined ones are listed once.
Dims Renumbered(const Dims& dims, const Joins& joins) {
  Dims result;
  for (int64_t d : dims) {
    if (d > 0 && joins[static_cast<size_t>(d) - 1]) continue;  // the tail of a joined run
    result.push_back(d - std::count(joins.begin(), joins.begin() + d, true));
  }
  return result;
}

// Neighbouring dims of one role become one, between reshapes that move nothing.
std::optional<InstrId> JoinRoles(Builder& builder, const Instr& instr) {
  const auto& attrs = instr.As<DotAttrs>();
  const Shape lhs = builder[instr.operands[0]].shape;
  const Shape rhs = builder[instr.operands[1]].shape;
  if (ElementCount(lhs) == 0 || ElementCount(rhs) == 0) return std::nullopt;
  Joins lhs_joins(lhs.dims.size(), false), rhs_joins(rhs.dims.size(), false);
  JoinPairs(attrs.lhs_batch, attrs.rhs_batch, lhs.dims, lhs_joins, rhs_joins);
  JoinPairs(attrs.lhs_contracting, attrs.rhs_contracting, lhs.dims, lhs_joins, rhs_joins);
  JoinFree(FreeDims(lhs.rank(), attrs.lhs_batch, attrs.lhs_contracting), lhs.dims, lhs_joins);
  JoinFree(FreeDims(rhs.rank(), attrs.rhs_batch, attrs.rhs_contracting), rhs.dims, rhs_joins);
  if (!Contains(Dims(lhs_joins.begin(), lhs_joins.end()), 1) &&
      !Contains(Dims(rhs_joins.begin(), rhs_joins.end()), 1)) {
    return std::nullopt;
  }

  DotAttrs joined = attrs;
  joined.lhs_batch = Renumbered(attrs.lhs_batch, lhs_joins);
  joined.rhs_batch = Renumbered(attrs.rhs_batch, rhs_joins);
  joined.lhs_contracting = Renumbered(attrs.lhs_contracting, lhs_joins);
  joined.rhs_contracting = Renumbered(attrs.rhs_contracting, rhs_joins);
  const Dims lhs_dims = Joined(lhs.dims, lhs_joins);
  const Dims rhs_dims = Joined(rhs.dims, rhs_joins);
  Dims result;
  for (int64_t d : joined.lhs_batch) result.push_back(lhs_dims[static_cast<size_t>(d)]);
  const auto append_free = [&](const Dims& dims, const Dims& batch, const Dims& contracting) {
    for (int64_t d : FreeDims(static_cast<int64_t>(dims.size()), batch, contracting)) {
      result.push_back(dims[static_cast<size_t>(d)]);
    }
  };
  append_free(lhs_dims, joined.lhs_batch, joined.lhs_contracting);
  append_free(rhs_dims, joined.rhs_batch, joined.rhs_contracting);

  Instr dot = instr;
  dot.operands = {builder.Reshape(instr.operands[0], lhs_dims),
                  builder.Reshape(instr.operands[1], rhs_dims)};
  dot.shape = ArrayShape(instr.shape.dtype, std::move(result));
  dot.attrs = std::move(joined);
  if (dot.shape.dims == instr.shape.dims) return builder.Keep(std::move(dot));
  const InstrId value = builder.Emit(std::move(dot));
  Instr reshape = instr;  // keeps the dot's name: it is the value others read
  reshape.op = Op::kReshape;
  reshape.operands = {value};
  reshape.attrs = std::monostate();
  reshape.extra.clear();
  return builder.Keep(std::move(reshape));
}

// The permutation puts the rhs free dims before the lhs free dims behind unchanged batch dims:
// then transpose(dot(a, b)) is dot(b, a).
bool SwapsOperands(const Builder& builder, const Dims& permutation, const Instr& dot) {
  const auto& attrs = dot.As<DotAttrs>();
  const auto batch = static_cast<int64_t>(attrs.lhs_batch.size());
  const int64_t lhs_free = builder[dot.operands[0]].shape.rank() - batch -
                           static_cast<int64_t>(attrs.lhs_contracting.size());
  const auto rank = static_cast<int64_t>(permutation.size());
  Dims swapped = IdentityDims(rank);
  std::rotate(swapped.begin() + batch, swapped.begin() + batch + lhs_free, swapped.end());
  return permutation == swapped;
}

// Names of dots with exactly one user.
std::unordered_set<std::string> PrivateDots(const Computation& computation) {
  std::vector<int> uses(computation.instrs.size(), 0);
  ++uses[computation.root.index];
  for (const Instr& instr : computation.instrs) {
    for (InstrId operand : instr.operands) ++uses[operand.index];
  }
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (instr.op == Op::kDot && uses[i] == 1) names.insert(instr.name);
  }
  return names;
}

bool TakeTranspose(const Builder& builder, Instr& instr,
                   const std::unordered_set<std::string>& private_dots) {
  const Instr& dot = builder[instr.operands[0]];
  if (dot.op != Op::kDot || !private_dots.contains(dot.name)) return false;
  if (!SwapsOperands(builder, instr.As<DimsAttrs>().dims, dot)) return false;
  DotAttrs attrs = dot.As<DotAttrs>();
  std::swap(attrs.lhs_batch, attrs.rhs_batch);
  std::swap(attrs.lhs_contracting, attrs.rhs_contracting);
  instr.op = Op::kDot;
  instr.operands = {dot.operands[1], dot.operands[0]};
  instr.attrs = std::move(attrs);
  instr.extra.clear();
  return true;
}

bool HasDot(const Computation& computation) {
  return std::any_of(computation.instrs.begin(), computation.instrs.end(),
                     [](const Instr& instr) { return instr.op == Op::kDot; });
}

}  // namespace

Result<bool> CanonicaliseDot(Module& module, const PassContext&) {
  const Effects effects = FindEffects(module);
  bool changed = false;
  for (Computation& computation : module.computations) {
    if (!HasDot(computation)) continue;
    const auto private_dots = PrivateDots(computation);
    changed |= Rewrite(computation, effects, [&](Builder& builder, Instr&& instr) {
      if (instr.op == Op::kTranspose) changed |= TakeTranspose(builder, instr, private_dots);
      if (instr.op != Op::kDot || instr.shape.dynamic_dims != 0) {
        return builder.Keep(std::move(instr));
      }
      changed |= AbsorbConverts(builder, instr);
      auto& attrs = instr.As<DotAttrs>();
      while (AbsorbTranspose(builder, instr.operands[0], attrs.lhs_batch, attrs.lhs_contracting)) {
        changed = true;
      }
      while (AbsorbTranspose(builder, instr.operands[1], attrs.rhs_batch, attrs.rhs_contracting)) {
        changed = true;
      }
      if (const auto joined = JoinRoles(builder, instr)) {
        changed = true;
        return *joined;
      }
      return builder.Keep(std::move(instr));
    });
  }
  return changed;
}

}  // namespace fusemark
