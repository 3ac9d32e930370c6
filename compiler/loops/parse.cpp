#include "compiler/loops/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "compiler/ir/number.h"

namespace fusemark::loops {
namespace {

// Deeper text is an attack or a mistake; the recursive parser must not run out of stack.
constexpr int kDepthLimit = 500;
constexpr int kBufferRankLimit = 64;

bool IsAlpha(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Kernel> Run() {
    if (WholeKernel() && AtEnd()) return std::move(kernel_);
    return Invalid(error_, where_);
  }

 private:
  // ---- text ----
  bool Fail(const std::string& message) {
    if (!error_.empty()) return false;
    where_ = {1, 1};
    for (size_t i = 0; i < std::min(pos_, text_.size()); ++i) {
      if (text_[i] == '\n') {
        ++where_.line;
        where_.column = 1;
      } else {
        ++where_.column;
      }
    }
    error_ = fmt::format("{}:{}: {}", where_.line, where_.column, message);
    return false;
  }

  bool Expected(std::string_view what) {
    return Fail(fmt::format("expected {}, found {}", what, Found()));
  }

  std::string Found() {
    Skip();
    if (pos_ >= text_.size()) return "the end of the text";
    if (text_[pos_] == '\n') return "the end of the line";
    size_t end = pos_ + 1;
    if (IsAlpha(text_[pos_]) || IsDigit(text_[pos_])) {
      while (end < text_.size() && end < pos_ + 40 && (IsAlpha(text_[end]) || IsDigit(text_[end])))
        ++end;
    }
    return fmt::format("'{}'", text_.substr(pos_, end - pos_));
  }

  void Skip() {
    while (pos_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[pos_])) != 0) {
        ++pos_;
      } else if (text_.substr(pos_, 2) == "//") {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else {
        return;
      }
    }
  }

  bool AtEnd() {
    Skip();
    return pos_ == text_.size() || Expected("the end of the text after the kernel");
  }

  bool Peek(std::string_view symbol) {
    Skip();
    return text_.substr(pos_, symbol.size()) == symbol;
  }
  bool Take(std::string_view symbol) {
    if (!Peek(symbol)) return false;
    pos_ += symbol.size();
    return true;
  }
  bool Need(std::string_view symbol) {
    return Take(symbol) || Expected(fmt::format("'{}'", symbol));
  }

  // Letters, digits, '_', '.', and '-' between a name character and a letter (HLO names, opcodes).
  std::string_view PeekName(bool digits_first = false) {
    Skip();
    size_t end = pos_;
    if (end >= text_.size() || !(IsAlpha(text_[end]) || (digits_first && IsDigit(text_[end]))))
      return {};
    while (end < text_.size()) {
      const char c = text_[end];
      const bool dash = c == '-' && end + 1 < text_.size() &&
                        (IsAlpha(text_[end + 1]) || (digits_first && IsDigit(text_[end + 1])));
      if (!IsAlpha(c) && !IsDigit(c) && c != '.' && !dash) break;
      ++end;
    }
    return text_.substr(pos_, end - pos_);
  }
  bool Name(std::string_view& name, std::string_view what, bool digits_first = false) {
    name = PeekName(digits_first);
    if (name.empty()) return Expected(what);
    pos_ += name.size();
    return true;
  }
  bool Word(std::string_view word) {
    if (PeekName() != word) return false;
    pos_ += word.size();
    return true;
  }

  bool Integer(int64_t& value, std::string_view what) {
    Skip();
    const char* first = text_.data() + pos_;
    const char* last = text_.data() + text_.size();
    const auto [end, code] = std::from_chars(first, last, value);
    if (code == std::errc::result_out_of_range) return Fail("the integer does not fit in s64");
    if (code != std::errc()) return Expected(what);
    pos_ += static_cast<size_t>(end - first);
    return true;
  }

