#include "compiler/on.h"

#include <chrono>
#include <new>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/print.h"
#include "compiler/pipeline.h"
#include "compiler/program/library_call.h"
#include "compiler/program/native_loop.h"
#include "compiler/program/run.h"
#include "compiler/reference/evaluate.h"
#include "compiler/runtime/threads.h"
#include "compiler/support/memory.h"
#include "compiler/text/text.h"

namespace fusemark {
namespace {

bool RunsOthers(const Step& step) {
  return std::holds_alternative<WhileStep>(step) || std::holds_alternative<ConditionalStep>(step) ||
         std::holds_alternative<CallStep>(step);
}

std::vector<KernelTime> KernelTimes(const StepTimes& times) {
  std::vector<KernelTime> kernels;
  for (const auto& [program, steps] : times) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (RunsOthers(program->steps[i])) continue;
      kernels.push_back({program->computation, program->step_names[i], steps[i].ns, steps[i].runs});
    }
  }
  return kernels;
}

class OnExecutable final : public Executable {
 public:
  OnExecutable(std::unique_ptr<Module> module, std::unique_ptr<KernelSet> kernels, ProgramSet set,
               CompileStats stats, RunContext context)
      : module_(std::move(module)),
        kernels_(std::move(kernels)),
        set_(std::move(set)),
        stats_(std::move(stats)),
        context_(context) {
    context_.kernels = kernels_.get();
    entry_ = set_.programs[module_->entry.index].get();
  }

  Result<void> Allocate() {
    if (entry_->arena_bytes == 0) return Ok();
    arena_.reset(AllocateArray(entry_->arena_bytes));
    if (arena_ == nullptr) {
      return Error{Code::kLaunchFailed, "out of memory: the arena needs " +
                                            std::to_string(entry_->arena_bytes) + " bytes"};
    }
    return Ok();
  }

  Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) override {
    if (CurrentThreads() != context_.threads) SetThreads(context_.threads);
    if (!bound_) FM_RETURN_IF_ERROR(RunResidents(*entry_, context_, params.data(), arena_.get()));
    return RunProgram(*entry_, context_, params.data(), outputs.data(), arena_.get());
  }
  Result<void> Bind(std::span<const void* const> params) override {
    if (CurrentThreads() != context_.threads) SetThreads(context_.threads);
    bound_ = false;
    FM_RETURN_IF_ERROR(RunResidents(*entry_, context_, params.data(), arena_.get()));
    FM_RETURN_IF_ERROR(PackResidents(*entry_, context_, params.data(), arena_.get()));
    bound_ = true;
    return Ok();
  }
  CompileStats Stats() const override { return stats_; }
  Result<std::vector<KernelTime>> RunTimed(std::span<const void* const> params,
                                           std::span<void* const> outputs) override {
    StepTimes times;
    context_.times = &times;
    const Result<void> status = Run(params, outputs);
    context_.times = nullptr;
    if (!status.ok()) return status.error();
    return KernelTimes(times);
  }

 private:
  std::unique_ptr<Module> module_;
  std::unique_ptr<KernelSet> kernels_;
  ProgramSet set_;
  CompileStats stats_;
  RunContext context_;
  const Program* entry_ = nullptr;
  bool bound_ = false;
  std::unique_ptr<std::byte, Tensor::Free> arena_;
};

Result<void> RunPasses(Module& module, const CompileOptions& options) {
  PipelineOptions pipeline;
  pipeline.context.evaluate = EvaluateInstr;
  pipeline.disabled = options.disabled_passes;
  FM_TRY(const auto reports, RunPipeline(module, pipeline));
  (void)reports;
  return Ok();
}

Hash128 ModuleHash(const Module& module) {
  return HashText(PrintModule(module, {.canonical_names = true}));
}

