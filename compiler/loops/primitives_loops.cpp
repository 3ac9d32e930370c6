// tile, peel, reorder, fuse: the shape of the loop nest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

// Which of the two tile loops keeps the kind of the tiled one.
LoopKind OuterKind(LoopKind kind) {
  return kind == LoopKind::kVector || kind == LoopKind::kThread ? LoopKind::kSerial : kind;
}
LoopKind InnerKind(LoopKind kind) {
  return kind == LoopKind::kParallel || kind == LoopKind::kBlock ? LoopKind::kSerial : kind;
}

Stmt TiledLoop(Kernel& kernel, const Stmt& loop, int64_t factor, VarId outer, VarId inner) {
  Builder b(kernel);
  const int64_t whole = loop.extent / factor, rest = loop.extent % factor;
  Substitution split;
  split.vars[loop.var] = b.Add(b.Mul(b.Use(outer), factor), b.Use(inner));
  const auto inner_loop = [&](int64_t extent) {
    Block body = loop.body;
    Substitute(kernel, body, split);
    return b.For(inner, extent, std::move(body), InnerKind(loop.loop), loop.reduces);
  };
  Block body;
  if (rest == 0) {
    body.push_back(inner_loop(factor));
  } else if (whole == 0) {
    body.push_back(inner_loop(rest));
  } else {
    const ExprId full = b.Compare(Direction::kLt, b.Use(outer), b.Index(whole));
    body.push_back(b.If(full, {inner_loop(factor)}, {inner_loop(rest)}));
  }
  return b.For(outer, whole + (rest != 0 ? 1 : 0), std::move(body), OuterKind(loop.loop),
               loop.reduces);
}

class Exchange {
 public:
  Exchange(Kernel& kernel, VarId outer, VarId inner)
      : kernel_(kernel), outer_(outer), inner_(inner) {}

  // `for outer { for inner }` -> `for inner { for outer }`, through the condition of a tile.
  Result<Stmt> operator()(const Stmt& outer) {
    if (outer.body.size() != 1) return NotNested();
    const Stmt& only = outer.body.front();
    if (only.kind == StmtKind::kFor && only.var == inner_) {
      FM_RETURN_IF_ERROR(Legal(outer, only));
      Stmt moved = outer, result = only;
      moved.body = only.body;
      result.body = {std::move(moved)};
      return result;
    }
    if (only.kind != StmtKind::kIf) return NotNested();
    return UsesVar(kernel_, only.value, outer_) ? ThroughTail(outer, only) : Unswitch(outer, only);
  }

 private:
  Error NotNested() const {
    return Invalid(fmt::format("loop {} is not perfectly nested in loop {}", kernel_[inner_].name,
                               kernel_[outer_].name));
  }

  Result<void> Legal(const Stmt& outer, const Stmt& inner) const {
    if (outer.reduces && inner.reduces)
      return Invalid(
          fmt::format("loops {} and {} both carry a value: their order is the order of "
                      "the reduction",
                      kernel_[outer_].name, kernel_[inner_].name));
    if (outer.loop == LoopKind::kParallel || outer.loop == LoopKind::kBlock)
      return Invalid(fmt::format("loop {} is {} and must stay outermost", kernel_[outer_].name,
                                 LoopKindName(outer.loop)));
    return Ok();
  }

  // The condition does not change with the outer loop: it moves out first.
  Result<Stmt> Unswitch(const Stmt& outer, const Stmt& branch) {
    Stmt result = branch;
    for (const bool taken : {true, false}) {
      Block& side = taken ? result.body : result.else_body;
      if (side.empty()) continue;
      Stmt loop = outer;
      loop.body = std::move(side);
      FM_TRY(Stmt exchanged, (*this)(loop));
      side = {std::move(exchanged)};
    }
    return result;
  }

