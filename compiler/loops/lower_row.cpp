#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "compiler/loops/lower_nests.h"

namespace fusemark::loops {
namespace {

// Local memory one row may take; more is recomputed instead.
constexpr int64_t kRowBytes = 128 << 10;

// The shape of a row kernel: `dims` of the reduced values, of which `along` are reduced.
struct RowShape {
  std::vector<int64_t> dims;
  Dims along, kept;  // positions, increasing
  std::vector<int64_t> Pick(const Dims& positions) const {
    std::vector<int64_t> picked;
    for (const int64_t dim : positions) picked.push_back(dims[static_cast<size_t>(dim)]);
    return picked;
  }
  Indices Join(const Indices& row, const Indices& column) const {
    Indices joined(dims.size());
    for (size_t i = 0; i < kept.size(); ++i) joined[static_cast<size_t>(kept[i])] = row[i];
    for (size_t i = 0; i < along.size(); ++i) joined[static_cast<size_t>(along[i])] = column[i];
    return joined;
  }
};

Dims Sorted(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

class RowLowering {
 public:
  explicit RowLowering(Lowering& lowering) : lowering_(lowering), emitter_(lowering.emitter) {}

  Result<void> Run() {
    FindStages();
    if (stages_.empty()) {
      LowerLoops(lowering_);
      return Ok();
    }
    FM_RETURN_IF_ERROR(ClassifyRoots());
    ChooseKept();
    emitter_.Nest('r', shape_.Pick(shape_.kept), false, [&](const Indices& row) { Row(row); });
    return Ok();
  }

 private:
  using Set = std::set<InstrId>;

  bool Matches(const Instr& in) const {
    return in.op == Op::kReduce && emitter_.instr(in.operands[0]).shape.dims == shape_.dims &&
           Sorted(in.As<DimsAttrs>().dims) == shape_.along;
  }

  // Reduces of the row's shape, grouped by how many of them must come before.
  void FindStages() {
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

  Result<void> ClassifyRoots() {
    int64_t rows = 1, all = 1;
    for (const int64_t dim : shape_.dims) all *= dim;
    for (const int64_t dim : shape_.Pick(shape_.kept)) rows *= dim;
    for (size_t i = 0; i < lowering_.request.roots.size(); ++i) {
      int64_t count = 1;
      for (const int64_t dim : lowering_.DimsOf(i)) count *= dim;
      const Instr& root = lowering_.root(i);
      // A row of length one: the dims decide.
      const bool is_row = count == rows && !(rows == all && root.shape.dims == shape_.dims);
      if (!is_row && count != all)
        return Unsupported("instruction `" + root.name + "` (line " +
                               std::to_string(root.loc.line) +
                               "): its shape is neither a row nor a row's result of this kernel",
                           root.loc);
      (is_row ? row_roots_ : full_roots_).push_back(i);
    }
    return Ok();
  }

  // Inlined instructions needed by `sources`, not looking through reduces of the row's shape nor
  // through `known`.
  void Reach(InstrId id, const Set& known, Set& reached) const {
    if (!emitter_.Inlined(id) || Matches(emitter_.instr(id)) || !reached.insert(id).second) return;
    if (known.contains(id)) return;
    for (const InstrId operand : emitter_.instr(id).operands) Reach(operand, known, reached);
  }

  std::vector<Set> Needs(const Set& kept) const {
    std::vector<Set> needs(stages_.size() + 1);
    Set known;
    for (size_t stage = 0; stage <= stages_.size(); ++stage) {
      if (stage < stages_.size()) {
        for (const InstrId id : stages_[stage]) {
          for (const InstrId operand : emitter_.instr(id).operands)
            Reach(operand, known, needs[stage]);
        }
      } else {
        for (const size_t root : full_roots_)
          Reach(lowering_.request.roots[root], known, needs[stage]);
      }
      for (const InstrId id : needs[stage]) {
        if (kept.contains(id)) known.insert(id);
      }
    }
    return needs;
  }

  static bool IsDear(Op op) {
    return IsTranscendental(op) || op == Op::kDot || op == Op::kConvolution || op == Op::kReduce ||
           op == Op::kReduceWindow || op == Op::kGather;
  }

  // Keeps what is dear and needed by several stages, outermost first (inner values are then no
  // longer needed twice), while the row fits local memory.
  void ChooseKept() {
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

  void AllocateKept(const Indices& row) {
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
      emitter_.kept()[id] = {buffer, shape_.along, shape_.Join(row, column), false};
    }
  }

  void Filled(size_t stage) {
    for (const InstrId id : kept_) {
      if (needs_[stage].contains(id)) emitter_.kept()[id].filled = true;
    }
  }

  void Row(const Indices& row) {
    emitter_.HoistToHere();
    AllocateKept(row);
    for (size_t stage = 0; stage < stages_.size(); ++stage) {
      emitter_.EmitReduces(stages_[stage], row, 'j');
      Filled(stage);
    }
    const auto row_dims = shape_.Pick(shape_.kept);
    for (const size_t root : row_roots_)
      lowering_.StoreRoot(root, emitter_.MapReshape(row, row_dims, lowering_.DimsOf(root)));
    if (!full_roots_.empty()) {
      emitter_.Nest('j', shape_.Pick(shape_.along), false, [&](const Indices& column) {
        const Indices full = shape_.Join(row, column);
        for (const size_t root : full_roots_)
          lowering_.StoreRoot(root, emitter_.MapReshape(full, shape_.dims, lowering_.DimsOf(root)));
      });
    }
    emitter_.StopHoisting();
  }

  Lowering& lowering_;
  Emitter& emitter_;
  RowShape shape_;
  std::vector<std::vector<InstrId>> stages_;
  std::vector<size_t> row_roots_, full_roots_;
  std::vector<Set> needs_;
  Set kept_;
};

}  // namespace

Result<void> LowerRows(Lowering& lowering) {
  return RowLowering(lowering).Run();
}

}  // namespace fusemark::loops
