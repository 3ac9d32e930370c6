// Attention: dot -> elementwise work and row reductions (scaling, masks, softmax) -> dot, one block
// of rows at a time. What all rows of a batch share, the right operands of the two dots, is copied
// to local memory once, with its columns as neighbours; the scores of a block live in local memory
// from the first dot to the last and never reach a buffer.
//
//   for b { keys[d, n] = ..; values[n, c] = ..
//     for block of rows {
//       for m, n { scores[m, n] = sum over d }
//       for r { stages of the row; scores[r, n] = its result }
//       for p, c { result = sum over n } } }
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/dot.h"
#include "compiler/loops/lower_nests.h"
#include "compiler/loops/lower_row.h"

namespace fusemark::loops {
namespace {

// Rows whose scores are computed together: as many as fit, within these bounds.
constexpr int64_t kMostRows = 64, kFewestRows = 16;
// Local memory of one thread for keys, values and scores.
constexpr int64_t kLocalBytes = 640 << 10;

bool IsMovement(Op op) {
  return op == Op::kReshape || op == Op::kTranspose;
}

int64_t Product(const std::vector<int64_t>& dims, const Dims& positions) {
  int64_t product = 1;
  for (const int64_t dim : positions) product *= dims[static_cast<size_t>(dim)];
  return product;
}

// An operand of a dot, by what the dot makes of its dims.
struct DotSide {
  InstrId id;
  Dims batch, contracting, free;
};

DotSide SideOf(const Emitter& emitter, const Instr& dot, size_t side) {
  const auto& attrs = dot.As<DotAttrs>();
  const InstrId id = dot.operands[side];
  const Dims& batch = side == 0 ? attrs.lhs_batch : attrs.rhs_batch;
  const Dims& contracting = side == 0 ? attrs.lhs_contracting : attrs.rhs_contracting;
  return {id, batch, contracting, FreeDims(emitter.instr(id).shape.rank(), batch, contracting)};
}

class Attention {
 public:
  explicit Attention(Lowering& lowering)
      : lowering_(lowering), emitter_(lowering.emitter), stages_(emitter_) {}

  Result<void> Run() {
    FM_RETURN_IF_ERROR(Find());
    FM_RETURN_IF_ERROR(CheckBetween());
    FM_RETURN_IF_ERROR(CheckSizes());
    stages_.Choose({weights_}, {scores_});
    const Dims& dims = Scores().shape.dims;
    const std::vector<int64_t> batch(dims.begin(), dims.begin() + Batches());
    int64_t count = 1;
    for (const int64_t extent : batch) count *= extent;
    emitter_.Loop('b', 0, count, false,
                  [&](const Affine& b) { Batch(emitter_.Delinearise(b, batch)); });
    return Ok();
  }

 private:
  const Instr& Scores() const { return emitter_.instr(scores_); }
  std::ptrdiff_t Batches() const { return static_cast<std::ptrdiff_t>(keys_.batch.size()); }
  int64_t Columns() const { return Scores().shape.dims.back(); }
  int64_t Rows() const { return Scores().shape.dims[Scores().shape.dims.size() - 2]; }

  Error Refuse(const std::string& why) const {
    return Unsupported(fmt::format("instruction `{}`: its kernel is no attention: {}",
                                   lowering_.root(0).name, why));
  }

  // ---- the structure, and everything the emission takes for granted

  Result<void> Find() {
    std::vector<InstrId> dots;
    for (uint32_t i = 0; i < emitter_.computation().instrs.size(); ++i) {
      if (emitter_.Inlined({i}) && emitter_.instr({i}).op == Op::kDot) dots.push_back({i});
    }
    if (dots.size() != 2 || stages_.empty() || lowering_.request.roots.size() != 1)
      return Refuse("two dots, reductions between them and one result make one");
    scores_ = dots[0];
    output_ = dots[1];
    after_scores_ = DependsOn(scores_);
    after_output_ = DependsOn(output_);
    keys_ = SideOf(emitter_, Scores(), 1);
    const RowShape& row = stages_.shape();
    const auto rank = static_cast<int64_t>(row.dims.size());
    if (Scores().shape.dims != row.dims || row.along != Dims{rank - 1})
      return Refuse("the reductions are not along the last dimension of the first dot");
    if (keys_.free.size() != 1 || keys_.contracting.size() != 1 || Batches() + 2 > rank)
      return Refuse("the first dot has no row and one column dimension");
    return FindOutput();
  }

