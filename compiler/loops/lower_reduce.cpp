// Reductions of the emitter: accumulators, loops over the reduced dimensions, the region inlined.
#include <algorithm>

#include "compiler/ir/users.h"
#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {
namespace {

// Sums and products of narrow floats accumulate in f32 and are rounded once.
bool AccumulatesExactly(const Module& module, const Instr& reduce) {
  const Op op = MatchScalarRegion(module[reduce.called[0]]).op;
  return op == Op::kAdd || op == Op::kMultiply;
}

struct Pending {
  InstrId id;
  size_t inputs = 0;
  bool exact = false;
  std::vector<BufferId> accumulators;
};

}  // namespace

void Emitter::EmitReduces(std::span<const InstrId> reduces, const Indices& indices, char prefix) {
  std::vector<Pending> pending;
  for (const InstrId id : reduces) {
    const Instr& in = instr(id);
    Pending one{id, in.operands.size() / 2, AccumulatesExactly(module(), in), {}};
    for (size_t i = 0; i < one.inputs; ++i) {
      const Value init = Emit(in.operands[one.inputs + i], {});
      one.accumulators.push_back(Accumulator(HeldType(init.dtype), Use(init)));
    }
    pending.push_back(std::move(one));
  }
  const Instr& first = instr(reduces[0]);
  const Dims& reduced = first.As<DimsAttrs>().dims;
  const auto& dims = instr(first.operands[0]).shape.dims;
  std::vector<int64_t> extents;
  Dims sorted = reduced;
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t dim : sorted) extents.push_back(dims[static_cast<size_t>(dim)]);
  Nest(prefix, extents, true, [&](const Indices& along) {
    Indices at;
    size_t kept = 0, next = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      const bool is_reduced = next < sorted.size() && sorted[next] == static_cast<int64_t>(dim);
      at.push_back(is_reduced ? along[next++] : indices[kept++]);
    }
    for (const Pending& one : pending) {
      const Instr& in = instr(one.id);
      std::vector<Value> arguments;
      for (size_t i = 0; i < one.inputs; ++i) {
        const DType dtype = instr(in.operands[i]).shape.dtype;
        arguments.push_back(Bind("a", dtype, Read(one.accumulators[i])));
      }
      for (size_t i = 0; i < one.inputs; ++i) arguments.push_back(Emit(in.operands[i], at));
      const auto results = Region(in.called[0], arguments, one.exact);
      for (size_t i = 0; i < one.inputs; ++i) Assign(one.accumulators[i], Use(results[i]));
    }
  });
  for (const Pending& one : pending) {
    for (size_t i = 0; i < one.inputs; ++i) {
      const DType dtype = instr(instr(one.id).operands[i]).shape.dtype;
      Remember(one.id, static_cast<int64_t>(i), indices,
               Round(instr(one.id).name, dtype, Read(one.accumulators[i])));
    }
  }
}

std::vector<InstrId> Emitter::Siblings(InstrId id) const {
  const Instr& in = instr(id);
  const auto alike = [&](const Instr& other) {
    return other.op == Op::kReduce &&
           instr(other.operands[0]).shape.dims == instr(in.operands[0]).shape.dims &&
           other.As<DimsAttrs>().dims == in.As<DimsAttrs>().dims;
  };
  std::vector<InstrId> group = {id};
  // Members of the pass must not need each other: walk the instructions once, marking what depends
  // on the group.
  const auto depends = [&](InstrId from, InstrId on) {
    std::vector<bool> reached(from.index + 1, false);
    reached[from.index] = true;
    for (uint32_t i = from.index + 1; i-- > on.index;) {
      if (!reached[i]) continue;
      if (i == on.index) return true;
      if (!inlined_[i]) continue;
      for (const InstrId operand : computation_.instrs[i].operands) reached[operand.index] = true;
    }
    return false;
  };
  for (uint32_t i = 0; i < inlined_.size(); ++i) {
    const InstrId other{i};
    if (other == id || !inlined_[i] || !alike(instr(other))) continue;
    const bool independent = std::all_of(group.begin(), group.end(), [&](InstrId member) {
      return member < other ? !depends(other, member) : !depends(member, other);
    });
    if (independent) group.push_back(other);
  }
  std::sort(group.begin(), group.end());
  return group;
}

}  // namespace fusemark::loops
