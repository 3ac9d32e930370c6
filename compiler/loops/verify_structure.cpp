#include "compiler/loops/verify_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "compiler/loops/print.h"
#include "compiler/loops/scalar.h"

namespace fusemark::loops {
namespace {

bool IsOuter(LoopKind kind) {
  return kind == LoopKind::kParallel || kind == LoopKind::kBlock;
}

class Structure {
 public:
  explicit Structure(const Kernel& kernel) : kernel_(kernel) {
    bound_.resize(kernel.vars.size());
    allocated_.resize(kernel.buffers.size());
  }

  Result<void> Run() {
    if (!Declarations()) return Failure();
    for (const Phase& phase : PhasesOf(kernel_)) {
      // Nothing bound or allocated at the top level crosses a phase: phases are separate functions.
      std::fill(bound_.begin(), bound_.end(), false);
      std::fill(allocated_.begin(), allocated_.end(), false);
      for (size_t i = phase.begin; i < phase.end; ++i) {
        if (!Statement(kernel_.body[i])) return Failure();
      }
    }
    return Ok();
  }

 private:
  Error Failure() const { return Invalid(fmt::format("kernel @{}: {}", kernel_.name, error_)); }
  template <class... Args>
  bool Fail(fmt::format_string<Args...> format, Args&&... args) {
    if (error_.empty()) error_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  bool Declarations() {
    std::set<std::string_view> names;
    for (const Buffer& buffer : kernel_.buffers) {
      if (!names.insert(buffer.name).second) return Fail("two buffers are named %{}", buffer.name);
      if (IsComplex(buffer.dtype) || DTypeClass::Opaque == ClassOf(buffer.dtype))
        return Fail("%{} has type {}, which loops cannot hold", buffer.name,
                    DTypeName(buffer.dtype));
      if (std::any_of(buffer.dims.begin(), buffer.dims.end(), [](int64_t dim) { return dim < 0; }))
        return Fail("%{} has a negative dimension", buffer.name);
    }
    names.clear();
    for (const Var& var : kernel_.vars) {
      if (!names.insert(var.name).second) return Fail("two variables are named {}", var.name);
    }
    return Listed(kernel_.operands, Space::kOperand) && Listed(kernel_.results, Space::kResult) &&
           Listed(kernel_.scratch, Space::kScratch) && InPlace();
  }

  bool Listed(const std::vector<BufferId>& list, Space space) {
    for (const BufferId id : list) {
      if (kernel_[id].space != space)
        return Fail("%{} is listed as {} but declared as {}", kernel_[id].name, SpaceName(space),
                    SpaceName(kernel_[id].space));
    }
    return true;
  }

  bool InPlace() {
    for (const BufferId id : kernel_.results) {
      const Buffer& result = kernel_[id];
      if (result.in_place_of < 0) continue;
      if (result.in_place_of >= static_cast<int32_t>(kernel_.operands.size()))
        return Fail("%{} is in place of operand {}, which does not exist", result.name,
                    result.in_place_of);
      const Buffer& operand = kernel_[kernel_.operands[static_cast<size_t>(result.in_place_of)]];
      if (operand.dtype != result.dtype || operand.dims != result.dims)
        return Fail("%{} is in place of %{}, which has another shape", result.name, operand.name);
    }
    return true;
  }

  // ---- statements ----
  bool Body(const Block& block) {
    std::vector<VarId> lets;
    std::vector<BufferId> allocs;
    for (const Stmt& stmt : block) {
      if (!Statement(stmt)) return false;
      if (stmt.kind == StmtKind::kLet) lets.push_back(stmt.var);
      if (stmt.kind == StmtKind::kAlloc) allocs.push_back(stmt.buffer);
    }
    for (const VarId var : lets) bound_[var.index] = false;
    for (const BufferId buffer : allocs) allocated_[buffer.index] = false;
    return true;
  }

  bool Bind(VarId var) {
    if (bound_[var.index]) return Fail("{} is bound again inside its own scope", kernel_[var].name);
    bound_[var.index] = true;
    return true;
  }

  bool Statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kFor: return For(stmt);
      case StmtKind::kStore: return Store(stmt);
      case StmtKind::kLet:
        if (!Expression(stmt.value)) return false;
        if (kernel_[stmt.value].dtype != kernel_[stmt.var].dtype)
          return Fail("let {} is {}, its value is {}", kernel_[stmt.var].name,
                      DTypeName(kernel_[stmt.var].dtype), DTypeName(kernel_[stmt.value].dtype));
        return Bind(stmt.var);
      case StmtKind::kIf:
        if (!Expression(stmt.value)) return false;
        if (kernel_[stmt.value].dtype != DType::kPred)
          return Fail("the condition {} is not pred", PrintExpr(kernel_, stmt.value));
        return Body(stmt.body) && Body(stmt.else_body);
      case StmtKind::kAlloc: return Alloc(stmt);
      case StmtKind::kPrefetch: return Access(stmt.buffer, stmt.indices);
      case StmtKind::kBarrier:
        if (!Inside(LoopKind::kBlock)) return Fail("a barrier stands outside a block loop");
        if (Inside(LoopKind::kVector)) return Fail("a barrier stands inside a vector loop");
        return true;
    }
    return true;
  }

