#include "compiler/loops/in_place.h"

#include <algorithm>

#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

class Accesses {
 public:
  explicit Accesses(const Kernel& kernel) : kernel_(kernel), result_(kernel.results[0]) {
    Visit(kernel.body);
  }

  // The only store: its indices are the loops around it, each of them once.
  bool WritesEachOnce() const {
    if (stores_ != 1) return false;
    size_t moving = 0;
    for (const Stmt* loop : around_store_) {
      const auto uses = std::count_if(indices_.begin(), indices_.end(), [&](ExprId index) {
        return kernel_[index].kind == ExprKind::kVar && kernel_[index].var == loop->var;
      });
      if (uses > 1 || (uses == 0 && loop->extent != 1)) return false;
      moving += static_cast<size_t>(uses);
    }
    const auto fixed = std::count_if(indices_.begin(), indices_.end(), [&](ExprId index) {
      return kernel_[index].kind == ExprKind::kConst;
    });
    return moving + static_cast<size_t>(fixed) == indices_.size();
  }

  // Every load of the buffer stands before the store in the same loop and has its indices.
  bool ReadsOnlyThere(BufferId buffer) const {
    return std::all_of(loads_.begin(), loads_.end(), [&](const Load& load) {
      const Expr& expr = kernel_[load.expr];
      return expr.buffer != buffer ||
             (!load.after_store && load.around == around_store_ &&
              std::equal(expr.args.begin(), expr.args.end(), indices_.begin(), indices_.end(),
                         [&](ExprId a, ExprId b) { return SameExpr(kernel_, a, b); }));
    });
  }

 private:
  struct Load {
    ExprId expr;
    std::vector<const Stmt*> around;
    bool after_store = false;
  };

  void Visit(const Block& block) {
    for (const Stmt& stmt : block) {
      for (const ExprId index : stmt.indices) Visit(index);
      if (stmt.value.valid()) Visit(stmt.value);
      if (stmt.kind == StmtKind::kStore && stmt.buffer == result_) {
        ++stores_;
        indices_ = stmt.indices;
        around_store_ = loops_;
      }
      if (stmt.kind == StmtKind::kFor) loops_.push_back(&stmt);
      Visit(stmt.body);
      Visit(stmt.else_body);
      if (stmt.kind == StmtKind::kFor) loops_.pop_back();
    }
  }
  void Visit(ExprId id) {
    if (kernel_[id].kind == ExprKind::kLoad) loads_.push_back({id, loops_, stores_ > 0});
    for (const ExprId arg : kernel_[id].args) Visit(arg);
  }

  const Kernel& kernel_;
  BufferId result_;
  std::vector<const Stmt*> loops_;
  std::vector<Load> loads_;
  int stores_ = 0;
  std::vector<ExprId> indices_;
  std::vector<const Stmt*> around_store_;
};

}  // namespace

std::vector<int32_t> OverwritableOperands(const Kernel& kernel) {
  std::vector<int32_t> found;
  if (kernel.results.size() != 1) return found;
  const Buffer& result = kernel[kernel.results[0]];
  const Accesses accesses(kernel);
  if (!accesses.WritesEachOnce() || !accesses.ReadsOnlyThere(kernel.results[0])) return found;
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const Buffer& operand = kernel[kernel.operands[i]];
    const bool alike = operand.dtype == result.dtype && operand.dims == result.dims;
    if (alike && accesses.ReadsOnlyThere(kernel.operands[i]))
      found.push_back(static_cast<int32_t>(i));
  }
  return found;
}

}  // namespace fusemark::loops