Result<Config> ConfigFor(const Module& module, const std::string& text) {
  const Hash128 hash = ModuleHash(module);
  if (text.empty()) {
    FM_TRY(PlannedModule planned, MakePlan(module));
    return Config{hash, std::move(planned.plan), {}};
  }
  FM_TRY(Config config, ParseConfig(text));
  if (config.module_hash != hash) {
    return Invalid("config: made for module " + ToHex(config.module_hash) + ", this one is " +
                   ToHex(hash));
  }
  config.plan.computations.resize(module.computations.size());
  FM_RETURN_IF_ERROR(CheckPlan(module, config.plan));
  return config;
}

// Spells out the schedule of every task, so that a stored config does not depend on later defaults.
void NameSchedules(Config& config, const std::map<Hash128, Task>& tasks) {
  std::map<Hash128, loops::ScheduleLine> named;
  for (const auto& [id, task] : tasks) {
    const auto it = config.schedules.find(id);
    named[id] = it != config.schedules.end()
                    ? it->second
                    : loops::ScheduleLine{task.klass, task.default_schedule};
  }
  config.schedules = std::move(named);
}

}  // namespace

Result<std::vector<Task>> TasksOf(const Module& prepared, const Plan& plan) {
  std::map<Hash128, Task> tasks;
  for (const ComputationId id : WholeComputations(prepared)) {
    for (const KernelPlan& kernel : plan.computations[id.index].kernels) {
      FM_TRY(const loops::Lowered lowered,
             loops::Lower({&prepared, id, kernel.roots, kernel.members, kernel.klass,
                           loops::Rounding::kAtStores}));
      const Hash128 hash = loops::TaskId(lowered.kernel);
      const bool first = !tasks.contains(hash);
      Task& task = tasks[hash];
      task.id = hash;
      task.klass = kernel.klass;
      task.default_schedule = loops::DefaultSchedule(lowered.kernel);
      ++task.launches;
      const Op op = prepared[id][kernel.roots[0]].op;
      if (first && ClassOf(op) == OpClass::Contract && kernel.members.empty()) {
        task.library = MakeLibraryKernel(prepared, id, kernel.roots[0]) != nullptr;
      }
    }
  }
  std::vector<Task> list;
  for (const auto& [hash, task] : tasks) list.push_back(task);
  return list;
}

Result<OnProblem> PrepareOn(const Module& module, const CompileOptions& options) {
  OnProblem problem;
  problem.module = module;
  FM_RETURN_IF_ERROR(RunPasses(problem.module, options));
  problem.module_hash = ModuleHash(problem.module);
  FM_TRY(problem.planned, MakePlan(problem.module));
  FM_TRY(problem.tasks, TasksOf(problem.module, problem.planned.plan));
  problem.config = {problem.module_hash, problem.planned.plan, {}};
  std::map<Hash128, Task> tasks;
  for (const Task& task : problem.tasks) tasks[task.id] = task;
  NameSchedules(problem.config, tasks);
  return problem;
}

Result<std::unique_ptr<Executable>> CompileOn(const Module& module, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto prepared = std::make_unique<Module>(module);
  FM_RETURN_IF_ERROR(RunPasses(*prepared, options));
  FM_TRY(Config config, ConfigFor(*prepared, options.config_text));
  FM_TRY(auto kernels, KernelSet::Create(options.target));
  ProgramBuilder builder(*prepared, config, options.residents, options.allow_unknown_calls,
                         *kernels);
  FM_RETURN_IF_ERROR(builder.Build());
  FM_RETURN_IF_ERROR(kernels->Compile(options.threads));
  ProgramSet set = builder.Finish();
  FM_RETURN_IF_ERROR(CompileLoops(*set.programs[prepared->entry.index], options.threads, *kernels));
  NameSchedules(config, set.tasks);
  const Program& entry = *set.programs[prepared->entry.index];
  CompileStats stats;
  stats.kernels = entry.launches;
  stats.unique_kernels = kernels->size();
  stats.peak_arena_bytes = entry.arena_bytes;
  stats.config_text = PrintConfig(config);
  stats.compile_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
          .count();
  auto executable = std::make_unique<OnExecutable>(
      std::move(prepared), std::move(kernels), std::move(set), std::move(stats),
      RunContext{nullptr, options.threads, options.cancelled});
  FM_RETURN_IF_ERROR(executable->Allocate());
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace fusemark