  bool Inside(LoopKind kind) const {
    return std::find(loops_.begin(), loops_.end(), kind) != loops_.end();
  }

  bool For(const Stmt& stmt) {
    const std::string& name = kernel_[stmt.var].name;
    if (kernel_[stmt.var].dtype != DType::kS64) return Fail("loop variable {} is not s64", name);
    if (stmt.extent < 0) return Fail("loop {} has the extent {}", name, stmt.extent);
    const bool nested_block = stmt.loop == LoopKind::kBlock && !loops_.empty() &&
                              std::all_of(loops_.begin(), loops_.end(),
                                          [](LoopKind kind) { return kind == LoopKind::kBlock; });
    if (IsOuter(stmt.loop) && depth_ != 0 && !nested_block)
      return Fail("{} loop {} is not the outermost statement of its phase", LoopKindName(stmt.loop),
                  name);
    if (stmt.loop == LoopKind::kThread && !Inside(LoopKind::kBlock))
      return Fail("thread loop {} stands outside a block loop", name);
    if (stmt.loop == LoopKind::kVector && Inside(LoopKind::kVector))
      return Fail("vector loop {} stands inside another vector loop", name);
    if (stmt.reduces && stmt.loop != LoopKind::kSerial && stmt.loop != LoopKind::kUnroll)
      return Fail("loop {} reduces, so it must be serial or unroll, not {}", name,
                  LoopKindName(stmt.loop));
    if (!Bind(stmt.var)) return false;
    loops_.push_back(stmt.loop);
    ++depth_;
    const bool ok = Body(stmt.body);
    --depth_;
    loops_.pop_back();
    bound_[stmt.var.index] = false;
    return ok;
  }

  bool Alloc(const Stmt& stmt) {
    const Buffer& buffer = kernel_[stmt.buffer];
    const bool local = buffer.space == Space::kRegister || buffer.space == Space::kStack ||
                       buffer.space == Space::kShared;
    if (!local) return Fail("alloc of %{}, which is {}", buffer.name, SpaceName(buffer.space));
    if (buffer.space == Space::kShared && !Inside(LoopKind::kBlock))
      return Fail("%{} is shared but allocated outside a block loop", buffer.name);
    if (allocated_[stmt.buffer.index])
      return Fail("%{} is allocated again inside its own scope", buffer.name);
    allocated_[stmt.buffer.index] = true;
    return true;
  }

  bool Store(const Stmt& stmt) {
    if (!Access(stmt.buffer, stmt.indices) || !Expression(stmt.value)) return false;
    const Buffer& buffer = kernel_[stmt.buffer];
    if (buffer.space == Space::kOperand) return Fail("store to operand %{}", buffer.name);
    if (buffer.dtype != kernel_[stmt.value].dtype)
      return Fail("store of {} to %{}, which is {}", DTypeName(kernel_[stmt.value].dtype),
                  buffer.name, DTypeName(buffer.dtype));
    return true;
  }