  bool Type(DType& dtype) {
    const size_t start = pos_;
    std::string_view name;
    if (!Name(name, "an element type")) return false;
    const auto found = DTypeFromName(name);
    if (!found) {
      pos_ = start;
      return Expected("an element type");
    }
    dtype = *found;
    return true;
  }

  // ---- declarations ----
  bool WholeKernel() {
    std::string_view name, klass;
    if (!Word("kernel")) return Expected("'kernel'");
    if (!Need("@") || !Name(name, "a kernel name", true)) return false;
    kernel_.name = name;
    if (!Word("class") || !Need("=")) return Expected("'class='");
    if (!Name(klass, "a kernel class")) return false;
    const auto known = KernelClassFromName(klass);
    if (!known)
      return Fail(
          fmt::format("unknown kernel class '{}', expected loop, reduce, row, contraction, "
                      "window or update",
                      klass));
    kernel_.klass = *known;
    while (!Peek("{")) {
      if (!Declaration()) return false;
    }
    return Braces(kernel_.body);
  }

  bool Declaration() {
    Buffer buffer;
    std::vector<BufferId>* list = nullptr;
    if (Word("operand")) {
      buffer.space = Space::kOperand;
      list = &kernel_.operands;
    } else if (Word("result")) {
      buffer.space = Space::kResult;
      list = &kernel_.results;
    } else if (Word("scratch")) {
      buffer.space = Space::kScratch;
      list = &kernel_.scratch;
    } else {
      return Expected("'operand', 'result', 'scratch' or '{'");
    }
    BufferId id;
    if (!NewBuffer(buffer, id)) return false;
    if (Word("in_place_of")) {
      int64_t operand = 0;
      if (!Need("=") || !Integer(operand, "an operand number")) return false;
      if (operand < 0 || operand >= static_cast<int64_t>(kernel_.operands.size()))
        return Fail(fmt::format("in_place_of={} names no operand; the kernel has {}", operand,
                                kernel_.operands.size()));
      kernel_.buffers[id.index].in_place_of = static_cast<int32_t>(operand);
    }
    list->push_back(id);
    return true;
  }

  // `%name: f32[2,3]`
  bool NewBuffer(Buffer buffer, BufferId& id) {
    std::string_view name;
    if (!BufferType(buffer, name)) return false;
    if (buffers_.contains(buffer.name))
      return Fail(fmt::format("buffer %{} is declared twice", name));
    id = {static_cast<uint32_t>(kernel_.buffers.size())};
    buffers_.emplace(buffer.name, id);
    kernel_.buffers.push_back(std::move(buffer));
    return true;
  }

  bool BufferType(Buffer& buffer, std::string_view& name) {
    if (!Need("%") || !Name(name, "a buffer name", true) || !Need(":")) return false;
    buffer.name = name;
    if (!Type(buffer.dtype) || !Need("[")) return false;
    while (!Take("]")) {
      int64_t dim = 0;
      if (!buffer.dims.empty() && !Need(",")) return false;
      if (!Integer(dim, "a dimension")) return false;
      if (dim < 0) return Fail(fmt::format("dimension {} of %{} is negative", dim, name));
      buffer.dims.push_back(dim);
      if (buffer.dims.size() > kBufferRankLimit) return Fail("too many dimensions");
    }
    return true;
  }

  // ---- statements ----
  bool Braces(Block& block) {
    if (++depth_ > kDepthLimit) return Fail("nested too deeply");
    if (!Need("{")) return false;
    while (!Take("}")) {
      Stmt stmt;
      if (!Statement(stmt)) return false;
      block.push_back(std::move(stmt));
    }
    --depth_;
    return true;
  }

  bool Statement(Stmt& stmt) {
    if (Peek("%")) return Store(stmt);
    if (Word("for")) return For(stmt);
    if (Word("if")) return If(stmt);
    if (Word("let")) return Let(stmt);
    if (Word("alloc")) return Alloc(stmt);
    if (Word("barrier")) {
      stmt.kind = StmtKind::kBarrier;
      return true;
    }
    if (Word("prefetch")) {
      stmt.kind = StmtKind::kPrefetch;
      return Access(stmt.buffer, stmt.indices);
    }
    return Expected("a statement (for, if, let, alloc, barrier, prefetch or a store) or '}'");
  }

