// One loop of the host program -> one LLVM function (NativeFunction of abi.h). Does what
// Runner::Do(const WhileStep&) in run.cpp does, with every place resolved and every callee inlined.
// Internal to program/.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/machine.h"
#include "compiler/program/kernel_set.h"
#include "compiler/program/program.h"

namespace fusemark {

class NativeEmitter {
 public:
  NativeEmitter(const KernelSet& kernels, int threads, const codegen::Machine& machine,
                llvm::Module& module);
  // Adds the function `symbol` and optimises the module.
  Result<void> Emit(const WhileStep& loop, const std::string& symbol);

 private:
  // Where the places of one running program are.
  struct Frame {
    const Program* program = nullptr;
    std::vector<llvm::Value*> params, outputs;
    llvm::Value* arena = nullptr;
    std::map<int64_t, llvm::Value*> slots;  // by arena offset
  };
  using Values = std::vector<llvm::Value*>;

  // A leaf of a loop's state: as WhileStep, see there.
  struct LoopLeaf {
    llvm::Value* state = nullptr;
    llvm::Value* now = nullptr;   // read by this trip
    llvm::Value* next = nullptr;  // written by this trip
    bool swaps = false;           // the two change places after each trip
  };

  Result<void> EmitInlinedKernels(const WhileStep& loop);
  void Collect(const Program& program);
  void InlineKernels();

  llvm::Value* Local(int64_t bytes);
  llvm::Value* Address(const void* address);
  llvm::Value* Constant(const Literal& literal);
  llvm::Value* At(Frame& frame, const Place& place);
  Values AtAll(Frame& frame, const std::vector<Place>& places);
  llvm::Value* Table(const Values& pointers);
  void Copy(llvm::Value* to, llvm::Value* from, int64_t bytes);

  void EmitProgram(const Program& program, Values params, Values outputs, llvm::Value* arena);
  void Do(Frame& frame, const LaunchStep& step);
  void Do(Frame& frame, const CopyStep& step);
  void Do(Frame& frame, const WhileStep& step);
  void Do(Frame& frame, const ConditionalStep& step);
  void Do(Frame& frame, const CallStep& step);
  // What CanBeNative() of native_loop.cpp has excluded.
  void Do(Frame& frame, const LibraryStep& step);
  void Do(Frame& frame, const HostCallStep& step);
  void Do(Frame& frame, const NativeStep& step);

  void Loop(const WhileStep& step, const Values& initial, const Values& state, const Values& other,
            llvm::Value* arena);
  std::vector<LoopLeaf> Enter(const WhileStep& step, const Values& initial, const Values& state,
                              const Values& other);
  void Leave(const WhileStep& step, const std::vector<LoopLeaf>& leaves);
  void StopIfCancelled();
  llvm::BasicBlock* NewBlock(const char* name);

  const KernelSet& kernels_;
  int threads_;
  const codegen::Machine& machine_;
  llvm::Module& module_;
  llvm::IRBuilder<> ir_;
  llvm::IRBuilder<> entry_;  // allocas
  llvm::Function* function_ = nullptr;
  int64_t local_bytes_ = 0;
  size_t inlined_instructions_ = 0;
  std::map<int, std::vector<llvm::Function*>> inlined_;  // phases by kernel
  std::vector<llvm::CallInst*> calls_;                   // of inlined kernels
};

}  // namespace fusemark
