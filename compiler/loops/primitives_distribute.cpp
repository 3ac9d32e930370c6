// distribute: scalar expansion and loop fission around reductions. From
//   for i { alloc acc[]; acc = 0; for k reduces { acc += ... }; store acc }
// it makes
//   alloc acc[i]; for i { acc[i] = 0 }; for k reduces { for i { acc[i] += ... } }; for i { store }
// which, applied to both tile loops of a contraction, is its register tile.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

bool IsReduction(const Stmt& stmt) {
  return stmt.kind == StmtKind::kFor && stmt.reduces;
}

bool HasReduction(const Block& block) {
  return std::any_of(block.begin(), block.end(), IsReduction);
}

class Distributor {
 public:
  Distributor(Kernel& kernel, VarId var) : kernel_(kernel), builder_(kernel), var_(var) {}

  Result<Block> operator()(Stmt loop) {
    if (loop.reduces) return Fail("its iterations carry a value");
    if (AnyStmt(loop.body, [](const Stmt& s) { return s.kind == StmtKind::kBarrier; }))
      return Fail("it holds a barrier");
    const bool branch = loop.body.size() == 1 && loop.body[0].kind == StmtKind::kIf &&
                        !UsesVar(kernel_, loop.body[0].value, var_);
    if (branch) return Unswitch(std::move(loop));
    if (!HasReduction(loop.body)) return Fail("no reduction stands directly inside");
    if (loop.loop == LoopKind::kParallel || loop.loop == LoopKind::kBlock)
      return Fail("it is the parallel loop");
    return Split(std::move(loop));
  }

 private:
  Error Fail(std::string_view why) const {
    return Invalid(fmt::format("cannot distribute loop {}: {}", kernel_[var_].name, why));
  }

  Result<Block> Unswitch(Stmt loop) {
    Stmt branch = std::move(loop.body[0]);
    for (Block* side : {&branch.body, &branch.else_body}) {
      if (side->empty()) continue;
      Stmt copy{.kind = StmtKind::kFor, .loop = loop.loop, .var = loop.var, .extent = loop.extent};
      copy.body = std::move(*side);
      FM_TRY(*side, (*this)(std::move(copy)));
    }
    return Block{std::move(branch)};
  }

  // A let that any group may compute again for itself.
  bool IsPure(ExprId value) const {
    return !AnyLoad(kernel_, value, [this](const Expr& load) {
      return kernel_[load.buffer].space != Space::kOperand;
    });
  }

  Stmt Around(const Stmt& loop, Block body) {
    return builder_.For(loop.var, loop.extent, std::move(body), loop.loop, false);
  }

  // Local buffers of the body get one element per iteration.
  Block Expand(Stmt& loop) {
    Block allocs, rest;
    Substitution expansion;
    for (Stmt& stmt : loop.body) {
      if (stmt.kind != StmtKind::kAlloc) {
        rest.push_back(std::move(stmt));
        continue;
      }
      const Buffer old = kernel_[stmt.buffer];
      std::vector<int64_t> dims = old.dims;
      dims.insert(dims.begin(), loop.extent);
      const BufferId wide = builder_.AddLocal(old.name, old.dtype, dims, old.space);
      expansion.buffers[stmt.buffer] = {wide, {builder_.Use(var_)}};
      allocs.push_back(builder_.Alloc(wide));
    }
    Substitute(kernel_, rest, expansion);
    loop.body = std::move(rest);
    return allocs;
  }

  // An impure let goes through a buffer: stored where it was, read again by the later groups.
  Stmt SaveLet(const Stmt& let, int64_t extent, Block& allocs, Block& prelude) {
    const Var var = kernel_[let.var];
    const BufferId saved = builder_.AddLocal(var.name, var.dtype, {extent}, Space::kRegister);
    allocs.push_back(builder_.Alloc(saved));
    prelude.push_back(builder_.Let(let.var, builder_.Load(saved, {builder_.Use(var_)})));
    return builder_.Store(saved, {builder_.Use(var_)}, builder_.Use(let.var));
  }

  // Read after the next reduction, that is, in another group? Also through a let of its own group
  // that is.
  bool UsedInLaterGroup(const Block& body, size_t let, VarId var) const {
    const auto next =
        std::find_if(body.begin() + static_cast<std::ptrdiff_t>(let), body.end(), IsReduction);
    bool used = false;
    ForEachRoot(Block(next, body.end()), [&](ExprId root) { used |= UsesVar(kernel_, root, var); });
    for (size_t i = let + 1; !used && body.begin() + static_cast<std::ptrdiff_t>(i) < next; ++i) {
      const Stmt& other = body[i];
      used = other.kind == StmtKind::kLet && UsesVar(kernel_, other.value, var) &&
             UsedInLaterGroup(body, i, other.var);
    }
    return used;
  }

  Result<Block> Split(Stmt loop) {
    Block out = Expand(loop);
    Block statements, prelude, group;  // prelude: the lets of the groups before
    const auto flush = [&] {
      if (!group.empty()) statements.push_back(Around(loop, Joined(prelude_before_, group)));
      group.clear();
      prelude_before_ = prelude;
    };
    prelude_before_.clear();
    for (size_t i = 0; i < loop.body.size(); ++i) {
      Stmt& stmt = loop.body[i];
      if (IsReduction(stmt)) {
        flush();
        FM_TRY(Stmt moved, MoveInto(loop, std::move(stmt), prelude));
        statements.push_back(std::move(moved));
        continue;
      }
      group.push_back(stmt);
      if (stmt.kind != StmtKind::kLet || !UsedInLaterGroup(loop.body, i, stmt.var)) continue;
      if (IsPure(stmt.value)) {
        prelude.push_back(stmt);
      } else {
        group.push_back(SaveLet(stmt, loop.extent, out, prelude));
      }
    }
    flush();
    std::move(statements.begin(), statements.end(), std::back_inserter(out));
    return out;
  }

  static Block Joined(const Block& first, const Block& second) {
    Block both = first;
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }

  // for var { for k reduces B } -> for k reduces { for var B }, further in where B reduces too.
  Result<Stmt> MoveInto(const Stmt& loop, Stmt reduction, const Block& prelude) {
    Stmt inner = Around(loop, Joined(prelude, reduction.body));
    if (HasReduction(reduction.body)) {
      Distributor deeper(kernel_, var_);
      FM_TRY(reduction.body, deeper(std::move(inner)));
    } else {
      reduction.body = {std::move(inner)};
    }
    return reduction;
  }

  Kernel& kernel_;
  Builder builder_;
  VarId var_;
  Block prelude_before_;  // the lets made before the open group
};

}  // namespace

Result<void> Distribute(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId var, LoopNamed(kernel, p.names[0]));
  FM_RETURN_IF_ERROR(ReplaceLoops(kernel.body, var, [&](Stmt loop) -> Result<Block> {
    return Distributor(kernel, var)(std::move(loop));
  }));
  RemoveDeadLets(kernel);
  return Ok();
}

}  // namespace fusemark::loops
