#include "compiler/program/native_emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/codegen/emit_kernel.h"
#include "compiler/runtime/threads.h"
#include "compiler/support/check.h"

namespace fusemark {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// A kernel of at most so many scalar statements takes less than a microsecond: worth inlining.
constexpr int64_t kMostStatements = 4096;
// Instructions of an inlined kernel, and of all inlined calls: LLVM's time is about linear in them.
constexpr size_t kMostInstructions = 2000, kMostInlined = 20'000;
// Places that become local variables, and all of them: worker threads have small stacks.
constexpr int64_t kLocalBytes = 512, kMostLocalBytes = 64 << 10;
// State that is copied after each trip instead of swapping pointers, so that it ends in registers.
constexpr int64_t kRegisterBytes = 16;
constexpr int64_t kAlignment = 64;

int64_t StatementsOf(const loops::Block& block) {
  int64_t count = 0;
  for (const loops::Stmt& stmt : block) {
    const int64_t inside = 1 + StatementsOf(stmt.body) + StatementsOf(stmt.else_body);
    const int64_t trips =
        stmt.kind == loops::StmtKind::kFor ? std::max<int64_t>(stmt.extent, 1) : 1;
    if (trips > kMostStatements || count > kMostStatements) return kMostStatements + 1;
    count += trips * inside;
  }
  return count;
}

// Between two trips of a loop memory changes hands, so what holds within one call of the kernel
// must not be said of the loop.
void ForgetAliases(llvm::Function& function) {
  for (BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
      instruction.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
      instruction.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
    }
  }
}

size_t InstructionsOf(const std::vector<llvm::Function*>& functions) {
  size_t count = 0;
  for (const llvm::Function* function : functions) count += function->getInstructionCount();
  return count;
}

}  // namespace

NativeEmitter::NativeEmitter(const KernelSet& kernels, int threads, const codegen::Machine& machine,
                             llvm::Module& module)
    : kernels_(kernels),
      threads_(threads),
      machine_(machine),
      module_(module),
      ir_(module.getContext()),
      entry_(module.getContext()) {}

Result<void> NativeEmitter::Emit(const WhileStep& loop, const std::string& symbol) {
  FM_RETURN_IF_ERROR(EmitInlinedKernels(loop));
  llvm::Type* pointer = ir_.getPtrTy();
  auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, pointer, pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  machine_.AddAttributes(*function_);
  function_->removeFnAttr(llvm::Attribute::WillReturn);
  BasicBlock* entry = NewBlock("entry");
  BasicBlock* body = NewBlock("body");
  entry_.SetInsertPoint(llvm::BranchInst::Create(body, entry));
  ir_.SetInsertPoint(body);
  const size_t leaves = loop.state.size();
  Values places;
  for (size_t i = 0; i < 3 * leaves; ++i) {
    Value* slot = ir_.CreateConstGEP1_64(pointer, function_->getArg(0), i);
    places.push_back(ir_.CreateLoad(pointer, slot));
  }
  const auto part = [&](size_t k) {
    return Values(places.begin() + k * leaves, places.begin() + (k + 1) * leaves);
  };
  Loop(loop, part(0), part(1), part(2), function_->getArg(1));
  ir_.CreateRet(ir_.getInt32(0));
  InlineKernels();
  machine_.Optimize(module_);
  return Ok();
}

// ---- kernels

void NativeEmitter::Collect(const Program& program) {
  for (const Step& step : program.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step)) {
      const loops::Kernel& kernel = kernels_.scheduled(launch->kernel);
      if (StatementsOf(kernel.body) <= kMostStatements) inlined_[launch->kernel];
    } else if (const auto* loop = std::get_if<WhileStep>(&step)) {
      Collect(*loop->condition);
      Collect(*loop->body);
    } else if (const auto* choice = std::get_if<ConditionalStep>(&step)) {
      for (const Program* branch : choice->branches) Collect(*branch);
    } else if (const auto* call = std::get_if<CallStep>(&step)) {
      Collect(*call->callee);
    }
  }
}

