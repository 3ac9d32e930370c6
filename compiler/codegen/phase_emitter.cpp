#include "compiler/codegen/phase_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "compiler/support/check.h"

namespace fusemark::codegen {

using llvm::BasicBlock;
using llvm::Value;
using loops::Block;
using loops::BufferId;
using loops::LoopKind;
using loops::Phase;
using loops::Space;
using loops::Stmt;
using loops::StmtKind;

namespace {

// Wider vector loops run in chunks: LLVM's cost grows faster than linearly with the lanes.
constexpr int64_t kMaxLanes = 64;
// LLVM takes minutes for much more; a tuner may ask for it.
constexpr int64_t kMaxStatements = 50'000;
// All stack arrays of a function; worker threads have small stacks.
constexpr int64_t kMaxStackBytes = 1 << 20;

int64_t ElementsOf(const loops::Buffer& buffer) {
  int64_t elements = 1;
  for (const int64_t dim : buffer.dims) elements *= dim;
  return elements;
}

}  // namespace

PhaseEmitter::PhaseEmitter(const loops::Kernel& kernel, const CpuFeatures& cpu,
                           llvm::Function& function)
    : kernel_(kernel),
      function_(function),
      ir_(function.getContext()),
      entry_(function.getContext()),
      ops_(ir_, cpu),
      buffers_(kernel.buffers.size()),
      vars_(kernel.vars.size()) {}

void PhaseEmitter::Fail(Code code, const std::string& message) {
  if (!error_) error_ = Error{code, "kernel '" + kernel_.name + "': " + message};
}

Result<void> PhaseEmitter::Emit(const Phase& phase) {
  BasicBlock* entry = BasicBlock::Create(function_.getContext(), "entry", &function_);
  BasicBlock* body = BasicBlock::Create(function_.getContext(), "body", &function_);
  entry_.SetInsertPoint(llvm::BranchInst::Create(body, entry));
  ir_.SetInsertPoint(body);
  BindBuffers();
  MarkAliases();
  EmitPhase(phase);
  ir_.CreateRet(ir_.getInt32(0));
  if (error_) return *error_;
  return Ok();
}

void PhaseEmitter::BindBuffers() {
  llvm::MDNode* empty = llvm::MDNode::get(function_.getContext(), {});
  const auto bind = [&](BufferId id, unsigned argument, size_t index) {
    Value* slot = entry_.CreateConstGEP1_64(entry_.getPtrTy(), function_.getArg(argument), index);
    llvm::LoadInst* pointer = entry_.CreateLoad(entry_.getPtrTy(), slot, kernel_[id].name);
    pointer->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    buffers_[id.index].base = pointer;
  };
  for (size_t i = 0; i < kernel_.operands.size(); ++i) {
    bind(kernel_.operands[i], 0, i);
    buffers_[kernel_.operands[i].index].invariant = true;
  }
  for (size_t i = 0; i < kernel_.results.size(); ++i) bind(kernel_.results[i], 1, i);
  std::vector<int64_t> offsets;
  loops::ScratchBytes(kernel_, &offsets);
  for (size_t i = 0; i < kernel_.scratch.size(); ++i) {
    buffers_[kernel_.scratch[i].index].base =
        entry_.CreateConstGEP1_64(entry_.getInt8Ty(), function_.getArg(2), offsets[i]);
  }
}

// Every buffer of the caller is its own memory, except a result that may overwrite an operand.
void PhaseEmitter::MarkAliases() {
  llvm::LLVMContext& context = function_.getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<uint32_t> owners;
  const auto give_scope = [&](BufferId id) {
    buffers_[id.index].scope = metadata.createAnonymousAliasScope(domain);
    owners.push_back(id.index);
  };
  for (const BufferId id : kernel_.operands) give_scope(id);
  for (const BufferId id : kernel_.scratch) give_scope(id);
  for (const BufferId id : kernel_.results) {
    const int32_t shared = kernel_[id].in_place_of;
    if (shared < 0) {
      give_scope(id);
      continue;
    }
    BufferState& operand = buffers_[kernel_.operands[static_cast<size_t>(shared)].index];
    operand.invariant = false;
    buffers_[id.index].scope = operand.scope;
    owners.push_back(id.index);
  }
  for (const uint32_t index : owners) {
    llvm::SmallVector<llvm::Metadata*> others;
    for (const uint32_t other : owners) {
      llvm::MDNode* scope = buffers_[other].scope;
      if (scope != buffers_[index].scope && !llvm::is_contained(others, scope))
        others.push_back(scope);
    }
    buffers_[index].no_alias = llvm::MDNode::get(context, others);
  }
  for (const uint32_t index : owners) {
    llvm::Metadata* scope = buffers_[index].scope;
    buffers_[index].scope = llvm::MDNode::get(context, scope);
  }
}

void PhaseEmitter::EmitPhase(const Phase& phase) {
  for (size_t i = phase.begin; i < phase.end; ++i) {
    const Stmt& stmt = kernel_.body[i];
    const bool parallel = stmt.kind == StmtKind::kFor && stmt.loop == LoopKind::kParallel;
    if (!parallel) {
      EmitStmt(stmt);
      continue;
    }
    EmitLoop(function_.getArg(3), function_.getArg(4), false, [&](Value* i) {
      BindLoopVar(stmt.var, i, 0, 0, stmt.extent);
      EmitBlock(stmt.body);
    });
  }
}

void PhaseEmitter::EmitBlock(const Block& block) {
  for (const Stmt& stmt : block) {
    if (error_) return;
    EmitStmt(stmt);
  }
}

void PhaseEmitter::EmitStmt(const Stmt& stmt) {
  if (++emitted_ > kMaxStatements) {
    return Fail(Code::kCompileFailed, "unrolled loops give more than " +
                                          std::to_string(kMaxStatements) +
                                          " statements; unroll less");
  }
  switch (stmt.kind) {
    case StmtKind::kFor: return EmitFor(stmt);
    case StmtKind::kStore: return EmitStore(stmt);
    case StmtKind::kLet: vars_[stmt.var.index] = Eval(stmt.value); return;
    case StmtKind::kIf: return EmitIf(stmt);
    case StmtKind::kAlloc: return EmitAlloc(stmt);
    case StmtKind::kPrefetch: return EmitPrefetch(stmt);
    case StmtKind::kBarrier: return Fail(Code::kUnsupported, "barrier in code for a CPU");
  }
}

void PhaseEmitter::BindLoopVar(loops::VarId var, Value* value, int64_t offset, int64_t stride,
                               int64_t extent) {
  vars_[var.index] = {.value = value,
                      .offset = offset,
                      .stride = stride,
                      .range = {0, std::max<int64_t>(extent - 1, 0)}};
}

void PhaseEmitter::EmitFor(const Stmt& stmt) {
  if (stmt.extent <= 0) return;
  if (stmt.loop == LoopKind::kBlock || stmt.loop == LoopKind::kThread)
    return Fail(Code::kUnsupported, "GPU loop in code for a CPU");
  if (stmt.loop == LoopKind::kVector && context_.lanes == 0) return EmitVectorFor(stmt);
  if (stmt.extent == 1 || stmt.loop == LoopKind::kUnroll) return EmitUnrolled(stmt);
  EmitLoop(ir_.getInt64(0), ir_.getInt64(stmt.extent), true, [&](Value* i) {
    BindLoopVar(stmt.var, i, 0, 0, stmt.extent);
    EmitBlock(stmt.body);
  });
}

void PhaseEmitter::EmitVectorFor(const Stmt& stmt) {
  const int64_t chunks = stmt.extent / kMaxLanes, tail = stmt.extent % kMaxLanes;
  if (chunks == 1) {
    EmitLanes(stmt, nullptr, 0, kMaxLanes);
  } else if (chunks > 1) {
    EmitLoop(ir_.getInt64(0), ir_.getInt64(chunks), true, [&](Value* chunk) {
      EmitLanes(stmt, ir_.CreateNSWMul(chunk, ir_.getInt64(kMaxLanes)), 0, kMaxLanes);
    });
  }
  if (tail > 0) EmitLanes(stmt, nullptr, chunks * kMaxLanes, static_cast<unsigned>(tail));
}

void PhaseEmitter::EmitLanes(const Stmt& stmt, Value* base, int64_t offset, unsigned lanes) {
  const VectorContext outer = context_;
  context_ = {.lanes = lanes};
  BindLoopVar(stmt.var, base, offset, 1, stmt.extent);
  EmitBlock(stmt.body);
  context_ = outer;
}

void PhaseEmitter::EmitLoop(Value* begin, Value* end, bool never_empty,
                            const std::function<void(Value*)>& body) {
  BasicBlock* loop = BasicBlock::Create(ir_.getContext(), "loop", &function_);
  BasicBlock* done = BasicBlock::Create(ir_.getContext(), "done", &function_);
  BasicBlock* before = ir_.GetInsertBlock();
  if (never_empty) {
    ir_.CreateBr(loop);
  } else {
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), loop, done);
  }
  ir_.SetInsertPoint(loop);
  llvm::PHINode* i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  Value* next = ir_.CreateAdd(i, ir_.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
  i->addIncoming(next, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), loop, done);
  ir_.SetInsertPoint(done);
}

