#include "compiler/loops/block_layout.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "compiler/loops/builder.h"
#include "compiler/loops/primitives_internal.h"

namespace fusemark::loops {
namespace {

// Loads of one buffer, as if it were blocked.
class Blocker {
 public:
  Blocker(Kernel& kernel, BufferId buffer, int64_t run)
      : kernel_(kernel), builder_(kernel), buffer_(buffer), run_(run) {}

  void Redirect(Block& block) {
    for (Stmt& stmt : block) {
      for (ExprId& index : stmt.indices) index = Redirect(index);
      if (stmt.value.valid()) stmt.value = Redirect(stmt.value);
      Redirect(stmt.body);
      Redirect(stmt.else_body);
    }
  }

 private:
  ExprId Redirect(ExprId id) {
    Expr expr = kernel_[id];
    for (ExprId& arg : expr.args) arg = Redirect(arg);
    if (expr.kind == ExprKind::kLoad && expr.buffer == buffer_) {
      const ExprId last = expr.args.back();
      expr.args.back() = builder_.Mod(last, run_);
      expr.args.insert(expr.args.begin(), builder_.Div(last, run_));
    }
    if (expr == kernel_[id]) return id;
    kernel_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  Kernel& kernel_;
  Builder builder_;
  BufferId buffer_;
  int64_t run_;
};

std::vector<int64_t> BlockedDims(std::vector<int64_t> dims, int64_t run) {
  dims.insert(dims.begin(), dims.back() / run);
  dims.back() = run;
  return dims;
}

}  // namespace

Result<void> BlockOperand(Kernel& kernel, const Primitive& p) {
  for (const BufferId id : kernel.operands) {
    Buffer& buffer = kernel.buffers[id.index];
    if (buffer.name != p.names[0]) continue;
    if (buffer.dims.empty() || p.factor < 1 || buffer.dims.back() % p.factor != 0) {
      return Invalid(fmt::format("cannot block %{}: its last dimension is no multiple of {}",
                                 buffer.name, p.factor));
    }
    Blocker(kernel, id, p.factor).Redirect(kernel.body);
    buffer.dims = BlockedDims(buffer.dims, p.factor);
    return Ok();
  }
  return Invalid(fmt::format("there is no operand named {}", p.names[0]));
}

Kernel BlockingKernel(DType dtype, const std::vector<int64_t>& dims, int64_t run) {
  Kernel kernel;
  kernel.name = "block";
  kernel.klass = KernelClass::kLoop;
  Builder build(kernel);
  const BufferId from = build.AddOperand("a", dtype, dims);
  const std::vector<int64_t> blocked = BlockedDims(dims, run);
  const BufferId to = build.AddResult("r", dtype, blocked);
  std::vector<VarId> vars;
  std::vector<ExprId> at, source;
  for (size_t i = 0; i < blocked.size(); ++i) {
    vars.push_back(build.AddVar("i" + std::to_string(i)));
    at.push_back(build.Use(vars[i]));
  }
  source.assign(at.begin() + 1, at.end() - 1);
  source.push_back(build.Add(build.Mul(at.front(), run), at.back()));
  Stmt stmt = build.Store(to, at, build.Load(from, source));
  for (size_t i = blocked.size(); i-- > 0;) {
    stmt = build.For(vars[i], blocked[i], {std::move(stmt)});
  }
  kernel.body.push_back(std::move(stmt));
  return kernel;
}

int64_t BlockedRun(const Kernel& unscheduled, const Kernel& scheduled, size_t number) {
  const auto& before = unscheduled[unscheduled.operands[number]].dims;
  const auto& after = scheduled[scheduled.operands[number]].dims;
  return after.size() == before.size() + 1 ? after.back() : 0;
}

}  // namespace fusemark::loops
