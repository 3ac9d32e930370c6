// offset: instructions that multiply bytes want one factor unsigned. A signed one gets there by an
// offset of 128. What that makes too much depends on the other factor alone: it is added up once
// for all rows of the register tile and comes off at the end. Exact, as integers wrap.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

class Offsetter {
 public:
  Offsetter(Kernel& kernel, BufferId operand, int64_t offset, VarId rows, VarId columns,
            VarId summed)
      : kernel_(kernel),
        b_(kernel),
        operand_(operand),
        offset_(offset),
        rows_(rows),
        columns_(columns),
        summed_(summed) {}

  Result<void> Walk(Block& block) {
    for (Stmt& stmt : block) {
      FM_RETURN_IF_ERROR(Walk(stmt.body));
      FM_RETURN_IF_ERROR(Walk(stmt.else_body));
    }
    if (std::any_of(block.begin(), block.end(), [&](const Stmt& s) { return IsSum(s); }))
      return Correct(block);
    return Ok();
  }
  bool done() const { return done_; }

 private:
  // reduces { rows { columns { summed { .., acc[row, column] = .. } } } }
  bool IsSum(const Stmt& stmt) const {
    const Stmt* inner = &stmt;
    for (const VarId var : {rows_, columns_, summed_}) {
      if (inner->kind != StmtKind::kFor || inner->body.size() != 1) return false;
      inner = &inner->body[0];
      if (inner->kind != StmtKind::kFor || inner->var != var) return false;
    }
    return stmt.reduces && !inner->body.empty() && inner->body.back().kind == StmtKind::kStore &&
           inner->body.back().indices.size() == 2;
  }

  static const Stmt& InnermostOf(const Stmt& sum) { return sum.body[0].body[0].body[0]; }

  Result<void> Correct(Block& block) {
    const auto first = std::find_if(block.begin(), block.end(), [&](auto& s) { return IsSum(s); });
    const Stmt tile = first->body[0];
    const BufferId sums = InnermostOf(*first).body.back().buffer;
    const Buffer shape = kernel_[sums];
    const BufferId excess =
        b_.AddLocal(shape.name + "_excess", shape.dtype, {shape.dims[1]}, Space::kRegister);
    const auto columns = [&](Block body) {
      return b_.For(columns_, tile.body[0].extent, std::move(body));
    };
    const ExprId column = b_.Use(columns_), row = b_.Use(rows_);
    Block out;
    bool open = false;  // between the first sum and what follows the last one
    for (Stmt& stmt : block) {
      if (IsSum(stmt)) {
        if (!std::exchange(open, true)) {
          out.push_back(b_.Alloc(excess));
          out.push_back(columns({b_.Store(excess, {column}, b_.Constant(shape.dtype, 0))}));
        }
        FM_RETURN_IF_ERROR(Split(stmt, sums, excess));
      } else if (std::exchange(open, false)) {
        const ExprId exact =
            b_.Binary(Op::kSubtract, b_.Load(sums, {row, column}), b_.Load(excess, {column}));
        out.push_back(
            b_.For(rows_, tile.extent, {columns({b_.Store(sums, {row, column}, exact)})}));
      }
      out.push_back(std::move(stmt));
    }
    if (open) return Fail("nothing follows its sum");
    block = std::move(out);
    done_ = true;
    return Ok();
  }

  Error Fail(std::string_view why) const {
    return Invalid(fmt::format("cannot offset %{}: {}", kernel_[operand_].name, why));
  }

  // The excess of one step beside the step itself, in which the operand is larger.
  Result<void> Split(Stmt& sum, BufferId sums, BufferId excess) {
    Stmt& columns = sum.body[0].body[0];
    Stmt& summed = columns.body[0];
    const Stmt& store = summed.body.back();
    const Expr add = kernel_[store.value];
    const bool adds = store.buffer == sums && add.kind == ExprKind::kBinary && add.op == Op::kAdd;
    const Expr product = adds ? kernel_[add.args[1]] : Expr{};
    if (product.kind != ExprKind::kBinary || product.op != Op::kMultiply)
      return Fail("it is no factor of a sum");
    const size_t side = Reads(summed.body, product.args[0]) ? 0 : 1;
    const ExprId mine = product.args[side], other = product.args[1 - side];
    if (!Reads(summed.body, mine) || UsesVar(kernel_, other, rows_))
      return Fail("it is no factor of a sum");

    const DType type = product.dtype;
    const ExprId offset = b_.Constant(type, static_cast<uint64_t>(offset_));
    Stmt beside = columns;
    Block& steps = beside.body[0].body;
    std::erase_if(steps, [&](const Stmt& let) {
      return let.kind == StmtKind::kLet && UsesVar(kernel_, let.value, rows_);
    });
    const ExprId column = b_.Use(columns_);
    steps.back() = b_.Store(
        excess, {column},
        b_.Binary(Op::kAdd, b_.Load(excess, {column}), b_.Binary(Op::kMultiply, offset, other)));
    const ExprId larger = b_.Binary(Op::kAdd, mine, offset);
    const ExprId larger_product = side == 0 ? b_.Binary(Op::kMultiply, larger, other)
                                            : b_.Binary(Op::kMultiply, other, larger);
    summed.body.back().value = b_.Binary(Op::kAdd, add.args[0], larger_product);
    sum.body.insert(sum.body.begin(), std::move(beside));
    return Ok();
  }

  // Itself or through a let.
  bool Reads(const Block& body, ExprId value) const {
    const auto loads = [&](ExprId id) {
      return AnyLoad(kernel_, id, [&](const Expr& load) { return load.buffer == operand_; });
    };
    return loads(value) || std::any_of(body.begin(), body.end(), [&](const Stmt& stmt) {
             return stmt.kind == StmtKind::kLet && loads(stmt.value) &&
                    UsesVar(kernel_, value, stmt.var);
           });
  }

  Kernel& kernel_;
  Builder b_;
  BufferId operand_;
  int64_t offset_;
  VarId rows_, columns_, summed_;
  bool done_ = false;
};

}  // namespace

Result<void> Offset(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId rows, LoopNamed(kernel, p.names[1]));
  FM_TRY(const VarId columns, LoopNamed(kernel, p.names[2]));
  FM_TRY(const VarId summed, LoopNamed(kernel, p.names[3]));
  for (const BufferId id : kernel.operands) {
    if (kernel[id].name != p.names[0]) continue;
    Offsetter offsetter(kernel, id, p.factor, rows, columns, summed);
    FM_RETURN_IF_ERROR(offsetter.Walk(kernel.body));
    if (offsetter.done()) return Ok();
    return Invalid(fmt::format("cannot offset %{}: there is no such sum", p.names[0]));
  }
  return Invalid(fmt::format("there is no operand named {}", p.names[0]));
}

}  // namespace fusemark::loops