// Kernels are optimised before they are inlined, while their buffers are known not to overlap.
Result<void> NativeEmitter::EmitInlinedKernels(const WhileStep& loop) {
  Collect(*loop.condition);
  Collect(*loop.body);
  for (auto& [id, phases] : inlined_) {
    FM_TRY(const auto names, codegen::EmitKernel(kernels_.scheduled(id), machine_,
                                                 "inlined" + std::to_string(id), module_));
    for (const std::string& name : names) phases.push_back(module_.getFunction(name));
  }
  machine_.Optimize(module_);
  for (auto it = inlined_.begin(); it != inlined_.end();) {
    const bool small = InstructionsOf(it->second) <= kMostInstructions;
    for (llvm::Function* phase : it->second) {
      ForgetAliases(*phase);
      if (!small) phase->eraseFromParent();
    }
    it = small ? std::next(it) : inlined_.erase(it);
  }
  return Ok();
}

void NativeEmitter::InlineKernels() {
  for (llvm::CallInst* call : calls_) {
    llvm::InlineFunctionInfo info;
    const llvm::InlineResult result = llvm::InlineFunction(*call, info);
    FM_CHECK(result.isSuccess(), result.getFailureReason());
  }
  for (auto& [id, phases] : inlined_) {
    for (llvm::Function* phase : phases) {
      if (phase->use_empty()) {
        phase->eraseFromParent();
      } else {
        phase->setLinkage(llvm::Function::InternalLinkage);
      }
    }
  }
}

void NativeEmitter::Do(Frame& frame, const LaunchStep& step) {
  const CompiledKernel& kernel = kernels_[step.kernel];
  Value* operands = Table(AtAll(frame, step.operands));
  Value* results = Table(AtAll(frame, step.results));
  Value* scratch = At(frame, step.scratch);
  const auto inlined = inlined_.find(step.kernel);
  for (size_t phase = 0; phase < kernel.phases.size(); ++phase) {
    const int64_t extent = kernel.extents[phase];
    if (extent <= 0) continue;
    Value* compiled = Address(reinterpret_cast<const void*>(kernel.phases[phase]));
    llvm::Type *pointer = ir_.getPtrTy(), *i64 = ir_.getInt64Ty(), *i32 = ir_.getInt32Ty();
    if (extent > 1 && threads_ > 1) {
      auto* type = llvm::FunctionType::get(ir_.getVoidTy(),
                                           {pointer, pointer, pointer, pointer, i64, i32}, false);
      ir_.CreateCall(type, Address(reinterpret_cast<const void*>(&LaunchPhase)),
                     {compiled, operands, results, scratch, ir_.getInt64(extent),
                      ir_.getInt32(static_cast<uint32_t>(threads_))});
      continue;
    }
    auto* type = llvm::FunctionType::get(i32, {pointer, pointer, pointer, i64, i64}, false);
    const bool here = inlined != inlined_.end();
    llvm::CallInst* call =
        ir_.CreateCall(type, here ? inlined->second[phase] : compiled,
                       {operands, results, scratch, ir_.getInt64(0), ir_.getInt64(extent)});
    if (!here) continue;
    inlined_instructions_ += inlined->second[phase]->getInstructionCount();
    if (inlined_instructions_ <= kMostInlined) calls_.push_back(call);
  }
}

// ---- places

BasicBlock* NativeEmitter::NewBlock(const char* name) {
  return BasicBlock::Create(module_.getContext(), name, function_);
}

Value* NativeEmitter::Local(int64_t bytes) {
  llvm::AllocaInst* local = entry_.CreateAlloca(
      llvm::ArrayType::get(entry_.getInt8Ty(), static_cast<uint64_t>(std::max<int64_t>(bytes, 1))));
  local->setAlignment(llvm::Align(bytes > kRegisterBytes ? kAlignment : kRegisterBytes));
  local_bytes_ += bytes;
  return local;
}

Value* NativeEmitter::Address(const void* address) {
  return llvm::ConstantExpr::getIntToPtr(ir_.getInt64(reinterpret_cast<uint64_t>(address)),
                                         ir_.getPtrTy());
}

