// prefetch: asks for what the next iteration of a loop reads of an operand while this one computes.
// prefetch_tile: asks at once for what an iteration will use at its end.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/loops/builder.h"
#include "compiler/loops/index_analysis.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

constexpr int64_t kLineBytes = 64;

// A load of an operand or a store to a result and the loops between it and the loop that shall
// prefetch.
struct Site {
  std::vector<ExprId> indices;
  std::vector<const Stmt*> loops;
};

class Prefetcher {
 public:
  Prefetcher(Kernel& kernel, BufferId buffer, VarId ahead)
      : kernel_(kernel), builder_(kernel), buffer_(buffer), ahead_(ahead) {}

  // Loops of the name that hold no loop to ask in stay as they are.
  Result<void> Ahead(VarId in) {
    bool any = false;
    FM_RETURN_IF_ERROR(ReplaceLoops(kernel_.body, ahead_, [&](Stmt outer) -> Result<Block> {
      FM_RETURN_IF_ERROR(ReplaceLoops(outer.body, in, [&](Stmt loop) -> Result<Block> {
        FM_TRY(Stmt fetch, NextRun(loop));
        loop.body.insert(loop.body.begin(), std::move(fetch));
        any = true;
        return Block{std::move(loop)};
      }));
      return Block{std::move(outer)};
    }));
    return any ? Ok() : Result<void>(Fail("it holds no loop " + kernel_[in].name));
  }

  Result<void> Tile() {
    return ReplaceLoops(kernel_.body, ahead_, [&](Stmt loop) -> Result<Block> {
      FM_TRY(Stmt fetch, OwnLines(loop));
      loop.body.insert(loop.body.begin(), std::move(fetch));
      return Block{std::move(loop)};
    });
  }

 private:
  Error Fail(const std::string& why) const {
    return Invalid(fmt::format("cannot prefetch %{} in loop {}: {}", kernel_[buffer_].name,
                               kernel_[ahead_].name, why));
  }

  bool FindIn(ExprId id, Site& site) const {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kLoad && expr.buffer == buffer_) {
      site.indices = expr.args;
      return true;
    }
    return std::any_of(expr.args.begin(), expr.args.end(),
                       [&](ExprId arg) { return FindIn(arg, site); });
  }

  bool FindIn(const Block& block, Site& site) const {
    for (const Stmt& stmt : block) {
      if (stmt.value.valid() && FindIn(stmt.value, site)) return true;
      if (stmt.kind == StmtKind::kStore && stmt.buffer == buffer_) {
        site.indices = stmt.indices;
        return true;
      }
      if (stmt.kind != StmtKind::kFor) continue;
      site.loops.push_back(&stmt);
      if (FindIn(stmt.body, site)) return true;
      site.loops.pop_back();
    }
    return false;
  }

  Result<Site> SiteIn(const Stmt& loop) {
    Site site;
    if (!FindIn(loop.body, site) || site.indices.empty()) return Fail("it is not used inside");
    if (BindsUsed(loop.body, site)) return Fail("an index is computed inside");
    return site;
  }

  bool Walks(const Site& site, const Stmt& loop) const {
    return std::any_of(site.indices.begin(), site.indices.end(),
                       [&](ExprId index) { return UsesVar(kernel_, index, loop.var); });
  }

  int64_t ElementsOfLine() const { return kLineBytes / ByteSize(kernel_[buffer_].dtype); }

  // One element per line of what the loops inside of `loop` read, an iteration of `ahead_` later.
  Result<Stmt> NextRun(const Stmt& loop) {
    FM_TRY(const Site site, SiteIn(loop));
    const Stmt* along = nullptr;
    Substitution later;
    for (const Stmt* inner : site.loops) {
      if (inner->extent == 1) {
        later.vars[inner->var] = builder_.Index(0);
        continue;
      }
      const bool used = Walks(site, *inner);
      if (used && along != nullptr) return Fail("more than one loop walks along it");
      if (used) along = inner;
    }
    const int64_t line = ElementsOfLine();
    later.vars[ahead_] = builder_.Add(builder_.Use(ahead_), builder_.Index(1));
    if (along == nullptr) return Asked(site, later);
    const VarId var = builder_.SameVar("pf");
    later.vars[along->var] = builder_.Mul(builder_.Use(var), line);
    Stmt fetch = Asked(site, later);
    const int64_t lines = (along->extent + line - 1) / line;
    return builder_.For(var, lines, {std::move(fetch)}, LoopKind::kUnroll);
  }

  // Every line that the loops inside of `loop` use: vectors lie along the lines.
  Result<Stmt> OwnLines(const Stmt& loop) {
    FM_TRY(const Site site, SiteIn(loop));
    Substitution here;
    std::vector<std::pair<VarId, int64_t>> loops;
    for (const Stmt* inner : site.loops) {
      if (!Walks(site, *inner)) continue;
      const int64_t step = inner->loop == LoopKind::kVector ? ElementsOfLine() : 1;
      const int64_t extent = (inner->extent + step - 1) / step;
      if (extent == 1) {
        here.vars[inner->var] = builder_.Index(0);
        continue;
      }
      loops.emplace_back(builder_.SameVar("pf" + std::to_string(loops.size())), extent);
      here.vars[inner->var] = builder_.Mul(builder_.Use(loops.back().first), step);
    }
    Stmt fetch = Asked(site, here);
    for (size_t i = loops.size(); i-- > 0;)
      fetch = builder_.For(loops[i].first, loops[i].second, {std::move(fetch)}, LoopKind::kUnroll);
    return fetch;
  }

  Stmt Asked(const Site& site, const Substitution& later) {
    std::vector<ExprId> indices;
    for (const ExprId index : site.indices) indices.push_back(Substitute(kernel_, index, later));
    return builder_.Prefetch(buffer_, std::move(indices));
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
  BufferId buffer_;
  VarId ahead_;
};

Result<BufferId> OperandOrResult(const Kernel& kernel, const std::string& name) {
  for (const auto* ids : {&kernel.operands, &kernel.results}) {
    for (const BufferId id : *ids) {
      if (kernel[id].name == name) return id;
    }
  }
  return Invalid(fmt::format("there is no operand or result named {}", name));
}

}  // namespace

Result<void> Prefetch(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId ahead, LoopNamed(kernel, p.names[1]));
  FM_TRY(const VarId in, LoopNamed(kernel, p.names[2]));
  FM_TRY(const BufferId buffer, OperandOrResult(kernel, p.names[0]));
  return Prefetcher(kernel, buffer, ahead).Ahead(in);
}

Result<void> PrefetchTile(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId loop, LoopNamed(kernel, p.names[1]));
  FM_TRY(const BufferId buffer, OperandOrResult(kernel, p.names[0]));
  return Prefetcher(kernel, buffer, loop).Tile();
}

}  // namespace fusemark::loops
