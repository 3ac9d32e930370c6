// stage, pack, interleave: the part of an operand that one iteration of a loop reads, copied to a
// local buffer first. Narrow floats that every read converts to f32 are converted by the copy, once
// for all that use them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/index_analysis.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

// Per dimension of the operand: index = base (fixed inside the loop) + something in [0, extent).
struct Tile {
  std::vector<LinearForm> bases;
  std::vector<Range> inner;
};

class Stager {
 public:
  Stager(Kernel& kernel, BufferId buffer, VarId loop, Space space)
      : kernel_(kernel), buffer_(buffer), loop_(loop), space_(space) {}

  // One dimension is cut into runs: [.., n, ..] becomes [n / run, .., run]. The last one, or the
  // one that moves with a loop.
  void CutIntoRuns(int64_t run, std::optional<VarId> along = std::nullopt) {
    run_ = run;
    run_var_ = along;
  }
  // Another one is cut into groups, which stand inside of the runs: [k, n] becomes
  // [n / run, k / group, run, group], the last group filled up with anything.
  void CutIntoGroups(int64_t group, VarId along) {
    group_ = group;
    group_var_ = along;
  }

  // Loops of the name that do not read the operand stay as they are.
  Result<void> Run() {
    IndexAnalysis analysis(kernel_);
    FM_RETURN_IF_ERROR(Walk(kernel_.body, analysis));
    return staged_ ? Ok() : Result<void>(Fail("it is not read inside"));
  }

 private:
  Error Fail(const std::string& why) const {
    return Invalid(fmt::format("cannot stage %{} in loop {}: {}", kernel_[buffer_].name,
                               kernel_[loop_].name, why));
  }

  Result<void> Walk(Block& block, IndexAnalysis& analysis) {
    const size_t mark = analysis.Mark();
    for (Stmt& stmt : block) {
      if (stmt.kind == StmtKind::kLet) analysis.Bind(stmt.var, stmt.value);
      const size_t inner = analysis.Mark();
      if (stmt.kind == StmtKind::kFor) {
        analysis.EnterLoop(stmt.var, stmt.extent);
        fixed_.push_back(stmt.var);
        if (stmt.var == loop_) {
          FM_RETURN_IF_ERROR(StageIn(stmt, analysis));
        } else {
          FM_RETURN_IF_ERROR(Walk(stmt.body, analysis));
        }
        fixed_.pop_back();
      } else {
        FM_RETURN_IF_ERROR(Walk(stmt.body, analysis));
        FM_RETURN_IF_ERROR(Walk(stmt.else_body, analysis));
      }
      analysis.Release(inner);
    }
    analysis.Release(mark);
    return Ok();
  }

  // ---- what the body reads ----
  Result<void> Gather(const Block& block, IndexAnalysis& analysis, std::optional<Tile>& tile) {
    const size_t mark = analysis.Mark();
    for (const Stmt& stmt : block) {
      for (const ExprId index : stmt.indices) {
        FM_RETURN_IF_ERROR(GatherLoads(index, analysis, tile, std::nullopt));
      }
      if (stmt.value.valid()) {
        FM_RETURN_IF_ERROR(GatherLoads(stmt.value, analysis, tile, std::nullopt));
      }
      if (stmt.kind == StmtKind::kLet) analysis.Bind(stmt.var, stmt.value);
      const size_t inner = analysis.Mark();
      if (stmt.kind == StmtKind::kFor) analysis.EnterLoop(stmt.var, stmt.extent);
      if (stmt.kind == StmtKind::kIf) analysis.Assume(stmt.value, true);
      FM_RETURN_IF_ERROR(Gather(stmt.body, analysis, tile));
      analysis.Release(inner);
      if (stmt.kind == StmtKind::kIf) {
        analysis.Assume(stmt.value, false);
        FM_RETURN_IF_ERROR(Gather(stmt.else_body, analysis, tile));
        analysis.Release(inner);
      }
    }
    analysis.Release(mark);
    return Ok();
  }

