#include "compiler/loops/builder.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "compiler/ir/number.h"
#include "compiler/support/check.h"

namespace fusemark::loops {
namespace {

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

// Words that mean something else where the text form expects a variable.
bool IsReserved(std::string_view name) {
  return name == "true" || name == "false" || name == "inf" || name == "nan" || name == "let" ||
         name == "for" || name == "if" || name == "else" || name == "alloc" || name == "barrier";
}

std::string Sanitised(std::string_view name) {
  std::string clean;
  for (const char c : name) clean += IsNameChar(c) ? c : '_';
  const bool starts_well =
      !clean.empty() &&
      (std::isalpha(static_cast<unsigned char>(clean[0])) != 0 || clean[0] == '_');
  if (!starts_well) clean.insert(0, "_");
  if (clean.back() == '-') clean.back() = '_';
  if (IsReserved(clean)) clean += '_';
  return clean;
}

bool IsIndexConstant(const Expr& expr) {
  return expr.kind == ExprKind::kConst && expr.dtype == DType::kS64;
}

int64_t Value(const Expr& expr) {
  return static_cast<int64_t>(expr.bits);
}

// HLO semantics on s64: wrap, x / 0 = -1, x % 0 = x.
std::optional<int64_t> FoldConstants(Op op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  switch (op) {
    case Op::kAdd: return static_cast<int64_t>(ua + ub);
    case Op::kSubtract: return static_cast<int64_t>(ua - ub);
    case Op::kMultiply: return static_cast<int64_t>(ua * ub);
    case Op::kMaximum: return std::max(a, b);
    case Op::kMinimum: return std::min(a, b);
    case Op::kDivide: return b == 0 ? -1 : (a == kMin && b == -1) ? kMin : a / b;
    case Op::kRemainder: return b == 0 ? a : b == -1 ? 0 : a % b;
    default: return std::nullopt;
  }
}

bool Holds(Direction direction, int64_t a, int64_t b) {
  switch (direction) {
    case Direction::kEq: return a == b;
    case Direction::kNe: return a != b;
    case Direction::kLt: return a < b;
    case Direction::kLe: return a <= b;
    case Direction::kGt: return a > b;
    case Direction::kGe: return a >= b;
  }
  return false;
}

DType UnaryType(Op op, DType operand) {
  return op == Op::kIsFinite ? DType::kPred : operand;
}

}  // namespace

std::string Builder::UniqueName(std::string_view name, bool buffer) {
  auto& names = buffer ? buffer_names_ : var_names_;
  if (buffer) {
    for (; buffers_seen_ < kernel_.buffers.size(); ++buffers_seen_)
      names.try_emplace(kernel_.buffers[buffers_seen_].name, 1);
  } else {
    for (; vars_seen_ < kernel_.vars.size(); ++vars_seen_)
      names.try_emplace(kernel_.vars[vars_seen_].name, 1);
  }
  const std::string base = Sanitised(name);
  auto [place, fresh] = names.try_emplace(base, 1);
  if (fresh) return base;
  // `i0` continues as `i0_1`, not `i01`, which could be the name of another loop.
  const bool ends_in_digit = std::isdigit(static_cast<unsigned char>(base.back())) != 0;
  int& next = place->second;
  std::string candidate;
  do {
    candidate = base + (ends_in_digit ? "_" : "") + std::to_string(next++);
  } while (names.contains(candidate));
  names.emplace(candidate, 1);
  return candidate;
}

BufferId Builder::AddBuffer(std::string name, DType dtype, std::vector<int64_t> dims, Space space) {
  Buffer buffer;
  buffer.name = UniqueName(name, true);
  buffer.dtype = dtype;
  buffer.dims = std::move(dims);
  buffer.space = space;
  kernel_.buffers.push_back(std::move(buffer));
  return {static_cast<uint32_t>(kernel_.buffers.size() - 1)};
}

BufferId Builder::AddOperand(std::string name, DType dtype, std::vector<int64_t> dims) {
  const BufferId id = AddBuffer(std::move(name), dtype, std::move(dims), Space::kOperand);
  kernel_.operands.push_back(id);
  return id;
}

BufferId Builder::AddResult(std::string name, DType dtype, std::vector<int64_t> dims) {
  const BufferId id = AddBuffer(std::move(name), dtype, std::move(dims), Space::kResult);
  kernel_.results.push_back(id);
  return id;
}

BufferId Builder::AddScratch(std::string name, DType dtype, std::vector<int64_t> dims) {
  const BufferId id = AddBuffer(std::move(name), dtype, std::move(dims), Space::kScratch);
  kernel_.scratch.push_back(id);
  return id;
}

BufferId Builder::AddLocal(std::string name, DType dtype, std::vector<int64_t> dims, Space space) {
  FM_CHECK(space == Space::kRegister || space == Space::kStack || space == Space::kShared);
  return AddBuffer(std::move(name), dtype, std::move(dims), space);
}

VarId Builder::AddVar(std::string_view name, DType dtype) {
  kernel_.vars.push_back({UniqueName(name, false), dtype});
  return {static_cast<uint32_t>(kernel_.vars.size() - 1)};
}

VarId Builder::SameVar(std::string_view name, DType dtype) {
  const std::string clean = Sanitised(name);
  for (uint32_t i = 0; i < kernel_.vars.size(); ++i) {
    if (kernel_.vars[i].name != clean) continue;
    FM_CHECK(kernel_.vars[i].dtype == dtype, "variable " + clean + " exists with another type");
    return {i};
  }
  return AddVar(name, dtype);
}

ExprId Builder::Append(Expr expr) {
  kernel_.exprs.push_back(std::move(expr));
  return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
}

ExprId Builder::Index(int64_t value) {
  return Constant(DType::kS64, static_cast<uint64_t>(value));
}

ExprId Builder::Constant(DType dtype, uint64_t bits) {
  return Append({.kind = ExprKind::kConst, .dtype = dtype, .bits = bits});
}

ExprId Builder::FloatConstant(DType dtype, double value) {
  FM_CHECK(IsFloat(dtype));
  return Constant(dtype, FloatToBits(dtype, value));
}

ExprId Builder::Use(VarId var) {
  return Append({.kind = ExprKind::kVar, .dtype = kernel_[var].dtype, .var = var});
}

ExprId Builder::Load(BufferId buffer, std::vector<ExprId> indices) {
  FM_CHECK(indices.size() == kernel_[buffer].dims.size(),
           "load of %" + kernel_[buffer].name + " with the wrong number of indices");
  const DType dtype = kernel_[buffer].dtype;
  return Append(
      {.kind = ExprKind::kLoad, .dtype = dtype, .buffer = buffer, .args = std::move(indices)});
}

ExprId Builder::Unary(Op op, ExprId a) {
  FM_CHECK(op != Op::kConvert, "use Convert");
  const DType dtype = UnaryType(op, kernel_[a].dtype);
  return Append({.kind = ExprKind::kUnary, .dtype = dtype, .op = op, .args = {a}});
}

ExprId Builder::Convert(ExprId a, DType to) {
  if (kernel_[a].dtype == to) return a;
  return Append({.kind = ExprKind::kUnary, .dtype = to, .op = Op::kConvert, .args = {a}});
}

ExprId Builder::BitcastConvert(ExprId a, DType to) {
  if (kernel_[a].dtype == to) return a;
  FM_CHECK(ByteSize(kernel_[a].dtype) == ByteSize(to));
  return Append({.kind = ExprKind::kUnary, .dtype = to, .op = Op::kBitcastConvert, .args = {a}});
}

// Index identities. Invalid when nothing applies. Constants are kept on the right, so that chains
// of `+ c` and `* c` collapse.
ExprId Builder::FoldBinary(Op op, ExprId a, ExprId b) {
  const Expr ea = kernel_[a], eb = kernel_[b];  // copies: the arena grows below
  if (IsIndexConstant(ea) && IsIndexConstant(eb)) {
    if (const auto folded = FoldConstants(op, Value(ea), Value(eb))) return Index(*folded);
  }
  if (!IsIndexConstant(eb)) {
    const bool swap = IsIndexConstant(ea) && IsCommutative(op);
    return swap ? Binary(op, b, a) : ExprId{};
  }
  const int64_t value = Value(eb);
  const bool chain = ea.kind == ExprKind::kBinary && ea.op == op && ea.args.size() == 2 &&
                     IsIndexConstant(kernel_[ea.args[1]]);
  switch (op) {
    case Op::kAdd:
      if (value == 0) return a;
      if (chain) return Binary(op, ea.args[0], Binary(op, ea.args[1], b));
      return {};
    case Op::kSubtract:
      if (value == std::numeric_limits<int64_t>::min()) return {};
      return Binary(Op::kAdd, a, Index(-value));
    case Op::kMultiply:
      if (value == 0) return Index(0);
      if (value == 1) return a;
      if (chain) return Binary(op, ea.args[0], Binary(op, ea.args[1], b));
      return {};
    case Op::kDivide: return value == 1 ? a : ExprId{};
    case Op::kRemainder: return value == 1 ? Index(0) : ExprId{};
    default: return {};
  }
}

ExprId Builder::Binary(Op op, ExprId a, ExprId b) {
  FM_CHECK(kernel_[a].dtype == kernel_[b].dtype,
           "operands of " + std::string(OpName(op)) + " have different types");
  const DType dtype = kernel_[a].dtype;
  if (dtype == DType::kS64) {
    const ExprId folded = FoldBinary(op, a, b);
    if (folded.valid()) return folded;
  }
  return Append({.kind = ExprKind::kBinary, .dtype = dtype, .op = op, .args = {a, b}});
}

ExprId Builder::Compare(Direction direction, ExprId a, ExprId b) {
  const Expr &ea = kernel_[a], &eb = kernel_[b];
  FM_CHECK(ea.dtype == eb.dtype, "operands of compare have different types");
  if (IsIndexConstant(ea) && IsIndexConstant(eb))
    return Constant(DType::kPred, Holds(direction, Value(ea), Value(eb)) ? 1 : 0);
  return Append(
      {.kind = ExprKind::kCompare, .dtype = DType::kPred, .direction = direction, .args = {a, b}});
}

ExprId Builder::Select(ExprId condition, ExprId a, ExprId b) {
  const Expr& choice = kernel_[condition];
  FM_CHECK(choice.dtype == DType::kPred, "condition of select is not pred");
  FM_CHECK(kernel_[a].dtype == kernel_[b].dtype, "sides of select have different types");
  if (choice.kind == ExprKind::kConst) return choice.bits != 0 ? a : b;
  const DType dtype = kernel_[a].dtype;
  return Append({.kind = ExprKind::kSelect, .dtype = dtype, .args = {condition, a, b}});
}

ExprId Builder::Fma(ExprId a, ExprId b, ExprId c) {
  const DType dtype = kernel_[a].dtype;
  FM_CHECK(dtype == kernel_[b].dtype && dtype == kernel_[c].dtype);
  return Append({.kind = ExprKind::kFma, .dtype = dtype, .args = {a, b, c}});
}

ExprId Builder::Mul(ExprId a, int64_t factor) {
  return Binary(Op::kMultiply, a, Index(factor));
}

ExprId Builder::Div(ExprId a, int64_t divisor) {
  FM_CHECK(divisor > 0);
  return Binary(Op::kDivide, a, Index(divisor));
}

ExprId Builder::Mod(ExprId a, int64_t divisor) {
  FM_CHECK(divisor > 0);
  return Binary(Op::kRemainder, a, Index(divisor));
}

ExprId Builder::ClampIndex(ExprId a, int64_t low, int64_t high) {
  return Binary(Op::kMinimum, Binary(Op::kMaximum, a, Index(low)), Index(high));
}

Stmt Builder::For(VarId var, int64_t extent, Block body, LoopKind kind, bool reduces) {
  Stmt stmt{.kind = StmtKind::kFor, .loop = kind, .reduces = reduces, .var = var, .extent = extent};
  stmt.body = std::move(body);
  return stmt;
}

Stmt Builder::Store(BufferId buffer, std::vector<ExprId> indices, ExprId value) {
  FM_CHECK(indices.size() == kernel_[buffer].dims.size(),
           "store to %" + kernel_[buffer].name + " with the wrong number of indices");
  FM_CHECK(kernel_[buffer].dtype == kernel_[value].dtype,
           "store to %" + kernel_[buffer].name + " of another type");
  Stmt stmt{.kind = StmtKind::kStore, .buffer = buffer};
  stmt.indices = std::move(indices);
  stmt.value = value;
  return stmt;
}

Stmt Builder::Prefetch(BufferId buffer, std::vector<ExprId> indices) {
  Stmt stmt{.kind = StmtKind::kPrefetch, .buffer = buffer};
  stmt.indices = std::move(indices);
  return stmt;
}

Stmt Builder::Let(VarId var, ExprId value) {
  FM_CHECK(kernel_[var].dtype == kernel_[value].dtype,
           "let " + kernel_[var].name + " of another type");
  Stmt stmt{.kind = StmtKind::kLet, .var = var};
  stmt.value = value;
  return stmt;
}

Stmt Builder::If(ExprId condition, Block then_body, Block else_body) {
  Stmt stmt{.kind = StmtKind::kIf};
  stmt.value = condition;
  stmt.body = std::move(then_body);
  stmt.else_body = std::move(else_body);
  return stmt;
}

Stmt Builder::Alloc(BufferId buffer) {
  return {.kind = StmtKind::kAlloc, .buffer = buffer};
}

Stmt Builder::Barrier() {
  return {.kind = StmtKind::kBarrier};
}

}  // namespace fusemark::loops