  // if (c) { for inner in m A } else { for inner in n B }, c by the outer loop: the longer of both
  // comes out, the shorter one gets a guard.
  Result<Stmt> ThroughTail(const Stmt& outer, const Stmt& branch) {
    const auto is_inner = [&](const Block& block) {
      return block.size() == 1 && block[0].kind == StmtKind::kFor && block[0].var == inner_;
    };
    if (!is_inner(branch.body) || !(branch.else_body.empty() || is_inner(branch.else_body)))
      return NotNested();
    FM_RETURN_IF_ERROR(Legal(outer, branch.body[0]));
    Builder b(kernel_);
    int64_t extent = branch.body[0].extent;
    if (!branch.else_body.empty()) extent = std::max(extent, branch.else_body[0].extent);
    const auto guarded = [&](const Block& side) -> Block {
      if (side.empty()) return {};
      const Stmt& loop = side[0];
      if (loop.extent == extent) return loop.body;
      const ExprId inside = b.Compare(Direction::kLt, b.Use(inner_), b.Index(loop.extent));
      return {b.If(inside, loop.body)};
    };
    Stmt moved = outer, result = branch.body[0];
    moved.body = {b.If(branch.value, guarded(branch.body), guarded(branch.else_body))};
    result.extent = extent;
    result.body = {std::move(moved)};
    return result;
  }

  Kernel& kernel_;
  VarId outer_, inner_;
};

// Row-major: ((i0 * d1 + i1) * d2 + i2) ...
ExprId Flat(Builder& b, const std::vector<ExprId>& indices, const std::vector<int64_t>& dims) {
  ExprId flat = b.Index(0);
  for (size_t i = 0; i < indices.size(); ++i) flat = b.Add(b.Mul(flat, dims[i]), indices[i]);
  return flat;
}

class Flattener {
 public:
  explicit Flattener(Kernel& kernel) : kernel_(kernel), b_(kernel) {}

  Result<void> Run() {
    for (const auto* list : {&kernel_.operands, &kernel_.results, &kernel_.scratch}) {
      for (const BufferId id : *list) {
        if (kernel_[id].dims.size() > 1) old_dims_[id] = kernel_[id].dims;
      }
    }
    for (const auto& [id, dims] : old_dims_) {
      int64_t count = 1;
      for (const int64_t dim : dims) {
        if (__builtin_mul_overflow(count, dim, &count))
          return Invalid("cannot flatten %" + kernel_[id].name + ": too many elements");
      }
      kernel_.buffers[id.index].dims = {count};
    }
    Rewrite(kernel_.body);
    return Ok();
  }

 private:
  void Rewrite(Block& block) {
    for (Stmt& stmt : block) {
      for (ExprId& index : stmt.indices) index = Rewrite(index);
      if (stmt.value.valid()) stmt.value = Rewrite(stmt.value);
      const auto dims = old_dims_.find(stmt.buffer);
      const bool accesses = stmt.kind == StmtKind::kStore || stmt.kind == StmtKind::kPrefetch;
      if (accesses && dims != old_dims_.end())
        stmt.indices = {Flat(b_, stmt.indices, dims->second)};
      Rewrite(stmt.body);
      Rewrite(stmt.else_body);
    }
  }

  ExprId Rewrite(ExprId id) {
    Expr expr = kernel_[id];
    for (ExprId& arg : expr.args) arg = Rewrite(arg);
    if (expr.kind == ExprKind::kLoad) {
      const auto dims = old_dims_.find(expr.buffer);
      if (dims != old_dims_.end()) expr.args = {Flat(b_, expr.args, dims->second)};
    }
    if (expr == kernel_[id]) return id;
    kernel_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  Kernel& kernel_;
  Builder b_;
  std::map<BufferId, std::vector<int64_t>> old_dims_;
};

}  // namespace

Result<void> Flatten(Kernel& kernel, const Primitive&) {
  return Flattener(kernel).Run();
}

Result<void> Tile(Kernel& kernel, const Primitive& p) {
  if (p.factor <= 0) return Invalid(fmt::format("tile by {}", p.factor));
  FM_TRY(const VarId var, LoopNamed(kernel, p.names[0]));
  FM_TRY(const VarId outer, FreshLoop(kernel, p.names[1]));
  FM_TRY(const VarId inner, FreshLoop(kernel, p.names[2]));
  return ReplaceLoops(kernel.body, var, [&](const Stmt& loop) -> Result<Block> {
    return Block{TiledLoop(kernel, loop, p.factor, outer, inner)};
  });
}