  Result<void> FindOutput() {
    const Instr& output = emitter_.instr(output_);
    const bool left = after_scores_[output.operands[0].index];
    if (left == after_scores_[output.operands[1].index])
      return Refuse("one operand of the second dot is made of the first");
    weights_side_ = left ? 0 : 1;
    const DotSide weights = SideOf(emitter_, output, weights_side_);
    weights_ = weights.id;
    values_ = SideOf(emitter_, output, 1 - weights_side_);
    Dims batch;
    for (std::ptrdiff_t dim = 0; dim < Batches(); ++dim) batch.push_back(dim);
    const auto& dims = stages_.shape().dims;
    const Instr& made = emitter_.instr(weights_);
    if (made.shape.dims != dims || weights.batch != batch || values_.free.size() != 1 ||
        weights.contracting != stages_.shape().along)
      return Refuse("the second dot does not sum along the rows");
    if (HeldType(made.shape.dtype) != HeldType(Scores().shape.dtype) || weights_ == scores_)
      return Refuse("scores and weights are of different types");
    return FindChain();
  }

  // From the second dot to the root.
  Result<void> FindChain() {
    for (InstrId at = lowering_.request.roots[0]; at != output_;) {
      const Instr& in = emitter_.instr(at);
      chain_.insert(chain_.begin(), at);
      const auto from = std::find_if(in.operands.begin(), in.operands.end(),
                                     [&](InstrId operand) { return after_output_[operand.index]; });
      const bool only = std::all_of(in.operands.begin(), in.operands.end(), [&](InstrId operand) {
        return !after_output_[operand.index] || operand == *from;
      });
      if (from == in.operands.end() || !only || !(IsMovement(in.op) || IsElementwise(in.op)))
        return Refuse("what follows the second dot is no chain of elementwise instructions");
      at = *from;
    }
    return Ok();
  }

  // Inlined instructions that depend on `id`, and `id`.
  std::vector<bool> DependsOn(InstrId id) const {
    std::vector<bool> depends(emitter_.computation().instrs.size(), false);
    depends[id.index] = true;
    for (uint32_t i = id.index + 1; i < depends.size(); ++i) {
      if (!emitter_.Inlined({i})) continue;
      for (const InstrId operand : emitter_.instr({i}).operands)
        depends[i] = depends[i] || depends[operand.index];
    }
    return depends;
  }

  // Scores are read where they stand: their place is written over by the weights.
  Result<void> CheckBetween() const {
    const RowShape& row = stages_.shape();
    const auto rows = row.Pick(row.kept);
    for (uint32_t i = scores_.index + 1; i < after_scores_.size(); ++i) {
      if (!after_scores_[i] || after_output_[i]) continue;
      const Instr& in = emitter_.instr({i});
      const bool in_place =
          IsElementwise(in.op) && (in.shape.dims == row.dims || in.shape.dims == rows);
      const bool spread = in.op == Op::kBroadcast && in.shape.dims == row.dims &&
                          in.As<DimsAttrs>().dims == row.kept;
      if (!in_place && !spread && !stages_.Matches(in))
        return Refuse("`" + in.name + "` between the dots is not done row by row");
    }
    return Ok();
  }

  // Sets the rows of a block.
  Result<void> CheckSizes() {
    const auto& keys = emitter_.instr(keys_.id).shape.dims;
    const auto& values = emitter_.instr(values_.id).shape.dims;
    const int64_t depth = Product(keys, keys_.contracting), width = Product(values, values_.free);
    const int64_t element = ByteSize(HeldType(Scores().shape.dtype));
    const auto fits = [&](int64_t rows) {  // the last, smaller block has a place of its own
      return static_cast<double>(Columns()) * static_cast<double>(element) *
                 static_cast<double>(depth + width + rows + Rows() % rows) <=
             kLocalBytes;
    };
    for (block_ = kMostRows; block_ > kFewestRows && !fits(block_);) block_ /= 2;
    if (!fits(block_)) return Refuse("its keys, values and scores exceed local memory");
    return Ok();
  }

  // ---- emission

  void Batch(const Indices& batch) {
    CopyShared(keys_, {keys_.contracting[0], keys_.free[0]}, batch);
    CopyShared(values_, {values_.contracting[0], values_.free[0]}, batch);
    const Dims& dims = Scores().shape.dims;
    // Further dimensions of rows, as of heads that share their keys.
    const std::vector<int64_t> groups(dims.begin() + Batches(), dims.end() - 2);
    emitter_.Nest('g', groups, false, [&](const Indices& group) {
      const int64_t blocks = Rows() / block_, rest = Rows() % block_;
      if (blocks > 0) {
        emitter_.Loop('q', 0, blocks, false,
                      [&](const Affine& block) { RowBlock(batch, group, block * block_, block_); });
      }
      if (rest > 0) RowBlock(batch, group, ConstantIndex(blocks * block_), rest);
    });
    emitter_.kept().erase(keys_.id);
    emitter_.kept().erase(values_.id);
  }

