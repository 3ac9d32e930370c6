#include "compiler/loops/interpret_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/loops/print.h"

namespace fusemark::loops::interpreter {
namespace {

class Translator {
 public:
  explicit Translator(const Kernel& kernel) {
    program_.kernel = kernel;
    program_.phases = PhasesOf(kernel);
    program_.scratch_bytes = ScratchBytes(kernel, &program_.scratch_offsets);
    program_.initial_slots.assign(kernel.vars.size(), 0);
  }

  Result<Program> Run() {
    program_.body = Body(program_.kernel.body);
    if (failed_) return Unsupported(error_);
    return std::move(program_);
  }

 private:
  const Kernel& kernel() const { return program_.kernel; }

  std::vector<Node> Body(const Block& block) {
    std::vector<Node> nodes;
    for (const Stmt& stmt : block) nodes.push_back(Statement(stmt));
    return nodes;
  }

  Node Statement(const Stmt& stmt) {
    Node node;
    node.kind = stmt.kind;
    node.loop = stmt.loop;
    node.extent = stmt.extent;
    node.buffer = stmt.buffer.index;
    node.code_begin = static_cast<uint32_t>(program_.code.size());
    if (stmt.kind == StmtKind::kStore) node.access = MakeAccess(stmt.buffer, stmt.indices);
    if (stmt.value.valid()) node.slot = Value(stmt.value);
    if (stmt.kind == StmtKind::kLet) Bind(stmt.var, node);
    node.code_end = static_cast<uint32_t>(program_.code.size());
    if (stmt.kind == StmtKind::kFor) node.slot = stmt.var.index;
    node.body = Body(stmt.body);
    node.else_body = Body(stmt.else_body);
    node.has_barrier = stmt.kind == StmtKind::kBarrier;
    for (const auto* block : {&node.body, &node.else_body}) {
      for (const Node& inner : *block) node.has_barrier |= inner.has_barrier;
    }
    return node;
  }

  // The value lands in the variable's slot: by the last instruction if it made the value, else by a
  // copy.
  void Bind(VarId var, const Node& node) {
    auto& code = program_.code;
    const bool fresh = code.size() > node.code_begin && code.back().dst == node.slot &&
                       node.slot >= kernel().vars.size();
    if (fresh) {
      code.back().dst = var.index;
    } else {
      code.push_back({.function = [](uint64_t a, uint64_t, uint64_t) { return a; },
                      .dst = var.index,
                      .a = node.slot});
    }
  }

  uint32_t NewSlot(uint64_t value = 0) {
    program_.initial_slots.push_back(value);
    return static_cast<uint32_t>(program_.initial_slots.size() - 1);
  }

  uint32_t MakeAccess(BufferId id, const std::vector<ExprId>& indices) {
    std::vector<uint32_t> slots;
    for (const ExprId index : indices) slots.push_back(Value(index));
    const Buffer& buffer = kernel()[id];
    const auto rank = static_cast<uint32_t>(indices.size());
    const auto first = static_cast<uint32_t>(program_.index_slots.size());
    program_.accesses.push_back({id.index, buffer.dtype, rank, first});
    program_.index_slots.insert(program_.index_slots.end(), slots.begin(), slots.end());
    std::vector<Dim> dims(rank);
    int64_t stride = ByteSize(buffer.dtype);
    for (size_t i = rank; i-- > 0;) {
      dims[i] = {buffer.dims[i], stride};
      stride *= buffer.dims[i];
    }
    program_.dims.insert(program_.dims.end(), dims.begin(), dims.end());
    return static_cast<uint32_t>(program_.accesses.size() - 1);
  }

  ScalarFunction FunctionOf(const Expr& expr) const {
    const DType operand = kernel()[expr.args[0]].dtype;
    switch (expr.kind) {
      case ExprKind::kUnary:
        if (expr.op == Op::kConvert) return ConvertFunction(operand, expr.dtype);
        if (expr.op == Op::kBitcastConvert) return BitcastFunction(operand, expr.dtype);
        return UnaryFunction(expr.op, operand);
      case ExprKind::kBinary: return BinaryFunction(expr.op, operand);
      case ExprKind::kCompare: return CompareFunction(expr.direction, operand);
      case ExprKind::kSelect: return SelectFunction();
      case ExprKind::kFma: return FmaFunction(operand);
      default: return nullptr;
    }
  }

  uint32_t Value(ExprId id) {
    const Expr& expr = kernel()[id];
    if (expr.kind == ExprKind::kConst) return NewSlot(expr.bits);
    if (expr.kind == ExprKind::kVar) return expr.var.index;
    Instruction instruction;
    if (expr.kind == ExprKind::kLoad) {
      instruction.a = MakeAccess(expr.buffer, expr.args);
    } else {
      uint32_t* const slots[] = {&instruction.a, &instruction.b, &instruction.c};
      for (size_t i = 0; i < expr.args.size(); ++i) *slots[i] = Value(expr.args[i]);
      instruction.function = FunctionOf(expr);
      if (instruction.function == nullptr) Fail(id);
    }
    instruction.dst = NewSlot();
    program_.code.push_back(instruction);
    return instruction.dst;
  }

  void Fail(ExprId id) {
    if (failed_) return;
    failed_ = true;
    const Expr& expr = kernel()[id];
    error_ = fmt::format("kernel @{}: no operation {} -> {} on {}", kernel().name,
                         PrintExpr(kernel(), id), DTypeName(expr.dtype),
                         DTypeName(kernel()[expr.args[0]].dtype));
  }

  Program program_;
  bool failed_ = false;
  std::string error_;
};

}  // namespace

int64_t BytesOf(const Buffer& buffer) {
  int64_t bytes = ByteSize(buffer.dtype);
  for (const int64_t dim : buffer.dims) bytes *= dim;
  return bytes;
}

Result<Program> Translate(const Kernel& kernel) {
  return Translator(kernel).Run();
}

}  // namespace fusemark::loops::interpreter