  bool Access(BufferId id, const std::vector<ExprId>& indices) {
    const Buffer& buffer = kernel_[id];
    const bool local = buffer.space == Space::kRegister || buffer.space == Space::kStack ||
                       buffer.space == Space::kShared;
    if (local && !allocated_[id.index])
      return Fail("%{} is used outside the scope of its alloc", buffer.name);
    if (indices.size() != buffer.dims.size())
      return Fail("%{} has {} dimensions but is accessed with {} indices", buffer.name,
                  buffer.dims.size(), indices.size());
    for (const ExprId index : indices) {
      if (!Expression(index)) return false;
      if (kernel_[index].dtype != DType::kS64)
        return Fail("index {} of %{} is {}, not s64", PrintExpr(kernel_, index), buffer.name,
                    DTypeName(kernel_[index].dtype));
    }
    return true;
  }

  // ---- expressions ----
  bool Expression(ExprId id) {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kVar) {
      if (!bound_[expr.var.index])
        return Fail("{} is used outside its scope", kernel_[expr.var].name);
      return expr.dtype == kernel_[expr.var].dtype || TypeError(id);
    }
    if (expr.kind == ExprKind::kLoad)
      return Access(expr.buffer, expr.args) &&
             (expr.dtype == kernel_[expr.buffer].dtype || TypeError(id));
    for (const ExprId arg : expr.args) {
      if (!Expression(arg)) return false;
    }
    return expr.kind == ExprKind::kConst || Typed(id);
  }

  bool TypeError(ExprId id) {
    return Fail("{} cannot have the type {}", PrintExpr(kernel_, id), DTypeName(kernel_[id].dtype));
  }

  bool Typed(ExprId id) {
    const Expr& expr = kernel_[id];
    const auto type = [&](size_t i) { return kernel_[expr.args[i]].dtype; };
    const size_t arity = expr.kind == ExprKind::kUnary                                       ? 1
                         : expr.kind == ExprKind::kBinary || expr.kind == ExprKind::kCompare ? 2
                                                                                             : 3;
    if (expr.args.size() != arity)
      return Fail("an expression has {} arguments, expected {}", expr.args.size(), arity);
    switch (expr.kind) {
      case ExprKind::kUnary: return Unary(id, type(0));
      case ExprKind::kBinary:
        if (type(0) != type(1) || type(0) != expr.dtype) return TypeError(id);
        return BinaryFunction(expr.op, expr.dtype) != nullptr || NoOperation(id);
      case ExprKind::kCompare:
        if (type(0) != type(1) || expr.dtype != DType::kPred) return TypeError(id);
        return CompareFunction(expr.direction, type(0)) != nullptr || NoOperation(id);
      case ExprKind::kSelect:
        if (type(0) != DType::kPred || type(1) != expr.dtype || type(2) != expr.dtype)
          return TypeError(id);
        return true;
      case ExprKind::kFma:
        if (type(0) != expr.dtype || type(1) != expr.dtype || type(2) != expr.dtype)
          return TypeError(id);
        return FmaFunction(expr.dtype) != nullptr || NoOperation(id);
      default: return true;
    }
  }

  bool Unary(ExprId id, DType operand) {
    const Expr& expr = kernel_[id];
    ScalarFunction function = nullptr;
    if (expr.op == Op::kConvert) {
      function = ConvertFunction(operand, expr.dtype);
    } else if (expr.op == Op::kBitcastConvert) {
      function = BitcastFunction(operand, expr.dtype);
    } else {
      function = UnaryFunction(expr.op, operand);
      if (expr.dtype != (expr.op == Op::kIsFinite ? DType::kPred : operand)) return TypeError(id);
    }
    return function != nullptr || NoOperation(id);
  }

  bool NoOperation(ExprId id) {
    const Expr& expr = kernel_[id];
    return Fail("{}: the operation does not exist on {} (narrow floats convert first)",
                PrintExpr(kernel_, id), DTypeName(kernel_[expr.args[0]].dtype));
  }

  const Kernel& kernel_;
  std::vector<bool> bound_, allocated_;
  std::vector<LoopKind> loops_;
  int depth_ = 0;
  std::string error_;
};

}  // namespace

Result<void> VerifyStructure(const Kernel& kernel) {
  return Structure(kernel).Run();
}

}  // namespace fusemark::loops
