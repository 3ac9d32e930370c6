// Rewriting of statements and expressions: substitution of variables and buffers, and questions
// about what a statement contains. The expression arena only grows; old ids stay valid, so copies
// of statements may share expressions. Dead lets are removed here too.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

struct Substitution {
  struct Target {
    BufferId buffer;
    std::vector<ExprId> prefix;  // new leading indices
  };
  std::map<VarId, ExprId> vars;
  std::map<BufferId, Target> buffers;  // in loads, stores and allocs
};

ExprId Substitute(Kernel& kernel, ExprId expr, const Substitution& with);
void Substitute(Kernel& kernel, Block& block, const Substitution& with);

bool UsesVar(const Kernel& kernel, ExprId expr, VarId var);
// Same tree, the variables and buffers by identity.
bool SameExpr(const Kernel& kernel, ExprId a, ExprId b);
// Some load of `buffer`, or one for which the predicate holds.
bool AnyLoad(const Kernel& kernel, ExprId expr, const std::function<bool(const Expr&)>& predicate);
bool AnyStmt(const Block& block, const std::function<bool(const Stmt&)>& predicate);
// Calls for every expression root: indices, values, conditions.
void ForEachRoot(const Block& block, const std::function<void(ExprId)>& visit);

// The variable of a name, or nothing.
std::optional<VarId> FindVar(const Kernel& kernel, std::string_view name);

// Replaces every loop that carries `var` by the statements `transform` makes of it. Loops inside
// the replacement are not visited again.
Result<void> ReplaceLoops(Block& block, VarId var,
                          const std::function<Result<Block>(Stmt loop)>& transform);

// Lets are pure: those that nobody reads go.
void RemoveDeadLets(Kernel& kernel);

}  // namespace fusemark::loops
