#include "compiler/jit/jit.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/machine.h"
#include "compiler/jit/symbols.h"
#include "compiler/loops/print.h"
#include "compiler/support/check.h"

namespace fusemark {
namespace {

namespace orc = llvm::orc;

// Enough to share what a module costs (target machine, pass set-up, linking), few enough that the
// modules of one program keep all threads busy.
constexpr size_t kKernelsPerModule = 16;

// A kernel to compile: the first one with its text.
struct Job {
  const loops::Kernel* kernel = nullptr;
  std::string symbol;
  std::vector<std::string> functions;  // filled by compiling
};

Result<std::unique_ptr<llvm::MemoryBuffer>> CompileBatch(const codegen::Machine& machine, Job* jobs,
                                                         size_t count) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Module module(jobs[0].symbol, context);
  machine.Prepare(module);
  for (size_t i = 0; i < count; ++i) {
    FM_TRY(jobs[i].functions,
           codegen::EmitKernel(*jobs[i].kernel, machine, jobs[i].symbol, module));
  }
  machine.Optimize(module);
  return machine.EmitObject(module);
}

// Runs `work(i)` for i < count on up to `threads` threads; the error with the smallest i wins, so
// that messages do not depend on timing.
Result<void> ForEach(size_t count, int threads, const std::function<Result<void>(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::optional<std::pair<size_t, Error>> first_error;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      Result<void> done = work(i);
      if (done.ok()) continue;
      const std::lock_guard lock(mutex);
      if (!first_error || i < first_error->first) first_error.emplace(i, std::move(done).error());
    }
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min(count, static_cast<size_t>(std::max(threads, 1)));
  for (size_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  run();
  for (std::thread& helper : helpers) helper.join();
  if (first_error) return first_error->second;
  return Ok();
}

// Objects come compiled: LLJIT is not to set up target machines for a compiler of its own.
class NoCompiler final : public orc::IRCompileLayer::IRCompiler {
 public:
  NoCompiler() : IRCompiler(orc::IRSymbolMapper::ManglingOptions()) {}
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module& module) override {
    return llvm::createStringError("no compiler for module " + module.getName());
  }
};

}  // namespace

struct Jit::State {
  explicit State(codegen::Machine machine) : machine(std::move(machine)) {}

  codegen::Machine machine;  // for one thread at a time
  std::unique_ptr<orc::LLJIT> jit;
  std::mutex mutex;                                          // guards the two below and linking
  std::unordered_map<std::string, CompiledKernel> compiled;  // by canonical text
  size_t symbols = 0;

  Result<void> DefineLibrary();
  Result<void> CompileJobs(std::vector<Job>& jobs, int threads);
  Result<CompiledKernel> Link(const Job& job);
};

Jit::Jit(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::Create(const loops::Target& target) {
  FM_TRY(codegen::Machine machine, codegen::Machine::Create(target));
  auto state = std::make_unique<State>(std::move(machine));
  const llvm::TargetMachine& llvm = state->machine.llvm();
  // Objects come compiled, so the usual platform module of initialisers has nothing to do.
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(llvm.getTargetTriple()))
                 .setDataLayout(llvm.createDataLayout())
                 .setCompileFunctionCreator([](const orc::JITTargetMachineBuilder&) {
                   return std::make_unique<NoCompiler>();
                 })
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit) return codegen::FromLlvm(jit.takeError(), "creating the JIT");
  state->jit = std::move(*jit);
  FM_RETURN_IF_ERROR(state->DefineLibrary());
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

Result<void> Jit::State::DefineLibrary() {
  orc::SymbolMap map;
  for (const HostSymbol& symbol : HostSymbols()) {
    map[jit->mangleAndIntern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                              llvm::JITSymbolFlags::Exported};
  }
  if (auto error = jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(map))))
    return codegen::FromLlvm(std::move(error), "defining the library functions of kernels");
  return Ok();
}

