#include "compiler/loops/kernel.h"

#include "compiler/support/memory.h"

namespace fusemark::loops {
namespace {

int64_t BytesOf(const Buffer& buffer) {
  int64_t bytes = ByteSize(buffer.dtype);
  for (const int64_t dim : buffer.dims) bytes *= dim;
  return bytes;
}

bool StartsOwnPhase(const Stmt& stmt) {
  return stmt.kind == StmtKind::kFor &&
         (stmt.loop == LoopKind::kParallel || stmt.loop == LoopKind::kBlock);
}

}  // namespace

std::string_view KernelClassName(KernelClass klass) {
  switch (klass) {
    case KernelClass::kLoop: return "loop";
    case KernelClass::kReduce: return "reduce";
    case KernelClass::kRow: return "row";
    case KernelClass::kContraction: return "contraction";
    case KernelClass::kAttention: return "attention";
    case KernelClass::kWindow: return "window";
    case KernelClass::kUpdate: return "update";
  }
  return "?";
}

std::optional<KernelClass> KernelClassFromName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(KernelClass::kUpdate); ++i) {
    const auto klass = static_cast<KernelClass>(i);
    if (KernelClassName(klass) == name) return klass;
  }
  return std::nullopt;
}

std::string_view LoopKindName(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial: return "serial";
    case LoopKind::kParallel: return "parallel";
    case LoopKind::kVector: return "vector";
    case LoopKind::kUnroll: return "unroll";
    case LoopKind::kBlock: return "block";
    case LoopKind::kThread: return "thread";
  }
  return "?";
}

std::optional<LoopKind> LoopKindFromName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(LoopKind::kThread); ++i) {
    const auto kind = static_cast<LoopKind>(i);
    if (LoopKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string_view SpaceName(Space space) {
  switch (space) {
    case Space::kOperand: return "operand";
    case Space::kResult: return "result";
    case Space::kScratch: return "scratch";
    case Space::kRegister: return "register";
    case Space::kStack: return "stack";
    case Space::kShared: return "shared";
  }
  return "?";
}

std::vector<Phase> PhasesOf(const Kernel& kernel) {
  std::vector<Phase> phases;
  bool open = false;  // the last phase is serial and may grow
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const Stmt& stmt = kernel.body[i];
    if (StartsOwnPhase(stmt)) {
      phases.push_back({i, i + 1, stmt.extent});
      open = false;
    } else if (open) {
      phases.back().end = i + 1;
    } else {
      phases.push_back({i, i + 1, 1});
      open = true;
    }
  }
  return phases;
}

int64_t ScratchBytes(const Kernel& kernel, std::vector<int64_t>* offsets) {
  if (offsets != nullptr) offsets->clear();
  int64_t total = 0;
  for (const BufferId id : kernel.scratch) {
    if (offsets != nullptr) offsets->push_back(total);
    total += AlignUp(BytesOf(kernel[id]));
  }
  return total;
}

}  // namespace fusemark::loops
