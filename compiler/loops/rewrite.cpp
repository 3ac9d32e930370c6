#include "compiler/loops/rewrite.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fusemark::loops {

ExprId Substitute(Kernel& kernel, ExprId id, const Substitution& with) {
  Expr expr = kernel[id];  // a copy: the arena grows below
  bool changed = false;
  if (expr.kind == ExprKind::kVar) {
    const auto found = with.vars.find(expr.var);
    return found == with.vars.end() ? id : found->second;
  }
  for (ExprId& arg : expr.args) {
    const ExprId replaced = Substitute(kernel, arg, with);
    changed |= replaced != arg;
    arg = replaced;
  }
  if (expr.kind == ExprKind::kLoad) {
    const auto found = with.buffers.find(expr.buffer);
    if (found != with.buffers.end()) {
      expr.buffer = found->second.buffer;
      expr.args.insert(expr.args.begin(), found->second.prefix.begin(), found->second.prefix.end());
      changed = true;
    }
  }
  if (!changed) return id;
  kernel.exprs.push_back(std::move(expr));
  return {static_cast<uint32_t>(kernel.exprs.size() - 1)};
}

void Substitute(Kernel& kernel, Block& block, const Substitution& with) {
  for (Stmt& stmt : block) {
    for (ExprId& index : stmt.indices) index = Substitute(kernel, index, with);
    if (stmt.value.valid()) stmt.value = Substitute(kernel, stmt.value, with);
    const bool accesses = stmt.kind == StmtKind::kStore || stmt.kind == StmtKind::kPrefetch;
    if (accesses || stmt.kind == StmtKind::kAlloc) {
      const auto found = with.buffers.find(stmt.buffer);
      if (found != with.buffers.end()) {
        stmt.buffer = found->second.buffer;
        if (accesses)
          stmt.indices.insert(stmt.indices.begin(), found->second.prefix.begin(),
                              found->second.prefix.end());
      }
    }
    Substitute(kernel, stmt.body, with);
    Substitute(kernel, stmt.else_body, with);
  }
}

bool UsesVar(const Kernel& kernel, ExprId id, VarId var) {
  const Expr& expr = kernel[id];
  if (expr.kind == ExprKind::kVar) return expr.var == var;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](ExprId arg) { return UsesVar(kernel, arg, var); });
}

bool SameExpr(const Kernel& kernel, ExprId a, ExprId b) {
  if (a == b) return true;
  Expr ea = kernel[a], eb = kernel[b];
  if (ea.args.size() != eb.args.size()) return false;
  for (size_t i = 0; i < ea.args.size(); ++i) {
    if (!SameExpr(kernel, ea.args[i], eb.args[i])) return false;
  }
  ea.args.clear();
  eb.args.clear();
  return ea == eb;
}

bool AnyLoad(const Kernel& kernel, ExprId id, const std::function<bool(const Expr&)>& predicate) {
  const Expr& expr = kernel[id];
  if (expr.kind == ExprKind::kLoad && predicate(expr)) return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](ExprId arg) { return AnyLoad(kernel, arg, predicate); });
}

bool AnyStmt(const Block& block, const std::function<bool(const Stmt&)>& predicate) {
  return std::any_of(block.begin(), block.end(), [&](const Stmt& stmt) {
    return predicate(stmt) || AnyStmt(stmt.body, predicate) || AnyStmt(stmt.else_body, predicate);
  });
}

void ForEachRoot(const Block& block, const std::function<void(ExprId)>& visit) {
  for (const Stmt& stmt : block) {
    for (const ExprId index : stmt.indices) visit(index);
    if (stmt.value.valid()) visit(stmt.value);
    ForEachRoot(stmt.body, visit);
    ForEachRoot(stmt.else_body, visit);
  }
}

std::optional<VarId> FindVar(const Kernel& kernel, std::string_view name) {
  for (uint32_t i = 0; i < kernel.vars.size(); ++i) {
    if (kernel.vars[i].name == name) return VarId{i};
  }
  return std::nullopt;
}

Result<void> ReplaceLoops(Block& block, VarId var,
                          const std::function<Result<Block>(Stmt loop)>& transform) {
  Block out;
  for (Stmt& stmt : block) {
    if (stmt.kind == StmtKind::kFor && stmt.var == var) {
      FM_TRY(Block replaced, transform(std::move(stmt)));
      std::move(replaced.begin(), replaced.end(), std::back_inserter(out));
      continue;
    }
    FM_RETURN_IF_ERROR(ReplaceLoops(stmt.body, var, transform));
    FM_RETURN_IF_ERROR(ReplaceLoops(stmt.else_body, var, transform));
    out.push_back(std::move(stmt));
  }
  block = std::move(out);
  return Ok();
}

namespace {

// Walks backwards and counts the reads between a let and the end of its scope. A name may be bound
// again in another scope: its reads are used up by the let that they belong to.
class DeadLets {
 public:
  explicit DeadLets(Kernel& kernel) : kernel_(kernel) {
    reads_.resize(kernel.vars.size(), 0);
    Prune(kernel.body);
  }

 private:
  void Count(ExprId id) {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kVar) ++reads_[expr.var.index];
    for (const ExprId arg : expr.args) Count(arg);
  }

  void Prune(Block& block) {
    Block kept;
    for (size_t i = block.size(); i-- > 0;) {
      Stmt& stmt = block[i];
      if (stmt.kind == StmtKind::kLet && std::exchange(reads_[stmt.var.index], 0) == 0) continue;
      Prune(stmt.else_body);
      Prune(stmt.body);
      for (const ExprId index : stmt.indices) Count(index);
      if (stmt.value.valid()) Count(stmt.value);
      kept.push_back(std::move(stmt));
    }
    std::reverse(kept.begin(), kept.end());
    block = std::move(kept);
  }

  Kernel& kernel_;
  std::vector<int> reads_;
};

}  // namespace

void RemoveDeadLets(Kernel& kernel) {
  DeadLets{kernel};
}

}  // namespace fusemark::loops
