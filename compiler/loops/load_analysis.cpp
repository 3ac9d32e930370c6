#include "compiler/loops/load_analysis.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/loops/rewrite.h"
#include "compiler/loops/schedule.h"

namespace fusemark::loops {
namespace {

// Rows and columns below which a panel is not used often enough to pay for copying it.
constexpr int64_t kFewestRows = 24, kFewestColumns = 16;
// Rows that follow each other in memory, below which a register tile is half empty.
constexpr int64_t kFewestRowsOfTile = 6;
// Where a sum is not cut into blocks, a deeper panel is so narrow that the left operand is read too
// often.
constexpr int64_t kDeepestSum = 2048;

void VisitExpr(const Kernel& kernel, ExprId id, IndexAnalysis& analysis, const LoadVisitor& visit) {
  const Expr& expr = kernel[id];
  for (const ExprId arg : expr.args) VisitExpr(kernel, arg, analysis, visit);
  if (expr.kind == ExprKind::kLoad) visit(expr, analysis);
}

void VisitBlock(const Kernel& kernel, const Block& block, IndexAnalysis& analysis,
                const LoadVisitor& visit) {
  const size_t mark = analysis.Mark();
  for (const Stmt& stmt : block) {
    if (stmt.kind == StmtKind::kLet) analysis.Bind(stmt.var, stmt.value);
    if (stmt.value.valid()) VisitExpr(kernel, stmt.value, analysis, visit);
    const size_t inner = analysis.Mark();
    if (stmt.kind == StmtKind::kFor) analysis.EnterLoop(stmt.var, stmt.extent);
    VisitBlock(kernel, stmt.body, analysis, visit);
    VisitBlock(kernel, stmt.else_body, analysis, visit);
    analysis.Release(inner);
  }
  analysis.Release(mark);
}

// Guards of padding, which would stand inside the sums.
bool Branches(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Stmt& stmt) {
    return stmt.kind == StmtKind::kIf || Branches(stmt.body);
  });
}

}  // namespace

void VisitLoads(const Kernel& kernel, const LoadVisitor& visit) {
  IndexAnalysis analysis(kernel);
  VisitBlock(kernel, kernel.body, analysis, visit);
}

int UnitStrides(const Kernel& kernel, const std::string& loop, std::optional<BufferId> only) {
  const auto var = FindVar(kernel, loop);
  if (!var) return 0;
  int votes = 0;
  VisitLoads(kernel, [&](const Expr& load, IndexAnalysis& analysis) {
    if (only ? load.buffer != *only : kernel[load.buffer].space != Space::kOperand) return;
    for (size_t i = 0; i < load.args.size(); ++i) {
      const LinearForm form = analysis.FormOf(load.args[i]);
      if (!analysis.DependsOn(form, *var)) continue;
      int64_t coefficient = 0;
      for (const auto& term : form.terms) {
        const IndexAtom& atom = analysis.atom(term.atom);
        if (atom.kind == IndexAtom::Kind::kVar && atom.var == *var) coefficient = term.coefficient;
      }
      votes += i + 1 == load.args.size() && std::abs(coefficient) == 1 ? 1 : -1;
    }
  });
  return votes;
}

bool MovesWith(const Kernel& kernel, BufferId buffer, const std::string& loop) {
  const auto var = FindVar(kernel, loop);
  bool moves = false;
  VisitLoads(kernel, [&](const Expr& load, IndexAnalysis& analysis) {
    if (load.buffer != buffer || !var) return;
    for (const ExprId index : load.args) moves |= analysis.DependsOn(analysis.FormOf(index), *var);
  });
  return moves;
}

int64_t BytesOf(const Kernel& kernel, BufferId buffer) {
  int64_t bytes = ByteSize(kernel[buffer].dtype);
  for (const int64_t dim : kernel[buffer].dims) bytes *= dim;
  return bytes;
}