  bool For(Stmt& stmt) {
    stmt.kind = StmtKind::kFor;
    std::string_view name;
    if (!Name(name, "a loop variable") || !Variable(name, DType::kS64, stmt.var)) return false;
    if (!Word("in")) return Expected("'in'");
    if (!Integer(stmt.extent, "the number of iterations")) return false;
    if (stmt.extent < 0) return Fail(fmt::format("loop {} has a negative extent", name));
    while (!Peek("{")) {
      std::string_view word;
      if (!Name(word, "a loop kind, 'reduces' or '{'")) return false;
      if (word == "reduces") {
        stmt.reduces = true;
      } else if (const auto kind = LoopKindFromName(word)) {
        stmt.loop = *kind;
      } else {
        return Fail(
            fmt::format("unknown loop kind '{}', expected serial, parallel, vector, "
                        "unroll, block, thread or reduces",
                        word));
      }
    }
    return Braces(stmt.body);
  }

  bool If(Stmt& stmt) {
    stmt.kind = StmtKind::kIf;
    if (!Need("(") || !Expression(stmt.value) || !NeedType(stmt.value, DType::kPred) || !Need(")"))
      return false;
    if (!Braces(stmt.body)) return false;
    return !Word("else") || Braces(stmt.else_body);
  }

  bool Let(Stmt& stmt) {
    stmt.kind = StmtKind::kLet;
    std::string_view name;
    DType dtype = DType::kS64;
    if (!Name(name, "a variable") || !Need(":") || !Type(dtype) || !Need("=")) return false;
    if (!Expression(stmt.value) || !NeedType(stmt.value, dtype)) return false;
    return Variable(name, dtype, stmt.var);
  }

  bool Alloc(Stmt& stmt) {
    stmt.kind = StmtKind::kAlloc;
    Buffer buffer;
    std::string_view name, space;
    if (!BufferType(buffer, name) || !Name(space, "register, stack or shared")) return false;
    if (space == "register") {
      buffer.space = Space::kRegister;
    } else if (space == "stack") {
      buffer.space = Space::kStack;
    } else if (space == "shared") {
      buffer.space = Space::kShared;
    } else {
      return Fail(fmt::format("expected register, stack or shared, found '{}'", space));
    }
    const auto found = buffers_.find(buffer.name);
    if (found != buffers_.end()) {  // one local buffer may be allocated in disjoint scopes
      if (!(kernel_[found->second] == buffer))
        return Fail(fmt::format("%{} was declared before with another type or space", name));
      stmt.buffer = found->second;
      return true;
    }
    stmt.buffer = {static_cast<uint32_t>(kernel_.buffers.size())};
    buffers_.emplace(buffer.name, stmt.buffer);
    kernel_.buffers.push_back(std::move(buffer));
    return true;
  }

  bool Store(Stmt& stmt) {
    stmt.kind = StmtKind::kStore;
    if (!Access(stmt.buffer, stmt.indices) || !Need("=") || !Expression(stmt.value)) return false;
    return NeedType(stmt.value, kernel_[stmt.buffer].dtype);
  }

  // One name is one variable; it may be bound again in another scope with the same type.
  bool Variable(std::string_view name, DType dtype, VarId& var) {
    const auto [place, fresh] =
        vars_.try_emplace(std::string(name), VarId{static_cast<uint32_t>(kernel_.vars.size())});
    if (fresh) kernel_.vars.push_back({std::string(name), dtype});
    var = place->second;
    if (kernel_[var].dtype == dtype) return true;
    return Fail(fmt::format("variable {} was bound before as {}, here as {}", name,
                            DTypeName(kernel_[var].dtype), DTypeName(dtype)));
  }

