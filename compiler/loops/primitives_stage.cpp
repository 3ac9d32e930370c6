// stage, pack: the part of an operand that one iteration of a loop reads, copied to a local buffer
// first.
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
  // `run` > 0: the last dimension is cut into runs of so many elements (pack).
  Stager(Kernel& kernel, BufferId buffer, VarId loop, Space space, int64_t run)
      : kernel_(kernel), buffer_(buffer), loop_(loop), space_(space), run_(run) {}

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
        FM_RETURN_IF_ERROR(GatherLoads(index, analysis, tile));
      }
      if (stmt.value.valid()) {
        FM_RETURN_IF_ERROR(GatherLoads(stmt.value, analysis, tile));
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

  Result<void> GatherLoads(ExprId id, IndexAnalysis& analysis, std::optional<Tile>& tile) {
    const Expr expr = kernel_[id];
    for (const ExprId arg : expr.args) {
      FM_RETURN_IF_ERROR(GatherLoads(arg, analysis, tile));
    }
    if (expr.kind != ExprKind::kLoad || expr.buffer != buffer_) return Ok();
    Tile here;
    for (const ExprId index : expr.args) {
      LinearForm base, inner;
      const LinearForm form = analysis.FormOf(index);
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

  // ---- the copy ----
  ExprId Emit(Builder& b, const LinearForm& base, const IndexAnalysis& analysis) {
    ExprId sum = b.Index(0);
    for (const auto& term : base.terms)
      sum = b.Add(sum, b.Mul(b.Use(analysis.atom(term.atom).var), term.coefficient));
    return sum;
  }

  Result<void> StageIn(Stmt& loop, IndexAnalysis& analysis) {
    std::optional<Tile> tile;
    FM_RETURN_IF_ERROR(Gather(loop.body, analysis, tile));
    if (!tile) return Ok();
    staged_ = true;
    std::vector<int64_t> dims;
    for (const Range& range : tile->inner) {
      if (!range.bounded()) return Fail("an index inside is not bounded");
      dims.push_back(range.hi - range.lo + 1);
    }
    if (run_ > 0 && (dims.empty() || dims.back() % run_ != 0))
      return Fail(fmt::format("its last dimension is no multiple of {}", run_));
    if (run_ > 0) {
      dims.insert(dims.begin(), dims.back() / run_);
      dims.back() = run_;
    }
    Builder b(kernel_);
    const Buffer operand = kernel_[buffer_];
    const BufferId local = b.AddLocal(operand.name + "_tile", operand.dtype, dims, space_);
    Block out = {b.Alloc(local), CopyLoops(b, *tile, local, analysis)};
    if (space_ == Space::kShared) out.push_back(b.Barrier());
    Block body = std::move(loop.body);
    Redirect(b, body, *tile, local, analysis);
    out.insert(out.end(), body.begin(), body.end());
    if (space_ == Space::kShared) out.push_back(b.Barrier());
    loop.body = std::move(out);
    return Ok();
  }

  Stmt CopyLoops(Builder& b, const Tile& tile, BufferId local, IndexAnalysis& analysis) {
    const Buffer operand = kernel_[buffer_];
    const size_t rank = operand.dims.size();
    std::vector<std::pair<VarId, int64_t>> loops;
    std::vector<ExprId> from, to;
    ExprId inside;
    const size_t mark = analysis.Mark();
    const auto loop = [&](int64_t extent) {
      const VarId var = b.AddVar("t" + std::to_string(loops.size()));
      loops.emplace_back(var, extent);
      analysis.EnterLoop(var, extent);
      return var;
    };
    for (size_t d = 0; d < rank; ++d) {
      const int64_t extent = tile.inner[d].hi - tile.inner[d].lo + 1;
      ExprId position;
      if (run_ > 0 && d + 1 == rank) {
        const VarId run = loop(extent / run_), element = loop(run_);
        position = b.Add(b.Mul(b.Use(run), run_), b.Use(element));
        to.insert(to.begin(), b.Use(run));
        to.push_back(b.Use(element));
      } else {
        const VarId var = loop(extent);
        position = b.Use(var);
        to.push_back(b.Use(var));
      }
      const ExprId start = b.Add(Emit(b, tile.bases[d], analysis), b.Index(tile.inner[d].lo));
      from.push_back(b.Add(start, position));
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
    Stmt copy = b.Store(local, to, b.Load(buffer_, from));
    if (inside.valid()) copy = b.If(inside, {std::move(copy)});
    for (size_t d = loops.size(); d-- > 0;)
      copy = b.For(loops[d].first, loops[d].second, {std::move(copy)});
    return copy;
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
    for (ExprId& arg : expr.args) arg = Redirect(b, arg, tile, local, analysis);
    if (expr.kind == ExprKind::kLoad && expr.buffer == buffer_) {
      expr.buffer = local;
      for (size_t d = 0; d < expr.args.size(); ++d) {
        const ExprId start = b.Add(Emit(b, tile.bases[d], analysis), b.Index(tile.inner[d].lo));
        expr.args[d] = b.Sub(expr.args[d], start);
      }
      if (run_ > 0) {
        const ExprId last = expr.args.back();
        expr.args.back() = b.Mod(last, run_);
        expr.args.insert(expr.args.begin(), b.Div(last, run_));
      }
    }
    if (expr == kernel_[id]) return id;
    kernel_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  Kernel& kernel_;
  BufferId buffer_;
  VarId loop_;
  Space space_;
  int64_t run_;
  std::vector<VarId> fixed_;  // loops around, the staged one included
  bool staged_ = false;
};

}  // namespace

Result<void> Stage(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId loop, LoopNamed(kernel, p.names[1]));
  for (const BufferId id : kernel.operands) {
    if (kernel[id].name != p.names[0]) continue;
    const Space space = p.word == "shared" ? Space::kShared : Space::kStack;
    return Stager(kernel, id, loop, space, p.factor).Run();
  }
  return Invalid(fmt::format("there is no operand named {}", p.names[0]));
}

}  // namespace fusemark::loops