std::optional<BufferId> RightOperand(const Kernel& kernel, const std::string& m,
                                     const std::string& n) {
  std::optional<BufferId> found;
  for (const BufferId id : kernel.operands) {
    if (!MovesWith(kernel, id, n) || MovesWith(kernel, id, m)) continue;
    if (!found || BytesOf(kernel, id) > BytesOf(kernel, *found)) found = id;
  }
  return found;
}

std::vector<NamedLoop> LoopChain(const Kernel& kernel, char prefix) {
  std::vector<NamedLoop> loops;
  const Block* block = &kernel.body;
  while (block != nullptr) {
    const auto loop = std::find_if(block->begin(), block->end(),
                                   [](const Stmt& stmt) { return stmt.kind == StmtKind::kFor; });
    if (loop == block->end()) break;
    const std::string& name = kernel[loop->var].name;
    if (name[0] == prefix) loops.push_back({name, loop->extent});
    block = &loop->body;
  }
  return loops;
}

int64_t BlockOfSum(const Kernel& kernel, const std::string& m, const std::string& n, int64_t most) {
  constexpr int64_t kMultiple = 16;
  const auto summed = LoopChain(kernel, 'k');
  const auto left = RightOperand(kernel, n, m);
  if (summed.size() != 1 || !left || UnitStrides(kernel, summed[0].name, left) <= 0) return 0;
  const int64_t extent = summed[0].extent;
  for (int64_t depth = std::min(most, extent / 2); depth >= std::max(most / 2, kMultiple);
       --depth) {
    if (extent % depth == 0 && depth % kMultiple == 0) return depth;
  }
  return 0;
}

bool SuitsOwnCode(const Kernel& kernel) {
  if (kernel.klass != KernelClass::kContraction || kernel.body.size() != 1) return false;
  if (Branches(kernel.body)) return false;
  const auto outer = LoopChain(kernel, 'i'), summed = LoopChain(kernel, 'k');
  if (outer.empty() || summed.empty()) return false;
  const NamedLoop& n = outer.back();
  const NamedLoop m = outer.size() > 1 ? outer[outer.size() - 2] : NamedLoop{"", 1};
  const auto right = RightOperand(kernel, m.name, n.name);
  // Of integers the library has no products.
  if (right && IsInteger(kernel[*right].dtype)) return true;
  if (!right || kernel[*right].dtype != DType::kF32) return false;
  const bool floats = std::all_of(kernel.operands.begin(), kernel.operands.end(), [&](BufferId id) {
    return kernel[id].dtype == DType::kF32 || !MovesWith(kernel, id, summed.back().name);
  });
  if (!floats) return false;
  const bool across = UnitStrides(kernel, n.name, right) > 0;
  // One row: each element of the right operand is used once, straight from memory.
  if (m.extent == 1 && outer.size() <= 2) {
    const bool along = UnitStrides(kernel, summed.back().name, right) > 0;
    return n.extent >= kFewestColumns && (across || along);
  }
  if (!across) return false;
  // Batches stand outside of the loops that read the same of the right operand again.
  int64_t rows = 1, depth = 1;
  size_t first = outer.size() - 1;
  while (first > 0 && !MovesWith(kernel, *right, outer[first - 1].name))
    rows *= outer[--first].extent;
  for (size_t i = 0; i < first; ++i) {
    if (!MovesWith(kernel, *right, outer[i].name)) return false;
  }
  for (const NamedLoop& loop : summed) depth *= loop.extent;
  const bool cut =
      first + 2 == outer.size() && BlockOfSum(kernel, m.name, n.name, Schedule().tile_k) > 0;
  return rows >= kFewestRows && m.extent >= kFewestRowsOfTile && n.extent >= kFewestColumns &&
         (depth <= kDeepestSum || cut);
}

Schedule DefaultSchedule(const Kernel& kernel) {
  Schedule schedule;
  schedule.use_library = !SuitsOwnCode(kernel);
  return schedule;
}

}  // namespace fusemark::loops