  // ---- expressions ----
  ExprId Append(Expr expr) {
    kernel_.exprs.push_back(std::move(expr));
    return {static_cast<uint32_t>(kernel_.exprs.size() - 1)};
  }

  bool NeedType(ExprId id, DType dtype) {
    const DType found = kernel_[id].dtype;
    return found == dtype || Fail(fmt::format("expected a value of type {}, found {}",
                                              DTypeName(dtype), DTypeName(found)));
  }

  bool Expression(ExprId& result) {
    if (++depth_ > kDepthLimit) return Fail("nested too deeply");
    ExprId left;
    if (!Sum(left)) return false;
    Direction direction = Direction::kEq;
    if (TakeDirection(direction)) {
      ExprId right;
      if (!Sum(right) || !NeedType(right, kernel_[left].dtype)) return false;
      left = Append({.kind = ExprKind::kCompare,
                     .dtype = DType::kPred,
                     .direction = direction,
                     .args = {left, right}});
    }
    --depth_;
    result = left;
    return true;
  }

  bool TakeDirection(Direction& direction) {
    static constexpr std::pair<std::string_view, Direction> kDirections[] = {
        {"==", Direction::kEq}, {"!=", Direction::kNe}, {"<=", Direction::kLe},
        {">=", Direction::kGe}, {"<", Direction::kLt},  {">", Direction::kGt}};
    for (const auto& [symbol, meaning] : kDirections) {
      if (!Take(symbol)) continue;
      direction = meaning;
      return true;
    }
    return false;
  }

  bool Infix(ExprId& left, Op op, ExprId right) {
    if (!NeedType(right, kernel_[left].dtype)) return false;
    const DType dtype = kernel_[left].dtype;
    left = Append({.kind = ExprKind::kBinary, .dtype = dtype, .op = op, .args = {left, right}});
    return true;
  }

  bool Sum(ExprId& left) {
    if (!Product(left)) return false;
    for (;;) {
      const bool add = Take("+");
      if (!add && !Take("-")) return true;
      ExprId right;
      if (!Product(right) || !Infix(left, add ? Op::kAdd : Op::kSubtract, right)) return false;
    }
  }

  // '%' directly before a name that starts a statement on a new line is a store, not a remainder.
  bool TakeRemainder() {
    if (!Peek("%")) return false;
    const bool spaced = pos_ + 1 < text_.size() && text_[pos_ + 1] == ' ';
    if (spaced) ++pos_;
    return spaced;
  }

  bool Product(ExprId& left) {
    if (!Primary(left)) return false;
    for (;;) {
      Op op = Op::kMultiply;
      if (Take("*")) {
        op = Op::kMultiply;
      } else if (!Peek("//") && Take("/")) {
        op = Op::kDivide;
      } else if (TakeRemainder()) {
        op = Op::kRemainder;
      } else {
        return true;
      }
      ExprId right;
      if (!Primary(right) || !Infix(left, op, right)) return false;
    }
  }

  bool Primary(ExprId& result) {
    if (Take("(")) return Expression(result) && Need(")");
    if (Peek("%")) {
      BufferId buffer;
      std::vector<ExprId> indices;
      if (!Access(buffer, indices)) return false;
      const DType dtype = kernel_[buffer].dtype;
      result = Append(
          {.kind = ExprKind::kLoad, .dtype = dtype, .buffer = buffer, .args = std::move(indices)});
      return true;
    }
    Skip();
    const bool digit = pos_ < text_.size() && IsDigit(text_[pos_]);
    const std::string_view name = PeekName();
    if (digit || Peek("-") || name == "inf" || name == "nan") return Number(result);
    if (name.empty()) return Expected("an expression");
    const size_t start = pos_;
    pos_ += name.size();
    if (name == "true" || name == "false") {
      result = Append({.kind = ExprKind::kConst, .dtype = DType::kPred, .bits = name == "true"});
      return true;
    }
    if (Peek("(") || Peek("<")) {
      bool is_call = false;
      const bool ok = Call(name, start, result, is_call);
      if (is_call) return ok;
    }
    const auto var = vars_.find(std::string(name));
    if (var == vars_.end()) {
      pos_ = start;
      return Fail(fmt::format("unknown variable '{}'", name));
    }
    const DType dtype = kernel_[var->second].dtype;
    result = Append({.kind = ExprKind::kVar, .dtype = dtype, .var = var->second});
    return true;
  }

