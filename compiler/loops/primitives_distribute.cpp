// distribute: scalar expansion and loop fission around reductions. From
//   for i { alloc acc[]; acc = 0; for k reduces { acc += ... }; store acc }
// it makes
//   alloc acc[i]; for i { acc[i] = 0 }; for k reduces { for i { acc[i] += ... } }; for i { store }
// which, applied to both tile loops of a contraction, is its register tile. A loop moves past one
// reduction at a time: where another one stands inside of it, what is carried from block to block
// of a deep sum stays outside, in local memory, and the next step moves on inward.
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

  // Loops of the name that hold no reduction stay as they are: fission leaves such ones behind.
  Result<Block> operator()(Stmt loop) {
    if (loop.reduces) return Fail("its iterations carry a value");
    if (AnyStmt(loop.body, [](const Stmt& s) { return s.kind == StmtKind::kBarrier; }))
      return Fail("it holds a barrier");
    const bool branch = loop.body.size() == 1 && loop.body[0].kind == StmtKind::kIf &&
                        !UsesVar(kernel_, loop.body[0].value, var_);
    if (branch) return Unswitch(std::move(loop));
    if (!HasReduction(loop.body)) return Block{std::move(loop)};
    if (loop.loop == LoopKind::kParallel || loop.loop == LoopKind::kBlock)
      return Fail("it is the parallel loop");
    moved_ = true;
    return Split(std::move(loop));
  }
  bool moved() const { return moved_; }

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

  // More than any register file holds is a tile in memory.
  static Space SpaceOf(const Buffer& old, const std::vector<int64_t>& dims) {
    constexpr int64_t kMostRegisterBytes = 4096;
    int64_t bytes = ByteSize(old.dtype);
    for (const int64_t dim : dims) bytes *= dim;
    const bool small = old.space != Space::kRegister || bytes <= kMostRegisterBytes;
    return small ? old.space : Space::kStack;
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
      const BufferId wide = builder_.AddLocal(old.name, old.dtype, dims, SpaceOf(old, dims));
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
        stmt.body = {Around(loop, Joined(prelude, stmt.body))};
        statements.push_back(std::move(stmt));
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

  Kernel& kernel_;
  Builder builder_;
  VarId var_;
  Block prelude_before_;  // the lets made before the open group
  bool moved_ = false;
};

}  // namespace

Result<void> Distribute(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId var, LoopNamed(kernel, p.names[0]));
  bool moved = false;
  FM_RETURN_IF_ERROR(ReplaceLoops(kernel.body, var, [&](Stmt loop) -> Result<Block> {
    Distributor distribute(kernel, var);
    auto result = distribute(std::move(loop));
    moved |= distribute.moved();
    return result;
  }));
  if (!moved) {
    return Invalid(fmt::format("cannot distribute loop {}: no reduction stands directly inside",
                               kernel[var].name));
  }
  RemoveDeadLets(kernel);
  return Ok();
}

}  // namespace fusemark::loops
