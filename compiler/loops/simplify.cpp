#include "compiler/loops/simplify.h"

#include <algorithm>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/index_analysis.h"
#include "compiler/loops/print.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

class Simplifier {
 public:
  explicit Simplifier(Kernel& kernel) : kernel_(kernel), builder_(kernel), analysis_(kernel) {}

  void Run() {
    Block out;
    for (const Phase& phase : PhasesOf(kernel_)) {
      const size_t mark = analysis_.Mark();
      around_ = &kernel_.body;
      for (size_t i = phase.begin; i < phase.end; ++i) Statement(kernel_.body[i], out);
      analysis_.Release(mark);
    }
    kernel_.body = std::move(out);
  }

 private:
  Block Body(const Block& block) {
    const size_t mark = analysis_.Mark();
    const Block* const around = std::exchange(around_, &block);
    Block out;
    for (const Stmt& stmt : block) Statement(stmt, out);
    around_ = around;
    analysis_.Release(mark);
    return out;
  }

  // The statements of a block that dissolves into the one around it.
  void Dissolve(const Block& block, Block& out) {
    for (const Stmt& stmt : block) Statement(stmt, out);
  }

  static int CountBindings(const Block& block, const Stmt& name) {
    int count = 0;
    for (const Stmt& stmt : block) {
      const bool same =
          stmt.kind == name.kind && stmt.var == name.var && stmt.buffer == name.buffer;
      count += same ? 1 : 0;
      count += CountBindings(stmt.body, name) + CountBindings(stmt.else_body, name);
    }
    return count;
  }

  // A let or alloc that leaves its branch reaches to the end of the enclosing block: it must not
  // meet another one of the same name there.
  bool MayLeave(const Stmt& branch, const Block& taken) const {
    return std::all_of(taken.begin(), taken.end(), [&](const Stmt& stmt) {
      if (stmt.kind != StmtKind::kLet && stmt.kind != StmtKind::kAlloc) return true;
      const int inside = CountBindings(branch.body, stmt) + CountBindings(branch.else_body, stmt);
      return CountBindings(*around_, stmt) == inside;
    });
  }

  void Statement(const Stmt& stmt, Block& out) {
    switch (stmt.kind) {
      case StmtKind::kFor: return For(stmt, out);
      case StmtKind::kIf: return If(stmt, out);
      case StmtKind::kAlloc:
      case StmtKind::kBarrier: out.push_back(stmt); return;
      case StmtKind::kLet:
      case StmtKind::kPrefetch:
      case StmtKind::kStore: break;
    }
    Stmt simple = stmt;
    for (ExprId& index : simple.indices) index = Expression(index);
    if (simple.value.valid()) simple.value = Expression(simple.value);
    if (stmt.kind == StmtKind::kLet) analysis_.Bind(stmt.var, simple.value);
    out.push_back(std::move(simple));
  }

  void For(const Stmt& stmt, Block& out) {
    if (stmt.extent == 0) return;
    const bool grid = stmt.loop == LoopKind::kBlock || stmt.loop == LoopKind::kThread;
    if (stmt.extent == 1 && !grid && MayLeave(stmt, stmt.body)) {
      const size_t once = analysis_.Mark();
      analysis_.Bind(stmt.var, builder_.Index(0));
      Dissolve(stmt.body, out);
      analysis_.Release(once);
      return;
    }
    const size_t mark = analysis_.Mark();
    analysis_.EnterLoop(stmt.var, stmt.extent);
    Stmt loop{.kind = StmtKind::kFor, .loop = stmt.loop, .reduces = stmt.reduces, .var = stmt.var};
    loop.extent = stmt.extent;
    loop.body = Body(stmt.body);
    analysis_.Release(mark);
    if (!loop.body.empty()) out.push_back(std::move(loop));
  }

  void If(const Stmt& stmt, Block& out) {
    const ExprId condition = Expression(stmt.value);
    const auto decided = analysis_.Decide(condition);
    if (decided && MayLeave(stmt, *decided ? stmt.body : stmt.else_body)) {
      Dissolve(*decided ? stmt.body : stmt.else_body, out);
      return;
    }
    Stmt branch{.kind = StmtKind::kIf};
    branch.value = condition;
    for (const bool taken : {true, false}) {
      const size_t mark = analysis_.Mark();
      analysis_.Assume(condition, taken);
      (taken ? branch.body : branch.else_body) = Body(taken ? stmt.body : stmt.else_body);
      analysis_.Release(mark);
    }
    if (branch.body.empty() && branch.else_body.empty()) return;
    out.push_back(std::move(branch));
  }

