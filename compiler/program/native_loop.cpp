#include "compiler/program/native_loop.h"

#include <llvm/IR/Module.h>

#include <set>

#include "compiler/codegen/machine.h"
#include "compiler/program/native_emitter.h"

namespace fusemark {
namespace {

// Callees of a step, in no particular order.
std::vector<const Program*> CalleesOf(const Step& step) {
  if (const auto* loop = std::get_if<WhileStep>(&step)) return {loop->condition, loop->body};
  if (const auto* choice = std::get_if<ConditionalStep>(&step)) return choice->branches;
  if (const auto* call = std::get_if<CallStep>(&step)) return {call->callee};
  return {};
}

// Every call is inlined: a longer program is not worth the compile time.
constexpr int kMostSteps = 2000;

// Takes the steps of `program` from `left`; false if they are too many or of another kind.
bool CanBeNative(const Program& program, int& left) {
  for (const Step& step : program.steps) {
    if (std::holds_alternative<LibraryStep>(step) || std::holds_alternative<HostCallStep>(step) ||
        std::holds_alternative<NativeStep>(step) || --left < 0) {
      return false;
    }
    for (const Program* callee : CalleesOf(step)) {
      if (!CanBeNative(*callee, left)) return false;
    }
  }
  return true;
}

class LoopCompiler {
 public:
  LoopCompiler(int threads, KernelSet& kernels) : threads_(threads), kernels_(kernels) {}

  Result<void> Visit(Program& program) {
    if (!seen_.insert(&program).second) return Ok();
    for (Step& step : program.steps) {
      auto* loop = std::get_if<WhileStep>(&step);
      int left = kMostSteps;
      if (loop != nullptr && CanBeNative(*loop->condition, left) &&
          CanBeNative(*loop->body, left)) {
        FM_TRY(step, Compile(*loop));
        continue;
      }
      // Programs are read-only to those who run them; here they are still being made.
      for (const Program* callee : CalleesOf(step))
        FM_RETURN_IF_ERROR(Visit(const_cast<Program&>(*callee)));
    }
    return Ok();
  }

 private:
  Result<Step> Compile(const WhileStep& loop) {
    const std::string symbol = "loop" + std::to_string(count_++);
    FM_TRY(void* address,
           kernels_.jit().CompileFunction(
               symbol, [&](const codegen::Machine& machine, llvm::Module& module) {
                 return NativeEmitter(kernels_, threads_, machine, module).Emit(loop, symbol);
               }));
    NativeStep step{reinterpret_cast<NativeFunction>(address), loop.initial, loop.arena};
    for (const auto* places : {&loop.state, &loop.other})
      step.places.insert(step.places.end(), places->begin(), places->end());
    return Step(std::move(step));
  }

  int threads_;
  KernelSet& kernels_;
  std::set<const Program*> seen_;
  int count_ = 0;
};

}  // namespace

Result<void> CompileLoops(Program& entry, int threads, KernelSet& kernels) {
  return LoopCompiler(threads, kernels).Visit(entry);
}

}  // namespace fusemark