  // `as`: what the value is converted to.
  Result<void> GatherLoads(ExprId id, IndexAnalysis& analysis, std::optional<Tile>& tile,
                           std::optional<DType> as) {
    const Expr expr = kernel_[id];
    const bool converts = expr.kind == ExprKind::kUnary && expr.op == Op::kConvert;
    for (const ExprId arg : expr.args) {
      FM_RETURN_IF_ERROR(
          GatherLoads(arg, analysis, tile, converts ? std::optional(expr.dtype) : std::nullopt));
    }
    if (expr.kind != ExprKind::kLoad || expr.buffer != buffer_) return Ok();
    if (as != DType::kF32) held_ = kernel_[buffer_].dtype;
    Tile here;
    for (size_t d = 0; d < expr.args.size(); ++d) {
      LinearForm base, inner;
      const LinearForm form = analysis.FormOf(expr.args[d]);
      FM_RETURN_IF_ERROR(Cut(d, form, analysis));
      for (const auto& term : form.terms) {
        const IndexAtom& atom = analysis.atom(term.atom);
        const bool fixed = atom.kind == IndexAtom::Kind::kVar &&
                           std::find(fixed_.begin(), fixed_.end(), atom.var) != fixed_.end();
        (fixed ? base : inner).terms.push_back(term);
      }
      inner.constant = form.constant;
      here.bases.push_back(base);
      here.inner.push_back(analysis.RangeOf(inner));
    }
    if (!tile) {
      tile = std::move(here);
      return Ok();
    }
    if (tile->bases != here.bases) return Fail("its reads do not move together");
    for (size_t i = 0; i < here.inner.size(); ++i)
      tile->inner[i] = Union(tile->inner[i], here.inner[i]);
    return Ok();
  }

  Result<void> Cut(size_t d, const LinearForm& form, const IndexAnalysis& analysis) {
    const auto cut = [&](std::optional<VarId> var, std::optional<size_t>& dim) {
      const bool moves = var && analysis.DependsOn(form, *var);
      if (moves && !dim) dim = d;
      return !moves || dim == d;
    };
    const bool one = cut(run_var_, run_dim_) && cut(group_var_, group_dim_);
    return one ? Ok() : Result<void>(Fail("several of its dimensions move with one loop"));
  }

  // ---- the copy ----
  ExprId Emit(Builder& b, const LinearForm& base, const IndexAnalysis& analysis) {
    ExprId sum = b.Index(0);
    for (const auto& term : base.terms)
      sum = b.Add(sum, b.Mul(b.Use(analysis.atom(term.atom).var), term.coefficient));
    return sum;
  }

  Result<void> StageIn(Stmt& loop, IndexAnalysis& analysis) {
    std::optional<Tile> tile;
    const DType narrow = kernel_[buffer_].dtype;
    held_ = narrow == DType::kBF16 || narrow == DType::kF16 ? DType::kF32 : narrow;
    FM_RETURN_IF_ERROR(Gather(loop.body, analysis, tile));
    if (!tile) return Ok();
    staged_ = true;
    FM_TRY(const std::vector<int64_t> dims, LocalDims(*tile));
    Builder b(kernel_);
    const BufferId local = b.AddLocal(kernel_[buffer_].name + "_tile", held_, dims, space_);
    Block out = {b.Alloc(local)};
    Copy(b, *tile, local, analysis, out);
    if (space_ == Space::kShared) out.push_back(b.Barrier());
    Block body = std::move(loop.body);
    Redirect(b, body, *tile, local, analysis);
    out.insert(out.end(), body.begin(), body.end());
    if (space_ == Space::kShared) out.push_back(b.Barrier());
    loop.body = std::move(out);
    return Ok();
  }

  Result<std::vector<int64_t>> LocalDims(const Tile& tile) {
    if (run_ > 0 && !run_var_ && !tile.inner.empty()) run_dim_ = tile.inner.size() - 1;
    std::vector<int64_t> extents;
    for (const Range& range : tile.inner) {
      if (!range.bounded()) return Fail("an index inside is not bounded");
      extents.push_back(range.hi - range.lo + 1);
    }
    if (run_ > 0 && (!run_dim_ || extents[*run_dim_] % run_ != 0))
      return Fail(fmt::format("{} is no multiple of {}",
                              run_var_ ? "the dimension to cut" : "its last dimension", run_));
    if (group_ > 0 && (!group_dim_ || group_dim_ == run_dim_ || tile.inner[*group_dim_].lo != 0))
      return Fail("no dimension of its own is grouped");
    return Arranged<int64_t>(
        extents, [&](int64_t n) { return n / run_; }, [&](int64_t) { return run_; },
        [&](int64_t n) { return (n + group_ - 1) / group_; }, [&](int64_t) { return group_; });
  }