  bool Access(BufferId& buffer, std::vector<ExprId>& indices) {
    std::string_view name;
    const size_t start = pos_;
    if (!Need("%") || !Name(name, "a buffer name", true)) return false;
    const auto found = buffers_.find(std::string(name));
    if (found == buffers_.end()) {
      pos_ = start;
      Skip();
      return Fail(fmt::format("unknown buffer %{}", name));
    }
    buffer = found->second;
    if (!Need("[")) return false;
    while (!Take("]")) {
      if (!indices.empty() && !Need(",")) return false;
      ExprId index;
      if (!Expression(index) || !NeedType(index, DType::kS64)) return false;
      indices.push_back(index);
    }
    const size_t rank = kernel_[buffer].dims.size();
    return indices.size() == rank ||
           Fail(fmt::format("%{} has {} dimensions, found {} indices", name, rank, indices.size()));
  }

  bool Arguments(std::vector<ExprId>& args) {
    if (!Need("(")) return false;
    while (!Take(")")) {
      if (!args.empty() && !Need(",")) return false;
      ExprId arg;
      if (!Expression(arg)) return false;
      args.push_back(arg);
    }
    return true;
  }

  // select, fma, conversions, and every other opcode by its HLO name. `is_call` stays false when
  // `name` is none of them (then it must be a variable before '<').
  bool Call(std::string_view name, size_t start, ExprId& result, bool& is_call) {
    Expr expr;
    size_t arity = 3;
    const auto dtype = DTypeFromName(name);
    const auto op = OpFromName(name);
    const bool less = Peek("<");
    if (name == "bitcast" && less) {
      if (!Need("<") || !Type(expr.dtype) || !Need(">")) return is_call = true, false;
      expr.kind = ExprKind::kUnary;
      expr.op = Op::kBitcastConvert;
      arity = 1;
    } else if (less) {
      return true;
    } else if (name == "select" || name == "fma") {
      expr.kind = name == "fma" ? ExprKind::kFma : ExprKind::kSelect;
    } else if (dtype) {
      expr.kind = ExprKind::kUnary;
      expr.op = Op::kConvert;
      expr.dtype = *dtype;
      arity = 1;
    } else if (op && (Arity(*op) == 1 || Arity(*op) == 2)) {
      arity = static_cast<size_t>(Arity(*op));
      expr.kind = arity == 1 ? ExprKind::kUnary : ExprKind::kBinary;
      expr.op = *op;
    } else {
      pos_ = start;
      is_call = true;
      return Fail(fmt::format("unknown function '{}'", name));
    }
    is_call = true;
    return FinishCall(name, arity, std::move(expr), result);
  }

  bool FinishCall(std::string_view name, size_t arity, Expr expr, ExprId& result) {
    if (!Arguments(expr.args)) return false;
    if (expr.args.size() != arity)
      return Fail(fmt::format("{} takes {} arguments, found {}", name, arity, expr.args.size()));
    const bool select = expr.kind == ExprKind::kSelect;
    if (select && !NeedType(expr.args[0], DType::kPred)) return false;
    const DType type = kernel_[expr.args[select ? 1 : 0]].dtype;
    for (size_t i = select ? 1 : 0; i < arity; ++i) {
      if (!NeedType(expr.args[i], type)) return false;
    }
    const bool own_type = expr.kind == ExprKind::kUnary &&
                          (expr.op == Op::kConvert || expr.op == Op::kBitcastConvert);
    if (!own_type)
      expr.dtype = expr.kind == ExprKind::kUnary && expr.op == Op::kIsFinite ? DType::kPred : type;
    result = Append(std::move(expr));
    return true;
  }