  // ---- expressions ----
  ExprId Expression(ExprId id) {
    const Expr expr = kernel_[id];
    if (expr.dtype == DType::kPred && expr.kind != ExprKind::kConst) {
      const auto decided = analysis_.Decide(id);
      if (decided) return builder_.Constant(DType::kPred, *decided ? 1 : 0);
    }
    if (expr.kind == ExprKind::kSelect) {
      const auto decided = analysis_.Decide(expr.args[0]);
      if (decided) return Expression(expr.args[*decided ? 1 : 2]);
    }
    if (expr.kind == ExprKind::kBinary && expr.dtype == DType::kPred) return Logic(expr, id);
    const ExprId rebuilt = Rebuilt(expr, id);
    if (expr.dtype != DType::kS64 || expr.kind == ExprKind::kConst) return rebuilt;
    const LinearForm form = analysis_.FormOf(rebuilt);
    if (form.overflow) return rebuilt;
    const ExprId emitted = Emit(form);
    return Cost(emitted) <= Cost(rebuilt) ? emitted : rebuilt;
  }

  ExprId Rebuilt(const Expr& expr, ExprId id) {
    Expr simple = expr;
    for (ExprId& arg : simple.args) arg = Expression(arg);
    if (simple.args == expr.args) return id;
    if (simple.kind == ExprKind::kBinary)
      return builder_.Binary(simple.op, simple.args[0], simple.args[1]);
    kernel_.exprs.push_back(std::move(simple));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  // and/or of a known side.
  ExprId Logic(const Expr& expr, ExprId id) {
    if (expr.op == Op::kAnd || expr.op == Op::kOr) {
      for (const size_t side : {size_t{0}, size_t{1}}) {
        const auto decided = analysis_.Decide(expr.args[side]);
        if (decided) return Expression(expr.args[1 - side]);  // the deciding case was taken above
      }
    }
    return Rebuilt(expr, id);
  }

  // A let that only adds up loop variables costs too much: its uses shall show the strides.
  int Cost(ExprId id) {
    const Expr& expr = kernel_[id];
    int cost = 0;
    for (const ExprId arg : expr.args) cost += Cost(arg);
    switch (expr.kind) {
      case ExprKind::kConst: return 1;
      case ExprKind::kVar: return analysis_.IsLinearAlias(expr.var) ? 100 : 1;
      case ExprKind::kLoad: return cost + 20;
      case ExprKind::kBinary:
        return cost + (expr.op == Op::kDivide || expr.op == Op::kRemainder ? 30 : 3);
      default: return cost + 5;
    }
  }

  ExprId EmitAtom(int32_t number) {
    const IndexAtom atom = analysis_.atom(number);
    switch (atom.kind) {
      case IndexAtom::Kind::kVar: return builder_.Convert(builder_.Use(atom.var), DType::kS64);
      case IndexAtom::Kind::kDiv: return builder_.Div(Emit(atom.base), atom.divisor);
      case IndexAtom::Kind::kOpaque: return builder_.Convert(atom.expr, DType::kS64);
    }
    return {};
  }

  // Largest coefficients first, remainders where the form hides some, the constant last.
  ExprId Emit(const LinearForm& form) {
    std::vector<ModTerm> mods;
    const LinearForm rest = analysis_.RecoverMods(form, mods);
    struct Part {
      int64_t coefficient;
      ExprId value;
    };
    std::vector<Part> parts;
    for (const auto& term : rest.terms) parts.push_back({term.coefficient, EmitAtom(term.atom)});
    for (const ModTerm& mod : mods)
      parts.push_back({mod.coefficient, builder_.Mod(Emit(mod.base), mod.divisor)});
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      if ((a.coefficient > 0) != (b.coefficient > 0)) return a.coefficient > 0;
      return std::abs(a.coefficient) > std::abs(b.coefficient);
    });
    ExprId sum;
    for (const Part& part : parts) {
      if (!sum.valid()) {
        sum = builder_.Mul(part.value, part.coefficient);
      } else if (part.coefficient > 0) {
        sum = builder_.Add(sum, builder_.Mul(part.value, part.coefficient));
      } else {
        sum = builder_.Sub(sum, builder_.Mul(part.value, -part.coefficient));
      }
    }
    if (!sum.valid()) return builder_.Index(rest.constant);
    return builder_.Add(sum, builder_.Index(rest.constant));
  }

  Kernel& kernel_;
  Builder builder_;
  IndexAnalysis analysis_;
  const Block* around_ = nullptr;  // the source block being walked
};

}  // namespace

Kernel Simplify(const Kernel& kernel) {
  Kernel simple = kernel;
  Simplifier(simple).Run();
  RemoveDeadLets(simple);
  return Compacted(simple);
}

}  // namespace fusemark::loops