Result<void> Jit::State::CompileJobs(std::vector<Job>& jobs, int threads) {
  const size_t per_thread = (jobs.size() + threads - 1) / static_cast<size_t>(threads);
  const size_t batch = std::clamp<size_t>(per_thread, 1, kKernelsPerModule);
  const size_t batches = (jobs.size() + batch - 1) / batch;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(batches);
  FM_RETURN_IF_ERROR(ForEach(batches, threads, [&](size_t i) -> Result<void> {
    const size_t begin = i * batch, size = std::min(batch, jobs.size() - begin);
    if (i == 0) {
      FM_TRY(objects[i], CompileBatch(machine, &jobs[begin], size));
    } else {
      FM_TRY(const codegen::Machine own, codegen::Machine::Create(machine.target()));
      FM_TRY(objects[i], CompileBatch(own, &jobs[begin], size));
    }
    return Ok();
  }));
  for (auto& object : objects) {
    if (auto error = jit->addObjectFile(std::move(object)))
      return codegen::FromLlvm(std::move(error), "linking kernels");
  }
  return Ok();
}

Result<CompiledKernel> Jit::State::Link(const Job& job) {
  CompiledKernel compiled;
  compiled.scratch_bytes = loops::ScratchBytes(*job.kernel);
  for (const loops::Phase& phase : loops::PhasesOf(*job.kernel))
    compiled.extents.push_back(phase.extent);
  for (const std::string& name : job.functions) {
    auto address = jit->lookup(name);
    if (!address)
      return codegen::FromLlvm(address.takeError(), "linking kernel '" + job.kernel->name + "'");
    compiled.phases.push_back(address->toPtr<KernelFunction>());
  }
  return compiled;
}

Result<std::vector<CompiledKernel>> Jit::Compile(const std::vector<const loops::Kernel*>& kernels,
                                                 int threads) {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> texts;
  std::vector<Job> jobs;
  std::unordered_map<std::string, size_t> job_of;
  for (const loops::Kernel* kernel : kernels) {
    texts.push_back(loops::Print(*kernel, {.canonical = true}));
    const std::string& text = texts.back();
    if (state_->compiled.contains(text) || !job_of.emplace(text, jobs.size()).second) continue;
    jobs.push_back({kernel, "k" + std::to_string(state_->symbols++), {}});
  }
  if (!jobs.empty()) FM_RETURN_IF_ERROR(state_->CompileJobs(jobs, std::max(threads, 1)));
  for (const auto& [text, index] : job_of) {
    FM_TRY(CompiledKernel compiled, state_->Link(jobs[index]));
    state_->compiled.emplace(text, std::move(compiled));
  }
  std::vector<CompiledKernel> result;
  for (const std::string& text : texts) result.push_back(state_->compiled.at(text));
  return result;
}

Result<void*> Jit::CompileFunction(const std::string& symbol, const FillModule& fill) {
  const std::lock_guard lock(state_->mutex);
  const codegen::Machine& machine = state_->machine;
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  llvm::Module module(symbol, context);
  machine.Prepare(module);
  FM_RETURN_IF_ERROR(fill(machine, module));
  FM_TRY(auto object, machine.EmitObject(module));
  if (auto error = state_->jit->addObjectFile(std::move(object)))
    return codegen::FromLlvm(std::move(error), "linking '" + symbol + "'");
  auto address = state_->jit->lookup(symbol);
  if (!address) return codegen::FromLlvm(address.takeError(), "linking '" + symbol + "'");
  return address->toPtr<void*>();
}

Result<std::string> Jit::EmitText(const loops::Kernel& kernel, const loops::Target& target,
                                  Emit what) {
  FM_TRY(const codegen::Machine machine, codegen::Machine::Create(target));
  llvm::LLVMContext context;
  llvm::Module module(kernel.name, context);
  machine.Prepare(module);
  FM_TRY([[maybe_unused]] const auto names, codegen::EmitKernel(kernel, machine, "kernel", module));
  machine.Optimize(module);
  if (what == Emit::kAssembly) return machine.EmitAssembly(module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace fusemark