  // What stands for the dimensions of the operand, in the order of the local buffer.
  template <class T, class A, class B, class C, class D>
  std::vector<T> Arranged(const std::vector<T>& of, A run, B in_run, C group, D in_group) const {
    std::vector<T> result;
    if (run_dim_) result.push_back(run(of[*run_dim_]));
    for (size_t d = 0; d < of.size(); ++d) {
      if (d != run_dim_ && d != group_dim_) result.push_back(of[d]);
    }
    if (group_dim_) result.push_back(group(of[*group_dim_]));
    if (run_dim_) result.push_back(in_run(of[*run_dim_]));
    if (group_dim_) result.push_back(in_group(of[*group_dim_]));
    return result;
  }

  // Whole groups, then the elements of one that is not full.
  void Copy(Builder& b, const Tile& tile, BufferId local, IndexAnalysis& analysis, Block& out) {
    const auto extent = [&](size_t d) { return tile.inner[d].hi - tile.inner[d].lo + 1; };
    if (!group_dim_) return out.push_back(CopyLoops(b, tile, local, analysis, {}));
    const int64_t whole = extent(*group_dim_) / group_, rest = extent(*group_dim_) % group_;
    if (whole > 0) out.push_back(CopyLoops(b, tile, local, analysis, {0, whole, group_}));
    if (rest > 0) out.push_back(CopyLoops(b, tile, local, analysis, {whole, 1, rest}));
  }

  struct Groups {
    int64_t first = 0, count = 0, elements = 0;
  };

