// Squares of loads. Where an unrolled loop of L iterations stands around a vector loop of L lanes,
// a load whose lanes are far apart in memory, but whose elements for the next iteration are
// neighbours, takes the L rows of the square at once and turns them in registers: L loads and
// L log2 L shuffles instead of L^2 loads.
#include <llvm/ADT/bit.h>

#include <algorithm>

#include "compiler/codegen/phase_emitter.h"

namespace fusemark::codegen {

using llvm::Value;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::LoopKind;
using loops::Stmt;
using loops::StmtKind;

namespace {

constexpr int64_t kMostLanes = 16;  // a square must fit the registers

// Straight-line code: what the first iteration loads is there for all others.
bool IsSquare(const Stmt& stmt) {
  if (stmt.loop != LoopKind::kUnroll || stmt.body.size() != 1) return false;
  const Stmt& inner = stmt.body[0];
  const bool vector = inner.kind == StmtKind::kFor && inner.loop == LoopKind::kVector;
  if (!vector || inner.extent != stmt.extent) return false;
  if (stmt.extent < 2 || stmt.extent > kMostLanes ||
      !llvm::has_single_bit(static_cast<uint64_t>(stmt.extent)))
    return false;
  return std::all_of(inner.body.begin(), inner.body.end(), [](const Stmt& step) {
    return step.kind == StmtKind::kLet || step.kind == StmtKind::kStore;
  });
}

// Swaps blocks of half the size across the diagonal, down to single elements (Eklundh 1972).
void Transpose(llvm::IRBuilder<>& ir, std::vector<Value*>& rows) {
  const size_t lanes = rows.size();
  for (size_t half = lanes / 2; half > 0; half /= 2) {
    llvm::SmallVector<int> low, high;
    for (size_t j = 0; j < lanes; ++j) {
      const bool second = (j & half) != 0;
      low.push_back(static_cast<int>(second ? lanes + j - half : j));
      high.push_back(static_cast<int>(second ? lanes + j : j + half));
    }
    for (size_t i = 0; i < lanes; ++i) {
      if ((i & half) != 0) continue;
      Value *a = rows[i], *b = rows[i + half];
      rows[i] = ir.CreateShuffleVector(a, b, low);
      rows[i + half] = ir.CreateShuffleVector(a, b, high);
    }
  }
}

}  // namespace

// Sums and products of loop variables and of what was bound outside of the square.
bool PhaseEmitter::IsLinear(ExprId id) const {
  const Expr& expr = kernel_[id];
  switch (expr.kind) {
    case ExprKind::kConst: return true;
    case ExprKind::kVar: return !llvm::is_contained(square_->lets, expr.var);
    case ExprKind::kBinary:
      return (expr.op == Op::kAdd || expr.op == Op::kSubtract || expr.op == Op::kMultiply) &&
             IsLinear(expr.args[0]) && IsLinear(expr.args[1]);
    default: return false;
  }
}

void PhaseEmitter::EmitUnrolled(const Stmt& stmt) {
  if (context_.lanes != 0 && (EmitGroupSum(stmt) || EmitGroupStore(stmt))) return;
  const std::optional<Square> outer = std::exchange(square_, std::nullopt);
  if (context_.lanes == 0 && IsSquare(stmt)) {
    square_.emplace(Square{.var = stmt.var});
    for (const Stmt& step : stmt.body[0].body) {
      if (step.kind == StmtKind::kLet) square_->lets.push_back(step.var);
    }
  }
  for (int64_t i = 0; i < stmt.extent && !error_; ++i) {
    if (square_) square_->step = static_cast<size_t>(i);
    vars_[stmt.var.index] = IndexConst(i);
    EmitBlock(stmt.body);
  }
  square_ = outer;
}

Value* PhaseEmitter::LoadOfSquare(ExprId id, const LaneValue& address) {
  if (!square_ || context_.mask != nullptr) return nullptr;
  const auto found = square_->columns.find(id.index);
  if (found != square_->columns.end()) return found->second[square_->step];
  const Expr& load = kernel_[id];
  const bool linear = llvm::all_of(load.args, [this](ExprId arg) { return IsLinear(arg); });
  if (square_->step != 0 || !linear || !buffers_[load.buffer.index].invariant) return nullptr;
  vars_[square_->var.index] = IndexConst(1);
  const LaneValue next = Address(load.buffer, load.args);
  vars_[square_->var.index] = IndexConst(0);
  if (PatternOf(next) != Pattern::kStrided || next.offset - address.offset != 1) return nullptr;
  std::vector<Value*> rows;
  for (unsigned lane = 0; lane < context_.lanes; ++lane) {
    LaneValue row = address;
    row.offset += address.stride * static_cast<int64_t>(lane);
    row.stride = 1;
    rows.push_back(LoadContiguous(load.buffer, row));
  }
  Transpose(ir_, rows);
  return square_->columns.emplace(id.index, std::move(rows)).first->second[0];
}

}  // namespace fusemark::codegen