// Small ones are known to LLVM, which may fold them.
Value* NativeEmitter::Constant(const Literal& literal) {
  const auto bytes = literal.bytes();
  if (static_cast<int64_t>(bytes.size()) > kLocalBytes) return Address(bytes.data());
  llvm::Constant* data = llvm::ConstantDataArray::get(
      module_.getContext(),
      llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  auto* global = new llvm::GlobalVariable(module_, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, data);
  global->setAlignment(llvm::Align(kAlignment));
  return global;
}

Value* NativeEmitter::At(Frame& frame, const Place& place) {
  const auto index = static_cast<size_t>(place.offset);
  switch (place.storage) {
    case Place::Storage::kParam: return frame.params[index];
    case Place::Storage::kOutput: return frame.outputs[index];
    case Place::Storage::kConstant: return Constant(frame.program->constants[index]);
    case Place::Storage::kArena: break;
  }
  // A value is read at the offset where it was written, so slots that share bytes at different
  // times need not do so here.
  Value*& slot = frame.slots[place.offset];
  if (slot != nullptr) return slot;
  const int64_t bytes = frame.program->slot_bytes.at(place.offset);
  const bool local = bytes <= kLocalBytes && local_bytes_ + bytes <= kMostLocalBytes;
  slot = local ? Local(bytes)
               : ir_.CreateConstGEP1_64(ir_.getInt8Ty(), frame.arena,
                                        static_cast<uint64_t>(place.offset));
  return slot;
}

NativeEmitter::Values NativeEmitter::AtAll(Frame& frame, const std::vector<Place>& places) {
  Values values;
  for (const Place& place : places) values.push_back(At(frame, place));
  return values;
}

Value* NativeEmitter::Table(const Values& pointers) {
  llvm::Type* pointer = ir_.getPtrTy();
  Value* table = entry_.CreateAlloca(llvm::ArrayType::get(pointer, pointers.size()));
  for (size_t i = 0; i < pointers.size(); ++i)
    ir_.CreateStore(pointers[i], ir_.CreateConstGEP1_64(pointer, table, i));
  return table;
}

void NativeEmitter::Copy(Value* to, Value* from, int64_t bytes) {
  if (to != from && bytes > 0)
    ir_.CreateMemMove(to, llvm::Align(1), from, llvm::Align(1), static_cast<uint64_t>(bytes));
}

// ---- control flow

void NativeEmitter::EmitProgram(const Program& program, Values params, Values outputs,
                                Value* arena) {
  Frame frame{&program, std::move(params), std::move(outputs), arena, {}};
  for (const Step& step : program.steps) std::visit([&](const auto& s) { Do(frame, s); }, step);
}

void NativeEmitter::Do(Frame& frame, const CopyStep& step) {
  Copy(At(frame, step.to), At(frame, step.from), step.bytes);
}

void NativeEmitter::Do(Frame& frame, const CallStep& step) {
  EmitProgram(*step.callee, AtAll(frame, step.arguments), AtAll(frame, step.results),
              At(frame, step.arena));
}

void NativeEmitter::Do(Frame& frame, const ConditionalStep& step) {
  const size_t count = step.branches.size();
  // Before the branches, so that a place first used in one of them is known in all.
  Value* arena = At(frame, step.arena);
  const Values results = AtAll(frame, step.results);
  std::vector<Values> arguments;
  for (const auto& places : step.arguments) arguments.push_back(AtAll(frame, places));
  std::vector<BasicBlock*> blocks;
  for (size_t i = 0; i < count; ++i) blocks.push_back(NewBlock("branch"));
  BasicBlock* join = NewBlock("join");
  Value* selector = At(frame, step.selector);
  if (step.selector_is_pred) {
    Value* flag = ir_.CreateLoad(ir_.getInt8Ty(), selector);
    ir_.CreateCondBr(ir_.CreateICmpNE(flag, ir_.getInt8(0)), blocks[0], blocks[1]);
  } else {
    Value* index = ir_.CreateLoad(ir_.getInt32Ty(), selector);
    llvm::SwitchInst* choice = ir_.CreateSwitch(index, blocks[count - 1]);
    for (size_t i = 0; i + 1 < count; ++i)
      choice->addCase(ir_.getInt32(static_cast<uint32_t>(i)), blocks[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    ir_.SetInsertPoint(blocks[i]);
    EmitProgram(*step.branches[i], arguments[i], results, arena);
    ir_.CreateBr(join);
  }
  ir_.SetInsertPoint(join);
}

void NativeEmitter::Do(Frame& frame, const WhileStep& step) {
  Loop(step, AtAll(frame, step.initial), AtAll(frame, step.state), AtAll(frame, step.other),
       At(frame, step.arena));
}

void NativeEmitter::Do(Frame&, const LibraryStep&) {
  FM_CHECK(false, "a library call in a native loop");
}
void NativeEmitter::Do(Frame&, const HostCallStep&) {
  FM_CHECK(false, "a custom call in a native loop");
}
void NativeEmitter::Do(Frame&, const NativeStep&) {
  FM_CHECK(false, "a native loop in another one");
}

std::vector<NativeEmitter::LoopLeaf> NativeEmitter::Enter(const WhileStep& step,
                                                          const Values& initial,
                                                          const Values& state,
                                                          const Values& other) {
  std::vector<LoopLeaf> leaves(state.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    LoopLeaf& leaf = leaves[i];
    const int64_t bytes = step.bytes[i];
    leaf.state = state[i];
    if (step.invariant[i]) {
      leaf.now = leaf.next = initial[i];
      continue;
    }
    const bool updates = step.other[i] == step.state[i];
    if (bytes <= kRegisterBytes) {
      leaf.now = Local(bytes);
      leaf.next = updates ? leaf.now : Local(bytes);
    } else {
      leaf.now = state[i];
      leaf.next = other[i];
      leaf.swaps = !updates;
    }
    Copy(leaf.now, initial[i], bytes);
  }
  return leaves;
}

void NativeEmitter::Leave(const WhileStep& step, const std::vector<LoopLeaf>& leaves) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (step.invariant[i] || leaves[i].now == leaves[i].state) continue;
    if (!leaves[i].swaps) {
      Copy(leaves[i].state, leaves[i].now, step.bytes[i]);
      continue;
    }
    BasicBlock *home = NewBlock("home"), *after = NewBlock("after");
    ir_.CreateCondBr(ir_.CreateICmpEQ(leaves[i].now, leaves[i].state), after, home);
    ir_.SetInsertPoint(home);
    Copy(leaves[i].state, leaves[i].now, step.bytes[i]);
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
  }
}

void NativeEmitter::StopIfCancelled() {
  BasicBlock *stop = NewBlock("stop"), *go_on = NewBlock("go_on");
  // Volatile: another thread sets it.
  Value* flag = ir_.CreateLoad(ir_.getInt8Ty(), function_->getArg(2), /*isVolatile=*/true);
  ir_.CreateCondBr(ir_.CreateICmpNE(flag, ir_.getInt8(0)), stop, go_on);
  ir_.SetInsertPoint(stop);
  ir_.CreateRet(ir_.getInt32(1));
  ir_.SetInsertPoint(go_on);
}

void NativeEmitter::Loop(const WhileStep& step, const Values& initial, const Values& state,
                         const Values& other, Value* arena) {
  std::vector<LoopLeaf> leaves = Enter(step, initial, state, other);
  BasicBlock* before = ir_.GetInsertBlock();
  BasicBlock *head = NewBlock("head"), *trip = NewBlock("trip"), *done = NewBlock("done");
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> swapped(leaves.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].swaps) continue;
    llvm::PHINode *now = ir_.CreatePHI(ir_.getPtrTy(), 2), *next = ir_.CreatePHI(ir_.getPtrTy(), 2);
    now->addIncoming(leaves[i].now, before);
    next->addIncoming(leaves[i].next, before);
    leaves[i].now = now;
    leaves[i].next = next;
    swapped[i] = {now, next};
  }
  Values now, next;
  for (const LoopLeaf& leaf : leaves) {
    now.push_back(leaf.now);
    next.push_back(leaf.next);
  }
  Value* flag = Local(1);
  EmitProgram(*step.condition, now, {flag}, arena);
  Value* more = ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), flag), ir_.getInt8(0));
  ir_.CreateCondBr(more, trip, done);
  ir_.SetInsertPoint(trip);
  StopIfCancelled();
  EmitProgram(*step.body, now, next, arena);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const bool copies = !step.invariant[i] && !leaves[i].swaps;
    if (copies) Copy(leaves[i].now, leaves[i].next, step.bytes[i]);
  }
  for (const auto& [a, b] : swapped) {
    if (a == nullptr) continue;
    a->addIncoming(b, ir_.GetInsertBlock());
    b->addIncoming(a, ir_.GetInsertBlock());
  }
  ir_.CreateBr(head);
  ir_.SetInsertPoint(done);
  Leave(step, leaves);
}

}  // namespace fusemark
