#include "compiler/loops/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "compiler/loops/index_analysis.h"
#include "compiler/loops/print.h"
#include "compiler/loops/verify_structure.h"

namespace fusemark::loops {
namespace {

std::string RangeText(Range range) {
  const auto bound = [](int64_t value, int64_t unbounded, const char* text) {
    return value == unbounded ? std::string(text) : std::to_string(value);
  };
  return fmt::format("[{}, {}]", bound(range.lo, Range::kMin, "-inf"),
                     bound(range.hi, Range::kMax, "inf"));
}

class Proof {
 public:
  explicit Proof(const Kernel& kernel) : kernel_(kernel), analysis_(kernel) {
    allocated_at_.resize(kernel.buffers.size(), 0);
  }

  Result<void> Run() {
    for (const Phase& phase : PhasesOf(kernel_)) {
      const size_t mark = analysis_.Mark();
      for (size_t i = phase.begin; i < phase.end; ++i) {
        if (!Statement(kernel_.body[i]))
          return Invalid(fmt::format("kernel @{}: {}", kernel_.name, error_));
      }
      analysis_.Release(mark);
    }
    return Ok();
  }

 private:
  struct Loop {
    VarId var;
    LoopKind kind;
  };

  bool Body(const Block& block) {
    const size_t mark = analysis_.Mark();
    const bool ok = std::all_of(block.begin(), block.end(),
                                [this](const Stmt& stmt) { return Statement(stmt); });
    analysis_.Release(mark);
    return ok;
  }

  bool Statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kFor: return For(stmt);
      case StmtKind::kIf: return If(stmt);
      case StmtKind::kBarrier:
      case StmtKind::kPrefetch: return true;
      case StmtKind::kAlloc: allocated_at_[stmt.buffer.index] = loops_.size(); return true;
      case StmtKind::kLet:
        if (!Loads(stmt.value)) return false;
        analysis_.Bind(stmt.var, stmt.value);
        return true;
      case StmtKind::kStore:
        return Loads(stmt.value) && Access("store to", stmt.buffer, stmt.indices) && NoRace(stmt);
    }
    return true;
  }

  bool For(const Stmt& stmt) {
    const size_t mark = analysis_.Mark();
    analysis_.EnterLoop(stmt.var, stmt.extent);
    loops_.push_back({stmt.var, stmt.loop});
    const bool ok = Body(stmt.body);
    loops_.pop_back();
    analysis_.Release(mark);
    return ok;
  }

  bool If(const Stmt& stmt) {
    if (!Loads(stmt.value)) return false;
    for (const bool taken : {true, false}) {
      const size_t mark = analysis_.Mark();
      analysis_.Assume(stmt.value, taken);
      if (!Body(taken ? stmt.body : stmt.else_body)) return false;
      analysis_.Release(mark);
    }
    return true;
  }

  bool Loads(ExprId id) {
    const Expr& expr = kernel_[id];
    // Both sides of a select may be evaluated: its condition proves nothing about loads inside.
    if (expr.kind == ExprKind::kLoad) return Access("load from", expr.buffer, expr.args);
    return std::all_of(expr.args.begin(), expr.args.end(),
                       [this](ExprId arg) { return Loads(arg); });
  }

  bool Access(const char* what, BufferId id, const std::vector<ExprId>& indices) {
    const Buffer& buffer = kernel_[id];
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!Loads(indices[i])) return false;
      if (analysis_.unreachable()) continue;
      const Range range = analysis_.RangeOf(indices[i]);
      if (range.Within(0, buffer.dims[i] - 1)) continue;
      error_ = fmt::format(
          "{} %{}: index `{}` of dimension {} is only known to be in {}, the extent is {}", what,
          buffer.name, PrintExpr(kernel_, indices[i]), i, RangeText(range), buffer.dims[i]);
      return false;
    }
    return true;
  }

  static bool Concurrent(LoopKind kind) {
    return kind == LoopKind::kParallel || kind == LoopKind::kVector || kind == LoopKind::kBlock ||
           kind == LoopKind::kThread;
  }

  // Iterations of a concurrent loop must write different elements: some index has to move with the
  // loop variable. Buffers allocated inside the loop are private to the iteration; a shared buffer
  // is not private to a thread.
  bool NoRace(const Stmt& stmt) {
    if (analysis_.unreachable()) return true;
    const Buffer& buffer = kernel_[stmt.buffer];
    const bool local = buffer.space == Space::kRegister || buffer.space == Space::kStack ||
                       buffer.space == Space::kShared;
    size_t first = local ? allocated_at_[stmt.buffer.index] : 0;
    if (buffer.space == Space::kShared) {  // seen by all threads, wherever its alloc stands
      first = loops_.size();
      while (first > 0 && loops_[first - 1].kind != LoopKind::kBlock) --first;
    }
    for (size_t i = first; i < loops_.size(); ++i) {
      const Loop& loop = loops_[i];
      if (!Concurrent(loop.kind) || MovesWith(stmt, loop.var)) continue;
      error_ = fmt::format(
          "store to %{}: no index depends on the {} loop {}, so its iterations write the same "
          "elements",
          buffer.name, LoopKindName(loop.kind), kernel_[loop.var].name);
      return false;
    }
    return true;
  }

  bool MovesWith(const Stmt& stmt, VarId var) {
    const Range only = analysis_.RangeOfVar(var);
    if (only.lo == only.hi) return true;  // one iteration comes here
    return std::any_of(stmt.indices.begin(), stmt.indices.end(), [&](ExprId index) {
      return analysis_.DependsOn(analysis_.FormOf(index), var);
    });
  }

  const Kernel& kernel_;
  IndexAnalysis analysis_;
  std::vector<Loop> loops_;
  std::vector<size_t> allocated_at_;  // number of loops around the alloc
  std::string error_;
};

}  // namespace

Result<void> Verify(const Kernel& kernel) {
  FM_RETURN_IF_ERROR(VerifyStructure(kernel));
  return Proof(kernel).Run();
}

}  // namespace fusemark::loops
