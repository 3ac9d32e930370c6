#include "compiler/loops/lower_row.h"

#include <algorithm>
#include <functional>
#include <map>

#include "compiler/loops/lower_nests.h"

namespace fusemark::loops {
namespace {

// Local memory one row may take; more is recomputed instead.
constexpr int64_t kRowBytes = 128 << 10;

Dims Sorted(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

bool IsDear(Op op) {
  return IsTranscendental(op) || op == Op::kDot || op == Op::kConvolution || op == Op::kReduce ||
         op == Op::kReduceWindow || op == Op::kGather;
}

}  // namespace

std::vector<int64_t> RowShape::Pick(const Dims& positions) const {
  std::vector<int64_t> picked;
  for (const int64_t dim : positions) picked.push_back(dims[static_cast<size_t>(dim)]);
  return picked;
}

Indices RowShape::Join(const Indices& row, const Indices& column) const {
  Indices joined(dims.size());
  for (size_t i = 0; i < kept.size(); ++i) joined[static_cast<size_t>(kept[i])] = row[i];
  for (size_t i = 0; i < along.size(); ++i) joined[static_cast<size_t>(along[i])] = column[i];
  return joined;
}

// Reduces of the row's shape, grouped by how many of them must come before.
RowStages::RowStages(Emitter& emitter) : emitter_(emitter) {
  const auto& instrs = emitter_.computation().instrs;
  std::vector<size_t> level(instrs.size(), 0);
  for (uint32_t i = 0; i < instrs.size(); ++i) {
    if (!emitter_.Inlined({i})) continue;
    const Instr& in = instrs[i];
    for (const InstrId operand : in.operands) level[i] = std::max(level[i], level[operand.index]);
    if (in.op != Op::kReduce) continue;
    if (stages_.empty()) {
      shape_.dims = emitter_.instr(in.operands[0]).shape.dims;
      shape_.along = Sorted(in.As<DimsAttrs>().dims);
      for (int64_t dim = 0; dim < static_cast<int64_t>(shape_.dims.size()); ++dim) {
        if (!std::binary_search(shape_.along.begin(), shape_.along.end(), dim))
          shape_.kept.push_back(dim);
      }
    }
    if (!Matches(in)) continue;
    if (stages_.size() <= level[i]) stages_.resize(level[i] + 1);
    stages_[level[i]].push_back({i});
    ++level[i];
  }
}

bool RowStages::Matches(const Instr& in) const {
  return in.op == Op::kReduce && emitter_.instr(in.operands[0]).shape.dims == shape_.dims &&
         Sorted(in.As<DimsAttrs>().dims) == shape_.along;
}

// Inlined instructions needed by `sources`, not looking through reduces of the row's shape, nor
// through `known` or what is given.
void RowStages::Reach(InstrId id, const Set& known, Set& reached) const {
  if (!emitter_.Inlined(id) || Matches(emitter_.instr(id))) return;
  if (given_.contains(id) || !reached.insert(id).second || known.contains(id)) return;
  for (const InstrId operand : emitter_.instr(id).operands) Reach(operand, known, reached);
}

std::vector<RowStages::Set> RowStages::Needs(const Set& kept) const {
  std::vector<Set> needs(stages_.size() + 1);
  Set known;
  for (size_t stage = 0; stage <= stages_.size(); ++stage) {
    if (stage < stages_.size()) {
      for (const InstrId id : stages_[stage]) {
        for (const InstrId operand : emitter_.instr(id).operands)
          Reach(operand, known, needs[stage]);
      }
    } else {
      for (const InstrId result : results_) Reach(result, known, needs[stage]);
    }
    for (const InstrId id : needs[stage]) {
      if (kept.contains(id)) known.insert(id);
    }
  }
  return needs;
}

// Keeps what is dear and needed by several stages, outermost first (inner values are then no
// longer needed twice), while the row fits local memory.
void RowStages::Choose(std::vector<InstrId> results, std::set<InstrId> given) {
  results_ = std::move(results);
  given_ = std::move(given);
  int64_t elements = 1, bytes = 0;
  for (const int64_t dim : shape_.Pick(shape_.along)) elements *= dim;
  Set kept, refused;
  for (bool again = true; again;) {
    again = false;
    std::map<InstrId, int, std::greater<>> uses;  // by stages that need it, last first
    for (const Set& set : Needs(kept)) {
      for (const InstrId id : set) ++uses[id];
    }
    for (const auto& [id, stages] : uses) {
      const Instr& in = emitter_.instr(id);
      if (stages < 2 || kept.contains(id) || refused.contains(id) || !IsDear(in.op) ||
          in.shape.is_tuple || in.shape.dims != shape_.dims)
        continue;
      const int64_t more = elements * ByteSize(HeldType(in.shape.dtype));
      if (bytes + more > kRowBytes) {
        refused.insert(id);
        continue;
      }
      bytes += more;
      kept.insert(id);
      again = true;
      break;
    }
  }
  needs_ = Needs(kept);
  kept_ = kept;
}

void RowStages::AllocateKept(const Indices& row) {
  Indices column;
  const auto extents = shape_.Pick(shape_.along);
  Builder& build = emitter_.builder();
  for (size_t i = 0; i < extents.size(); ++i)
    column.push_back(extents[i] == 1 ? ConstantIndex(0)
                                     : VarIndex(build.SameVar("j" + std::to_string(i))));
  for (const InstrId id : kept_) {
    const Instr& in = emitter_.instr(id);
    const BufferId buffer =
        build.AddLocal(in.name, HeldType(in.shape.dtype), extents, Space::kStack);
    emitter_.Append(build.Alloc(buffer));
    emitter_.kept()[id] = {buffer, shape_.along, shape_.Join(row, column)};
  }
}

void RowStages::Filled(size_t stage) {
  for (const InstrId id : kept_) {
    if (needs_[stage].contains(id)) emitter_.kept()[id].filled = true;
  }
}

void RowStages::Emit(const Indices& row, const std::function<void()>& per_row,
                     const std::function<void(const Indices& full)>& per_element) {
  emitter_.HoistToHere();
  AllocateKept(row);
  for (size_t stage = 0; stage < stages_.size(); ++stage) {
    emitter_.EmitReduces(stages_[stage], row, 'j');
    Filled(stage);
  }
  per_row();
  if (!results_.empty()) {
    emitter_.Nest('j', shape_.Pick(shape_.along), false,
                  [&](const Indices& column) { per_element(shape_.Join(row, column)); });
  }
  for (const InstrId id : kept_) emitter_.kept().erase(id);
  emitter_.StopHoisting();
}

// ---- row kernels

namespace {

// Positions of the roots by what they are: a value per row, or one of the row's full shape.
struct RowRoots {
  std::vector<size_t> row, full;
};

Result<RowRoots> ClassifyRoots(const Lowering& lowering, const RowShape& shape) {
  RowRoots roots;
  int64_t rows = 1, all = 1;
  for (const int64_t dim : shape.dims) all *= dim;
  for (const int64_t dim : shape.Pick(shape.kept)) rows *= dim;
  for (size_t i = 0; i < lowering.request.roots.size(); ++i) {
    int64_t count = 1;
    for (const int64_t dim : lowering.DimsOf(i)) count *= dim;
    const Instr& root = lowering.root(i);
    // A row of length one: the dims decide.
    const bool is_row = count == rows && !(rows == all && root.shape.dims == shape.dims);
    if (!is_row && count != all)
      return Unsupported("instruction `" + root.name + "` (line " + std::to_string(root.loc.line) +
                             "): its shape is neither a row nor a row's result of this kernel",
                         root.loc);
    (is_row ? roots.row : roots.full).push_back(i);
  }
  return roots;
}

}  // namespace

Result<void> LowerRows(Lowering& lowering) {
  Emitter& emitter = lowering.emitter;
  RowStages stages(emitter);
  if (stages.empty()) {
    LowerLoops(lowering);
    return Ok();
  }
  const RowShape& shape = stages.shape();
  FM_TRY(const RowRoots roots, ClassifyRoots(lowering, shape));
  std::vector<InstrId> results;
  for (const size_t root : roots.full) results.push_back(lowering.request.roots[root]);
  stages.Choose(std::move(results));
  const auto row_dims = shape.Pick(shape.kept);
  emitter.Nest('r', row_dims, false, [&](const Indices& row) {
    stages.Emit(
        row,
        [&] {
          for (const size_t root : roots.row)
            lowering.StoreRoot(root, emitter.MapReshape(row, row_dims, lowering.DimsOf(root)));
        },
        [&](const Indices& full) {
          for (const size_t root : roots.full)
            lowering.StoreRoot(root, emitter.MapReshape(full, shape.dims, lowering.DimsOf(root)));
        });
  });
  return Ok();
}

}  // namespace fusemark::loops