void PhaseEmitter::EmitIf(const Stmt& stmt) {
  const LaneValue condition = Eval(stmt.value);
  if (!condition.varying) return EmitUniformIf(condition.value, stmt);
  Value* outer = context_.mask;
  const auto with_outer = [&](Value* mask) {
    return outer == nullptr ? mask : ir_.CreateAnd(outer, mask);
  };
  EmitMasked(with_outer(condition.value), stmt.body);
  if (!stmt.else_body.empty())
    EmitMasked(with_outer(ir_.CreateNot(condition.value)), stmt.else_body);
}

void PhaseEmitter::EmitUniformIf(Value* condition, const Stmt& stmt) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition))
    return EmitBlock(known->isOne() ? stmt.body : stmt.else_body);
  BasicBlock* then = BasicBlock::Create(ir_.getContext(), "then", &function_);
  BasicBlock* otherwise = BasicBlock::Create(ir_.getContext(), "else", &function_);
  BasicBlock* join = BasicBlock::Create(ir_.getContext(), "join", &function_);
  ir_.CreateCondBr(condition, then, otherwise);
  ir_.SetInsertPoint(then);
  EmitBlock(stmt.body);
  ir_.CreateBr(join);
  ir_.SetInsertPoint(otherwise);
  EmitBlock(stmt.else_body);
  ir_.CreateBr(join);
  ir_.SetInsertPoint(join);
}