  // The part of `side` that belongs to one batch, with its dims in the order of `order`.
  void CopyShared(const DotSide& side, const Dims& order, const Indices& batch) {
    const Instr& in = emitter_.instr(side.id);
    Builder& build = emitter_.builder();
    const int64_t depth = Product(in.shape.dims, {order[0]});
    const int64_t columns = Product(in.shape.dims, {order[1]});
    const BufferId local =
        build.AddLocal(in.name, HeldType(in.shape.dtype), {depth, columns}, Space::kStack);
    emitter_.Append(build.Alloc(local));
    Indices at(in.shape.dims.size());
    for (size_t i = 0; i < batch.size(); ++i) at[static_cast<size_t>(side.batch[i])] = batch[i];
    // The columns outside: they become vectors that walk down the rows together.
    emitter_.Loop('x', 0, columns, false, [&](const Affine& column) {
      emitter_.Loop('y', 0, depth, false, [&](const Affine& row) {
        at[static_cast<size_t>(order[0])] = row;
        at[static_cast<size_t>(order[1])] = column;
        const Value value = emitter_.Emit(side.id, at);
        emitter_.Append(
            build.Store(local, {emitter_.Expr(row), emitter_.Expr(column)}, emitter_.Use(value)));
      });
    });
    emitter_.kept()[side.id] = {local, order, at, true};
  }

  void RowBlock(const Indices& batch, const Indices& group, const Affine& begin, int64_t rows) {
    Builder& build = emitter_.builder();
    const BufferId block =
        build.AddLocal("scores", HeldType(Scores().shape.dtype), {rows, Columns()}, Space::kStack);
    emitter_.Append(build.Alloc(block));
    Indices row = batch;
    row.insert(row.end(), group.begin(), group.end());
    row.push_back(begin);
    const auto full = [&](const Affine& in_block, const Affine& column) {
      Indices index = row;
      index.back() = begin + in_block;
      index.push_back(column);
      return index;
    };
    const auto store = [&](const Affine& in_block, const Affine& column, const Value& value) {
      emitter_.Append(build.Store(block, {emitter_.Expr(in_block), emitter_.Expr(column)},
                                  emitter_.Use(value)));
    };
    const auto rank = static_cast<int64_t>(row.size()) + 1;
    const Emitter::Kept kept{block,
                             {rank - 2, rank - 1},
                             full(ConstantIndex(0), ConstantIndex(0)),
                             true,
                             {begin, ConstantIndex(0)}};
    emitter_.Loop('m', 0, rows, false, [&](const Affine& m) {
      emitter_.Loop('n', 0, Columns(), false,
                    [&](const Affine& n) { store(m, n, emitter_.Emit(scores_, full(m, n))); });
    });
    emitter_.kept()[scores_] = kept;
    emitter_.Loop('r', 0, rows, false, [&](const Affine& r) {
      Indices at = row;
      at.back() = begin + r;
      stages_.Emit(
          at, [] {},
          [&](const Indices& element) {
            store(r, element.back(), emitter_.Emit(weights_, element));
          });
    });
    emitter_.kept().erase(scores_);
    emitter_.kept()[weights_] = kept;
    emitter_.Loop('p', 0, rows, false, [&](const Affine& p) {
      row.back() = begin + p;
      OutputRow(row);
    });
    emitter_.kept().erase(weights_);
  }

  void OutputRow(const Indices& row) {
    const auto& dims = emitter_.instr(values_.id).shape.dims;
    emitter_.Loop('c', 0, Product(dims, values_.free), false, [&](const Affine& column) {
      Indices at = row;
      at.insert(weights_side_ == 0 ? at.end() : at.begin() + Batches(), column);
      Value value = emitter_.Emit(output_, at);
      const std::vector<int64_t>* shape = &emitter_.instr(output_).shape.dims;
      for (const InstrId next : chain_) {
        const Instr& in = emitter_.instr(next);
        if (IsMovement(in.op)) {
          at = Moved(in, at, *shape);
          emitter_.Remember(next, 0, at, value);
        } else {
          value = emitter_.Emit(next, at);
        }
        shape = &in.shape.dims;
      }
      lowering_.StoreRoot(0, at);
    });
  }

  // Where the element `at` of its operand stands in a reshape or transpose.
  Indices Moved(const Instr& in, const Indices& at, const std::vector<int64_t>& from) {
    if (in.op == Op::kReshape) return emitter_.MapReshape(at, from, in.shape.dims);
    Indices moved;
    for (const int64_t dim : in.As<DimsAttrs>().dims) moved.push_back(at[static_cast<size_t>(dim)]);
    return moved;
  }

  Lowering& lowering_;
  Emitter& emitter_;
  RowStages stages_;
  InstrId scores_, weights_, output_;
  size_t weights_side_ = 0;  // of the second dot
  int64_t block_ = 0;        // rows
  DotSide keys_, values_;
  std::vector<bool> after_scores_, after_output_;  // by instruction: made of it
  std::vector<InstrId> chain_;                     // after the second dot, the root last
};

}  // namespace

Result<void> LowerAttention(Lowering& lowering) {
  return Attention(lowering).Run();
}

}  // namespace fusemark::loops