  Stmt CopyLoops(Builder& b, const Tile& tile, BufferId local, IndexAnalysis& analysis,
                 const Groups& groups) {
    const Buffer operand = kernel_[buffer_];
    std::vector<std::pair<VarId, int64_t>> loops;
    const size_t mark = analysis.Mark();
    const auto loop = [&](int64_t extent) {
      const VarId var = b.AddVar("t" + std::to_string(loops.size()));
      loops.emplace_back(var, extent);
      analysis.EnterLoop(var, extent);
      return b.Use(var);
    };
    std::vector<ExprId> at, from;
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      const int64_t extent = tile.inner[d].hi - tile.inner[d].lo + 1;
      if (d == run_dim_) {
        const ExprId run = loop(extent / run_);
        at.push_back(b.Add(b.Mul(run, run_), loop(run_)));
      } else if (d == group_dim_) {
        const ExprId group = b.Add(loop(groups.count), b.Index(groups.first));
        at.push_back(b.Mul(group, group_));
      } else {
        at.push_back(loop(extent));
      }
    }
    // The elements of a group are neighbours where they are written: that loop is the inner one.
    if (group_dim_) at[*group_dim_] = b.Add(at[*group_dim_], loop(groups.elements));
    ExprId inside;
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      const ExprId start = b.Add(Emit(b, tile.bases[d], analysis), b.Index(tile.inner[d].lo));
      from.push_back(b.Add(start, at[d]));
      // The tile may stand out of the operand where the reads inside are guarded.
      const Range range = analysis.RangeOf(from[d]);
      const auto guard = [&](ExprId condition) {
        inside = inside.valid() ? b.Binary(Op::kAnd, inside, condition) : condition;
      };
      if (range.lo < 0) guard(b.Compare(Direction::kGe, from[d], b.Index(0)));
      if (range.hi >= operand.dims[d])
        guard(b.Compare(Direction::kLt, from[d], b.Index(operand.dims[d])));
    }
    analysis.Release(mark);
    Stmt copy = b.Store(local, Places(b, at), b.Convert(b.Load(buffer_, from), held_));
    if (inside.valid()) copy = b.If(inside, {std::move(copy)});
    for (size_t d = loops.size(); d-- > 0;)
      copy = b.For(loops[d].first, loops[d].second, {std::move(copy)});
    return copy;
  }

  // Where in the local buffer the element of these indices, counted from the tile's first, is.
  std::vector<ExprId> Places(Builder& b, const std::vector<ExprId>& at) const {
    return Arranged<ExprId>(
        at, [&](ExprId i) { return b.Div(i, run_); }, [&](ExprId i) { return b.Mod(i, run_); },
        [&](ExprId i) { return b.Div(i, group_); }, [&](ExprId i) { return b.Mod(i, group_); });
  }

  void Redirect(Builder& b, Block& block, const Tile& tile, BufferId local,
                const IndexAnalysis& analysis) {
    for (Stmt& stmt : block) {
      for (ExprId& index : stmt.indices) index = Redirect(b, index, tile, local, analysis);
      if (stmt.value.valid()) stmt.value = Redirect(b, stmt.value, tile, local, analysis);
      Redirect(b, stmt.body, tile, local, analysis);
      Redirect(b, stmt.else_body, tile, local, analysis);
    }
  }

  ExprId Redirect(Builder& b, ExprId id, const Tile& tile, BufferId local,
                  const IndexAnalysis& analysis) {
    Expr expr = kernel_[id];
    const auto is_load = [&](const Expr& e) {
      return e.kind == ExprKind::kLoad && e.buffer == buffer_;
    };
    const bool converted = held_ != kernel_[buffer_].dtype && expr.kind == ExprKind::kUnary;
    if (converted && is_load(kernel_[expr.args[0]]))
      return Redirect(b, expr.args[0], tile, local, analysis);
    for (ExprId& arg : expr.args) arg = Redirect(b, arg, tile, local, analysis);
    if (is_load(expr)) {
      expr.buffer = local;
      expr.dtype = held_;
      for (size_t d = 0; d < expr.args.size(); ++d) {
        const ExprId start = b.Add(Emit(b, tile.bases[d], analysis), b.Index(tile.inner[d].lo));
        expr.args[d] = b.Sub(expr.args[d], start);
      }
      expr.args = Places(b, expr.args);
    }
    if (expr == kernel_[id]) return id;
    kernel_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  Kernel& kernel_;
  BufferId buffer_;
  VarId loop_;
  Space space_;
  int64_t run_ = 0, group_ = 0;
  std::optional<VarId> run_var_, group_var_;
  std::optional<size_t> run_dim_, group_dim_;
  DType held_ = DType::kF32;  // the type of the local buffer
  std::vector<VarId> fixed_;  // loops around, the staged one included
  bool staged_ = false;
};

}  // namespace

namespace {

Result<Stager> StagerOf(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId loop, LoopNamed(kernel, p.names[1]));
  for (const BufferId id : kernel.operands) {
    if (kernel[id].name == p.names[0])
      return Stager(kernel, id, loop, p.word == "shared" ? Space::kShared : Space::kStack);
  }
  return Invalid(fmt::format("there is no operand named {}", p.names[0]));
}

}  // namespace

Result<void> Stage(Kernel& kernel, const Primitive& p) {
  FM_TRY(Stager stager, StagerOf(kernel, p));
  stager.CutIntoRuns(p.factor);
  return stager.Run();
}

Result<void> Interleave(Kernel& kernel, const Primitive& p) {
  FM_TRY(Stager stager, StagerOf(kernel, p));
  FM_TRY(const VarId columns, LoopNamed(kernel, p.names[2]));
  FM_TRY(const VarId summed, LoopNamed(kernel, p.names[3]));
  int64_t group = 1;
  AnyStmt(kernel.body, [&](const Stmt& stmt) {
    if (stmt.kind == StmtKind::kFor && stmt.var == summed) group = std::max(group, stmt.extent);
    return false;
  });
  stager.CutIntoRuns(p.factor, columns);
  stager.CutIntoGroups(group, summed);
  return stager.Run();
}

}  // namespace fusemark::loops
