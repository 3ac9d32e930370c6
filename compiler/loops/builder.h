// Construction of loop nest IR. Index arithmetic is folded while it is built (constants, x*1, x+0,
// 0*x), so that lowered kernels print readably; everything that needs ranges is in simplify.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/loops/kernel.h"

namespace fusemark::loops {

class Builder {
 public:
  explicit Builder(Kernel& kernel) : kernel_(kernel) {}
  Kernel& kernel() { return kernel_; }

  BufferId AddOperand(std::string name, DType dtype, std::vector<int64_t> dims);
  BufferId AddResult(std::string name, DType dtype, std::vector<int64_t> dims);
  BufferId AddScratch(std::string name, DType dtype, std::vector<int64_t> dims);
  // A buffer for an alloc statement; `space` is kRegister, kStack or kShared.
  BufferId AddLocal(std::string name, DType dtype, std::vector<int64_t> dims, Space space);

  // A new variable; its name is made unique in the kernel by a numeric suffix. Characters that the
  // text form cannot carry become '_'. Buffer names are treated alike.
  VarId AddVar(std::string_view name, DType dtype = DType::kS64);
  // The variable of exactly this name, made when it does not exist yet: binds one name in several
  // disjoint scopes.
  VarId SameVar(std::string_view name, DType dtype = DType::kS64);

  ExprId Index(int64_t value);                      // s64 constant
  ExprId Constant(DType dtype, uint64_t bits);      // bit pattern
  ExprId FloatConstant(DType dtype, double value);  // f32, f64, bf16, f16
  ExprId Use(VarId var);
  ExprId Load(BufferId buffer, std::vector<ExprId> indices);
  ExprId Unary(Op op, ExprId a);
  ExprId Convert(ExprId a, DType to);         // no-op when already `to`
  ExprId BitcastConvert(ExprId a, DType to);  // same width
  ExprId Binary(Op op, ExprId a, ExprId b);
  ExprId Compare(Direction direction, ExprId a, ExprId b);
  ExprId Select(ExprId condition, ExprId a, ExprId b);
  ExprId Fma(ExprId a, ExprId b, ExprId c);

  // Index arithmetic on s64. Div and Mod are by a positive constant and of non-negative values (the
  // verifier's ranges prove it); clamp is min(max(x, low), high).
  ExprId Add(ExprId a, ExprId b) { return Binary(Op::kAdd, a, b); }
  ExprId Sub(ExprId a, ExprId b) { return Binary(Op::kSubtract, a, b); }
  ExprId Mul(ExprId a, int64_t factor);
  ExprId Div(ExprId a, int64_t divisor);
  ExprId Mod(ExprId a, int64_t divisor);
  ExprId ClampIndex(ExprId a, int64_t low, int64_t high);

  Stmt For(VarId var, int64_t extent, Block body, LoopKind kind = LoopKind::kSerial,
           bool reduces = false);
  Stmt Store(BufferId buffer, std::vector<ExprId> indices, ExprId value);
  Stmt Let(VarId var, ExprId value);
  Stmt If(ExprId condition, Block then_body, Block else_body = {});
  Stmt Alloc(BufferId buffer);
  Stmt Barrier();
  Stmt Prefetch(BufferId buffer, std::vector<ExprId> indices);

 private:
  ExprId Append(Expr expr);
  ExprId FoldBinary(Op op, ExprId a, ExprId b);
  BufferId AddBuffer(std::string name, DType dtype, std::vector<int64_t> dims, Space space);
  std::string UniqueName(std::string_view name, bool buffer);

  Kernel& kernel_;
  // Names seen so far; kernels of a thousand lets would otherwise make naming quadratic.
  std::unordered_map<std::string, int> var_names_, buffer_names_;
  size_t vars_seen_ = 0, buffers_seen_ = 0;
};

}  // namespace fusemark::loops
