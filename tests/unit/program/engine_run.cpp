#include "tests/unit/program/engine_run.h"

#include <algorithm>
#include <cstring>

#include "compiler/codegen/target.h"
#include "compiler/fusion/config.h"
#include "harness/numerics.h"
#include "workloads/inputs.h"

namespace fusemark {

CompileOptions OptionsOf(Engine engine, int threads) {
  static const loops::Target host = HostTarget();
  CompileOptions options;
  options.engine = engine;
  options.target = host;
  options.target.threads = threads;
  options.threads = threads;
  return options;
}

Result<std::vector<Tensor>> RunOnce(Executable& executable, const Module& module,
                                    const std::vector<Tensor>& inputs) {
  std::vector<const void*> params;
  for (const Tensor& input : inputs) params.push_back(input.data.get());
  std::vector<Tensor> outputs;
  std::vector<void*> pointers;
  for (const Shape& leaf : OutputLeaves(module)) {
    outputs.push_back(MakeTensor(leaf));
    std::memset(outputs.back().data.get(), 0xA5, static_cast<size_t>(outputs.back().size_bytes()));
    pointers.push_back(outputs.back().data.get());
  }
  FM_RETURN_IF_ERROR(executable.Run(params, pointers));
  return outputs;
}

Result<std::vector<Tensor>> CompileAndRun(const Module& module, const CompileOptions& options,
                                          const std::vector<Tensor>& inputs) {
  FM_TRY(const auto executable, Compile(module, options));
  return RunOnce(*executable, module, inputs);
}

std::string Difference(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                       double tolerance) {
  const auto comparison = CompareTensors(got, want, tolerance);
  if (!comparison.ok()) return comparison.error().message;
  for (const LeafComparison& leaf : comparison->leaves) {
    if (leaf.pass()) continue;
    return "leaf " + std::to_string(leaf.leaf) + " " + ToString(leaf.shape) + ", element " +
           std::to_string(leaf.first_mismatch) + ": got " + leaf.got + ", want " + leaf.want +
           " (" + std::to_string(leaf.mismatches) + " elements differ)";
  }
  return "";
}

std::vector<Tensor> InputsOf(const Module& module, uint64_t seed) {
  auto inputs = SynthesiseInputs(module, module.name, {}, seed);
  FM_CHECK(inputs.ok(), inputs.error().message);
  return std::move(*inputs);
}

namespace {

// Tests are small, but their sums may cancel.
double SmallTolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 1e-10;
    case DType::kF32: return 5e-4;
    case DType::kF16: return 1e-2;
    case DType::kBF16: return 6e-2;
    default: return DefaultTolerance(dtype);
  }
}

}  // namespace

double ToleranceOf(const Module& module) {
  double widest = 0;
  for (const Computation& computation : module.computations) {
    for (const Instr& instr : computation.instrs) {
      if (instr.shape.is_array()) widest = std::max(widest, SmallTolerance(instr.shape.dtype));
    }
  }
  return widest;
}

std::string EnginesDisagree(const Module& module, const std::vector<Tensor>& inputs) {
  const auto want = CompileAndRun(module, OptionsOf(Engine::kReference), inputs);
  if (!want.ok()) return "reference: " + want.error().message;
  for (const Engine engine : {Engine::kOff, Engine::kOn}) {
    for (const int threads : {1, 2}) {
      const std::string what =
          std::string(EngineName(engine)) + ", threads " + std::to_string(threads) + ": ";
      const auto got = CompileAndRun(module, OptionsOf(engine, threads), inputs);
      if (!got.ok()) return what + got.error().message;
      const std::string difference = Difference(*got, *want, ToleranceOf(module));
      if (!difference.empty()) return what + difference;
    }
  }
  return "";
}

Result<std::string> RandomConfig(const OnProblem& problem, std::mt19937_64& random) {
  PlanChoices choices;
  for (const auto& flip : FlippableChoices(problem.module, problem.planned)) {
    if (random() % 2 == 0) choices.insert(flip);
  }
  if (random() % 2 == 0) {
    const uint32_t entry = problem.module.entry.index;
    for (uint32_t i = 0; i < problem.module.Entry().instrs.size(); ++i) {
      if (random() % 2 == 0) choices[{entry, i}] = random() % 2 == 0;
    }
  }
  FM_TRY(PlannedModule planned, MakePlan(problem.module, choices));
  FM_RETURN_IF_ERROR(CheckPlan(problem.module, planned.plan));
  Config config{problem.module_hash, planned.plan, {}};
  FM_TRY(const auto tasks, TasksOf(problem.module, config.plan));
  for (const Task& task : tasks) {
    loops::ScheduleLine line{task.klass, {}};
    for (const loops::Knob* knob : loops::KnobsOf(task.klass, loops::Numerics::kApproximates)) {
      knob->Set(line.schedule, knob->domain[random() % knob->domain.size()]);
    }
    config.schedules[task.id] = line;
  }
  return PrintConfig(config);
}

}  // namespace fusemark