// The branch around the block is needed for more than speed: with no lane active, even the uniform
// accesses inside might be out of bounds.
void PhaseEmitter::EmitMasked(Value* mask, const Block& block) {
  if (auto* known = llvm::dyn_cast<llvm::Constant>(mask)) {
    if (known->isNullValue()) return;
    if (known->isAllOnesValue()) return EmitBlock(block);
  }
  BasicBlock* some = BasicBlock::Create(ir_.getContext(), "some", &function_);
  BasicBlock* join = BasicBlock::Create(ir_.getContext(), "join", &function_);
  ir_.CreateCondBr(ops_.Any(mask), some, join);
  ir_.SetInsertPoint(some);
  Value* outer = context_.mask;
  context_.mask = mask;
  EmitBlock(block);
  context_.mask = outer;
  ir_.CreateBr(join);
  ir_.SetInsertPoint(join);
}

void PhaseEmitter::EmitAlloc(const Stmt& stmt) {
  const loops::Buffer& buffer = kernel_[stmt.buffer];
  if (buffer.space == Space::kShared)
    return Fail(Code::kUnsupported, "shared memory in code for a CPU");
  BufferState& state = buffers_[stmt.buffer.index];
  state.lanes = context_.lanes;
  const int64_t elements = ElementsOf(buffer) * std::max<int64_t>(1, context_.lanes);
  stack_bytes_ += elements * ByteSize(buffer.dtype);
  if (stack_bytes_ > kMaxStackBytes) {
    return Fail(Code::kUnsupported, "local arrays take more than " +
                                        std::to_string(kMaxStackBytes) + " bytes of stack at '" +
                                        buffer.name + "'; use smaller tiles");
  }
  auto* type = llvm::ArrayType::get(ElementType(stmt.buffer), static_cast<uint64_t>(elements));
  llvm::AllocaInst* array = entry_.CreateAlloca(type, nullptr, buffer.name);
  array->setAlignment(llvm::Align(64));
  state.base = array;
}

}  // namespace fusemark::codegen