// `for i in n { if (i < n - 1) A else B }`, as tile writes it.
Result<void> Peel(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId var, LoopNamed(kernel, p.names[0]));
  return ReplaceLoops(kernel.body, var, [&](Stmt loop) -> Result<Block> {
    const int64_t last = loop.extent - 1;
    const bool branch = loop.body.size() == 1 && loop.body[0].kind == StmtKind::kIf;
    const Expr condition = branch ? kernel[loop.body[0].value] : Expr{};
    const auto is = [&](size_t arg, const Expr& wanted) {
      return kernel[condition.args[arg]] == wanted;
    };
    Builder b(kernel);
    if (condition.kind != ExprKind::kCompare || condition.direction != Direction::kLt ||
        !is(0, Expr{kernel[b.Use(var)]}) || !is(1, Expr{kernel[b.Index(last)]}))
      return Invalid(fmt::format("loop {} has no last iteration of its own", p.names[0]));
    Substitution at_last;
    at_last.vars[var] = b.Add(b.Use(var), b.Index(last));
    Block rest = std::move(loop.body[0].else_body);
    Substitute(kernel, rest, at_last);
    return Block{b.For(var, last, std::move(loop.body[0].body), loop.loop, loop.reduces),
                 b.For(var, 1, std::move(rest), loop.loop, loop.reduces)};
  });
}

Result<void> Reorder(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId outer, LoopNamed(kernel, p.names[0]));
  FM_TRY(const VarId inner, LoopNamed(kernel, p.names[1]));
  Exchange exchange(kernel, outer, inner);
  return ReplaceLoops(kernel.body, outer, [&](const Stmt& loop) -> Result<Block> {
    FM_TRY(Stmt exchanged, exchange(loop));
    return Block{std::move(exchanged)};
  });
}

Result<void> Fuse(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId outer, LoopNamed(kernel, p.names[0]));
  FM_TRY(const VarId inner, LoopNamed(kernel, p.names[1]));
  FM_TRY(const VarId fused, FreshLoop(kernel, p.names[2]));
  return ReplaceLoops(kernel.body, outer, [&](Stmt loop) -> Result<Block> {
    const bool nested =
        loop.body.size() == 1 && loop.body[0].kind == StmtKind::kFor && loop.body[0].var == inner;
    if (!nested)
      return Invalid(
          fmt::format("loop {} is not perfectly nested in loop {}", p.names[1], p.names[0]));
    Stmt& in = loop.body[0];
    const bool kinds = in.loop == LoopKind::kSerial || in.loop == loop.loop;
    if (!kinds || loop.loop == LoopKind::kVector)
      return Invalid(fmt::format("cannot fuse {} loop {} with {} loop {}", LoopKindName(loop.loop),
                                 p.names[0], LoopKindName(in.loop), p.names[1]));
    if (in.reduces && loop.loop != LoopKind::kSerial)
      return Invalid(fmt::format("loop {} carries a value and cannot join {} loop {}", p.names[1],
                                 LoopKindName(loop.loop), p.names[0]));
    Builder b(kernel);
    int64_t extent = 0;
    if (__builtin_mul_overflow(loop.extent, in.extent, &extent))
      return Invalid(fmt::format("loop {} would have too many iterations", p.names[2]));
    Substitution split;
    const int64_t divisor = std::max<int64_t>(in.extent, 1);
    split.vars[outer] = b.Div(b.Use(fused), divisor);
    split.vars[inner] = b.Mod(b.Use(fused), divisor);
    Block body = std::move(in.body);
    Substitute(kernel, body, split);
    return Block{b.For(fused, extent, std::move(body), loop.loop, loop.reduces || in.reduces)};
  });
}

}  // namespace fusemark::loops