  // `-1`, `0.5:f32`, `inf:f32`, `nan(0x7fc00001):f32`; the type decides how the digits are read.
  bool Number(ExprId& result) {
    Skip();
    const size_t start = pos_;
    if (text_[pos_] == '-') ++pos_;
    uint64_t payload = 0;
    bool has_payload = false;
    const std::string_view word = PeekName();
    if (word == "inf" || word == "nan") {
      pos_ += word.size();
      if (word == "nan" && Take("(")) {
        has_payload = true;
        if (!Need("0x")) return false;
        const auto [end, code] =
            std::from_chars(text_.data() + pos_, text_.data() + text_.size(), payload, 16);
        if (code != std::errc()) return Expected("a hexadecimal bit pattern");
        pos_ = static_cast<size_t>(end - text_.data());
        if (!Need(")")) return false;
      }
    } else {
      if (pos_ >= text_.size() || !IsDigit(text_[pos_])) return Expected("a number");
      while (pos_ < text_.size() && NumberChar()) ++pos_;
    }
    const std::string_view digits = text_.substr(start, pos_ - start);
    Expr expr{.kind = ExprKind::kConst, .dtype = DType::kS64};
    if (pos_ < text_.size() && text_[pos_] == ':') {
      ++pos_;
      if (!Type(expr.dtype)) return false;
    }
    expr.bits = payload;
    if (has_payload && !IsFloat(expr.dtype)) return Fail("nan(...) needs a float type");
    if (!has_payload && !Bits(digits, start, expr)) return false;
    result = Append(std::move(expr));
    return true;
  }

  bool NumberChar() const {
    const char c = text_[pos_];
    const bool sign = (c == '-' || c == '+') && text_[pos_ - 1] == 'e';
    return IsDigit(c) || c == '.' || c == 'e' || sign;
  }

  bool Bits(std::string_view digits, size_t start, Expr& expr) {
    const char* first = digits.data();
    const char* last = first + digits.size();
    bool ok = true;
    if (IsFloat(expr.dtype)) {
      double value = 0;
      if (expr.dtype == DType::kF64) {
        ok = std::from_chars(first, last, value).ptr == last;
      } else {  // shortest text of a float: read as float, not rounded twice
        float narrow = 0;
        ok = std::from_chars(first, last, narrow).ptr == last;
        value = static_cast<double>(narrow);
      }
      expr.bits = FloatToBits(expr.dtype, value);
    } else if (IsUnsigned(expr.dtype)) {
      const auto [end, code] = std::from_chars(first, last, expr.bits);
      ok = end == last && code == std::errc() &&
           (BitWidth(expr.dtype) == 64 || expr.bits >> BitWidth(expr.dtype) == 0);
    } else if (IsSigned(expr.dtype)) {
      int64_t value = 0;
      const auto [end, code] = std::from_chars(first, last, value);
      const int shift = 64 - BitWidth(expr.dtype);
      ok = end == last && code == std::errc() &&
           static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift == value;
      expr.bits = static_cast<uint64_t>(value);
    } else {
      ok = false;
    }
    if (ok) return true;
    pos_ = start;
    return Fail(fmt::format("'{}' is not a constant of type {}", digits, DTypeName(expr.dtype)));
  }

  std::string_view text_;
  size_t pos_ = 0;
  int depth_ = 0;
  std::string error_;
  SourceLoc where_;
  Kernel kernel_;
  std::unordered_map<std::string, VarId> vars_;
  std::unordered_map<std::string, BufferId> buffers_;
};

}  // namespace

Result<Kernel> Parse(std::string_view text) {
  return Parser(text).Run();
}

}  // namespace fusemark::loops
