// prefetch: asks for what the next iteration of a loop reads of an operand while this one computes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/loops/builder.h"
#include "compiler/loops/index_analysis.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

constexpr int64_t kLineBytes = 64;

// A load of the operand and the loops between it and the loop that shall prefetch.
struct Site {
  std::vector<ExprId> indices;
  std::vector<const Stmt*> loops;
};

class Prefetcher {
 public:
  Prefetcher(Kernel& kernel, BufferId operand, VarId ahead, VarId in)
      : kernel_(kernel), builder_(kernel), operand_(operand), ahead_(ahead), in_(in) {}

  // Loops of the name that hold no loop to ask in stay as they are.
  Result<void> Run() {
    bool any = false;
    FM_RETURN_IF_ERROR(ReplaceLoops(kernel_.body, ahead_, [&](Stmt outer) -> Result<Block> {
      FM_RETURN_IF_ERROR(ReplaceLoops(outer.body, in_, [&](Stmt loop) -> Result<Block> {
        FM_TRY(Stmt fetch, Fetch(loop));
        loop.body.insert(loop.body.begin(), std::move(fetch));
        any = true;
        return Block{std::move(loop)};
      }));
      return Block{std::move(outer)};
    }));
    return any ? Ok() : Result<void>(Fail("it holds no loop " + kernel_[in_].name));
  }

 private:
  Error Fail(const std::string& why) const {
    return Invalid(fmt::format("cannot prefetch %{} in loop {}: {}", kernel_[operand_].name,
                               kernel_[ahead_].name, why));
  }

  bool FindIn(ExprId id, Site& site) const {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kLoad && expr.buffer == operand_) {
      site.indices = expr.args;
      return true;
    }
    return std::any_of(expr.args.begin(), expr.args.end(),
                       [&](ExprId arg) { return FindIn(arg, site); });
  }

  bool FindIn(const Block& block, Site& site) const {
    for (const Stmt& stmt : block) {
      if (stmt.value.valid() && FindIn(stmt.value, site)) return true;
      if (stmt.kind != StmtKind::kFor) continue;
      site.loops.push_back(&stmt);
      if (FindIn(stmt.body, site)) return true;
      site.loops.pop_back();
    }
    return false;
  }

  // One element per line of what the loops inside of `loop` read, an iteration of `ahead_` later.
  Result<Stmt> Fetch(const Stmt& loop) {
    Site site;
    if (!FindIn(loop.body, site) || site.indices.empty()) return Fail("it is not read inside");
    const Stmt* along = nullptr;
    Substitution later;
    for (const Stmt* inner : site.loops) {
      if (inner->extent == 1) {
        later.vars[inner->var] = builder_.Index(0);
        continue;
      }
      const bool used = std::any_of(site.indices.begin(), site.indices.end(), [&](ExprId index) {
        return UsesVar(kernel_, index, inner->var);
      });
      if (used && along != nullptr) return Fail("more than one loop walks along it");
      if (used) along = inner;
    }
    if (BindsUsed(loop.body, site)) return Fail("an index is computed inside");
    const int64_t line = kLineBytes / ByteSize(kernel_[operand_].dtype);
    later.vars[ahead_] = builder_.Add(builder_.Use(ahead_), builder_.Index(1));
    if (along == nullptr) return Asked(site, later);
    const VarId var = builder_.SameVar("pf");
    later.vars[along->var] = builder_.Mul(builder_.Use(var), line);
    Stmt fetch = Asked(site, later);
    const int64_t lines = (along->extent + line - 1) / line;
    return builder_.For(var, lines, {std::move(fetch)}, LoopKind::kUnroll);
  }

  Stmt Asked(const Site& site, const Substitution& later) {
    std::vector<ExprId> indices;
    for (const ExprId index : site.indices) indices.push_back(Substitute(kernel_, index, later));
    return builder_.Prefetch(operand_, std::move(indices));
  }

  bool BindsUsed(const Block& block, const Site& site) const {
    return AnyStmt(block, [&](const Stmt& stmt) {
      return stmt.kind == StmtKind::kLet &&
             std::any_of(site.indices.begin(), site.indices.end(),
                         [&](ExprId index) { return UsesVar(kernel_, index, stmt.var); });
    });
  }

  Kernel& kernel_;
  Builder builder_;
  BufferId operand_;
  VarId ahead_, in_;
};

}  // namespace

Result<void> Prefetch(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId ahead, LoopNamed(kernel, p.names[1]));
  FM_TRY(const VarId in, LoopNamed(kernel, p.names[2]));
  for (const BufferId id : kernel.operands) {
    if (kernel[id].name == p.names[0]) return Prefetcher(kernel, id, ahead, in).Run();
  }
  return Invalid(fmt::format("there is no operand named {}", p.names[0]));
}

}  // namespace fusemark::loops
