#include "compiler/loops/print.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "compiler/ir/number.h"
#include "compiler/support/strings.h"

namespace fusemark::loops {
namespace {

// Binding strength of the printed form; larger binds tighter.
enum Strength : int { kCompareLevel = 0, kSumLevel = 1, kProductLevel = 2, kPrimary = 3 };

std::string_view InfixOf(Op op) {
  switch (op) {
    case Op::kAdd: return "+";
    case Op::kSubtract: return "-";
    case Op::kMultiply: return "*";
    case Op::kDivide: return "/";
    case Op::kRemainder: return "%";
    default: return "";
  }
}

std::string_view InfixOf(Direction direction) {
  switch (direction) {
    case Direction::kEq: return "==";
    case Direction::kNe: return "!=";
    case Direction::kLt: return "<";
    case Direction::kLe: return "<=";
    case Direction::kGt: return ">";
    case Direction::kGe: return ">=";
  }
  return "?";
}

std::string FloatText(DType dtype, uint64_t bits) {
  const double value = FloatFromBits(dtype, bits);
  if (value != value) {
    const bool usual = bits == FloatToBits(dtype, std::numeric_limits<double>::quiet_NaN());
    return usual ? "nan" : fmt::format("nan({:#x})", bits);
  }
  if (dtype == DType::kF64) return fmt::format("{}", value);
  return fmt::format("{}", static_cast<float>(value));
}

std::string ConstantText(const Expr& expr) {
  if (expr.dtype == DType::kPred) return expr.bits != 0 ? "true" : "false";
  if (expr.dtype == DType::kS64) return fmt::format("{}", static_cast<int64_t>(expr.bits));
  const std::string_view type = DTypeName(expr.dtype);
  if (IsFloat(expr.dtype)) return fmt::format("{}:{}", FloatText(expr.dtype, expr.bits), type);
  if (IsSigned(expr.dtype)) return fmt::format("{}:{}", static_cast<int64_t>(expr.bits), type);
  return fmt::format("{}:{}", expr.bits, type);
}

class Printer {
 public:
  Printer(const Kernel& kernel, const PrintOptions& options)
      : kernel_(kernel), canonical_(options.canonical) {}

  std::string Run() {
    Line("kernel @{} class={}", canonical_ ? "k" : kernel_.name, KernelClassName(kernel_.klass));
    for (const BufferId id : kernel_.operands) Declaration(id);
    for (const BufferId id : kernel_.results) Declaration(id);
    for (const BufferId id : kernel_.scratch) Declaration(id);
    out_ += "{\n";
    Body(kernel_.body);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string Text(ExprId id) {
    ExprText(id, kCompareLevel);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void Declaration(BufferId id) {
    const Buffer& buffer = kernel_[id];
    std::string tail;
    if (buffer.in_place_of >= 0) tail = fmt::format(" in_place_of={}", buffer.in_place_of);
    out_ +=
        fmt::format("  {} {}: {}{}\n", SpaceName(buffer.space), Name(id), TypeText(buffer), tail);
  }

  static std::string TypeText(const Buffer& buffer) {
    return fmt::format("{}[{}]", DTypeName(buffer.dtype), JoinInts(buffer.dims));
  }

  // A name is its number of appearance in the canonical form.
  std::string Name(VarId id) {
    if (!canonical_) return kernel_[id].name;
    if (var_numbers_.empty()) var_numbers_.assign(kernel_.vars.size(), -1);
    int& number = var_numbers_[id.index];
    if (number < 0) number = next_var_++;
    return fmt::format("v{}", number);
  }
  std::string Name(BufferId id) {
    if (!canonical_) return "%" + kernel_[id].name;
    if (buffer_numbers_.empty()) buffer_numbers_.assign(kernel_.buffers.size(), -1);
    int& number = buffer_numbers_[id.index];
    if (number < 0) number = next_buffer_++;
    return fmt::format("%{}", number);
  }

  void Body(const Block& block) {
    ++depth_;
    for (const Stmt& stmt : block) Statement(stmt);
    --depth_;
  }

  void Statement(const Stmt& stmt) {
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
    switch (stmt.kind) {
      case StmtKind::kFor: return For(stmt);
      case StmtKind::kIf: return If(stmt);
      case StmtKind::kBarrier: out_ += "barrier\n"; return;
      case StmtKind::kPrefetch:
        out_ += "prefetch ";
        Access(stmt.buffer, stmt.indices);
        out_ += "\n";
        return;
      case StmtKind::kAlloc:
        out_ += fmt::format("alloc {}: {} {}\n", Name(stmt.buffer), TypeText(kernel_[stmt.buffer]),
                            SpaceName(kernel_[stmt.buffer].space));
        return;
      case StmtKind::kLet:
        out_ += fmt::format("let {}: {} = ", Name(stmt.var), DTypeName(kernel_[stmt.var].dtype));
        break;
      case StmtKind::kStore:
        Access(stmt.buffer, stmt.indices);
        out_ += " = ";
        break;
    }
    ExprText(stmt.value, kCompareLevel);
    out_ += '\n';
  }

  void For(const Stmt& stmt) {
    out_ += fmt::format("for {} in {}", Name(stmt.var), stmt.extent);
    if (stmt.loop != LoopKind::kSerial) out_ += fmt::format(" {}", LoopKindName(stmt.loop));
    if (stmt.reduces) out_ += " reduces";
    out_ += " {\n";
    Body(stmt.body);
    Line("}}");
  }

  void If(const Stmt& stmt) {
    out_ += "if (";
    ExprText(stmt.value, kCompareLevel);
    out_ += ") {\n";
    Body(stmt.body);
    if (!stmt.else_body.empty()) {
      Line("}} else {{");
      Body(stmt.else_body);
    }
    Line("}}");
  }

  void List(const std::vector<ExprId>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (i != 0) out_ += ", ";
      ExprText(args[i], kCompareLevel);
    }
  }

  void Access(BufferId buffer, const std::vector<ExprId>& indices) {
    out_ += Name(buffer);
    out_ += '[';
    List(indices);
    out_ += ']';
  }

  void Call(std::string_view name, const std::vector<ExprId>& args) {
    out_ += name;
    out_ += '(';
    List(args);
    out_ += ')';
  }

  // Left-associative: the right side of an equal level needs brackets.
  void Infix(const Expr& expr, std::string_view text, int level, int around) {
    const bool brackets = level < around;
    if (brackets) out_ += '(';
    ExprText(expr.args[0], level == kCompareLevel ? kSumLevel : level);
    out_ += fmt::format(" {} ", text);
    ExprText(expr.args[1], level + 1);
    if (brackets) out_ += ')';
  }

  void ExprText(ExprId id, int around) {
    const Expr& expr = kernel_[id];
    switch (expr.kind) {
      case ExprKind::kConst: out_ += ConstantText(expr); return;
      case ExprKind::kVar: out_ += Name(expr.var); return;
      case ExprKind::kLoad: return Access(expr.buffer, expr.args);
      case ExprKind::kSelect: return Call("select", expr.args);
      case ExprKind::kFma: return Call("fma", expr.args);
      case ExprKind::kCompare: return Infix(expr, InfixOf(expr.direction), kCompareLevel, around);
      case ExprKind::kUnary:
        if (expr.op == Op::kConvert) return Call(DTypeName(expr.dtype), expr.args);
        if (expr.op == Op::kBitcastConvert)
          return Call(fmt::format("bitcast<{}>", DTypeName(expr.dtype)), expr.args);
        return Call(OpName(expr.op), expr.args);
      case ExprKind::kBinary: break;
    }
    const std::string_view infix = InfixOf(expr.op);
    if (infix.empty()) return Call(OpName(expr.op), expr.args);
    const bool sum = expr.op == Op::kAdd || expr.op == Op::kSubtract;
    Infix(expr, infix, sum ? kSumLevel : kProductLevel, around);
  }

  const Kernel& kernel_;
  const bool canonical_;
  std::vector<int> var_numbers_, buffer_numbers_;
  int next_var_ = 0, next_buffer_ = 0;
  std::string out_;
  int depth_ = 0;
};

// Copies what is reachable, in the order the parser creates it.
class Compactor {
 public:
  explicit Compactor(const Kernel& from) : from_(from) {
    vars_.resize(from.vars.size());
    buffers_.resize(from.buffers.size());
  }

  Kernel Run() {
    to_.name = from_.name;
    to_.klass = from_.klass;
    for (const BufferId id : from_.operands) to_.operands.push_back(Map(id));
    for (const BufferId id : from_.results) to_.results.push_back(Map(id));
    for (const BufferId id : from_.scratch) to_.scratch.push_back(Map(id));
    to_.body = Map(from_.body);
    return std::move(to_);
  }

 private:
  VarId Map(VarId id) {
    VarId& mapped = vars_[id.index];
    if (mapped == VarId{}) {
      mapped = {static_cast<uint32_t>(to_.vars.size())};
      to_.vars.push_back(from_[id]);
    }
    return mapped;
  }

  BufferId Map(BufferId id) {
    BufferId& mapped = buffers_[id.index];
    if (mapped == BufferId{}) {
      mapped = {static_cast<uint32_t>(to_.buffers.size())};
      to_.buffers.push_back(from_[id]);
    }
    return mapped;
  }

  ExprId Map(ExprId id) {
    Expr expr = from_[id];
    if (expr.kind == ExprKind::kVar) expr.var = Map(expr.var);
    if (expr.kind == ExprKind::kLoad) expr.buffer = Map(expr.buffer);
    for (ExprId& arg : expr.args) arg = Map(arg);
    to_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(to_.exprs.size() - 1)};
  }

  Block Map(const Block& block) {
    Block mapped;
    mapped.reserve(block.size());
    for (const Stmt& stmt : block) mapped.push_back(Map(stmt));
    return mapped;
  }

  Stmt Map(const Stmt& stmt) {
    Stmt mapped{.kind = stmt.kind, .loop = stmt.loop, .reduces = stmt.reduces};
    mapped.extent = stmt.extent;
    if (stmt.kind == StmtKind::kFor) mapped.var = Map(stmt.var);
    if (stmt.buffer != BufferId{}) mapped.buffer = Map(stmt.buffer);
    for (const ExprId index : stmt.indices) mapped.indices.push_back(Map(index));
    if (stmt.value.valid()) mapped.value = Map(stmt.value);
    if (stmt.kind == StmtKind::kLet) mapped.var = Map(stmt.var);
    mapped.body = Map(stmt.body);
    mapped.else_body = Map(stmt.else_body);
    return mapped;
  }

  const Kernel& from_;
  Kernel to_;
  std::vector<VarId> vars_;
  std::vector<BufferId> buffers_;
};

}  // namespace

std::string Print(const Kernel& kernel, const PrintOptions& options) {
  return Printer(kernel, options).Run();
}

std::string PrintExpr(const Kernel& kernel, ExprId expr) {
  return Printer(kernel, {}).Text(expr);
}

Hash128 TaskId(const Kernel& kernel) {
  return HashText(Print(kernel, {.canonical = true}));
}

Kernel Compacted(const Kernel& kernel) {
  return Compactor(kernel).Run();
}

}  // namespace fusemark::loops
