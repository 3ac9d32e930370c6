#include "compiler/compile.h"

#include <chrono>
#include <set>

#include "compiler/calls/host_call.h"
#include "compiler/fusion/planner.h"
#include "compiler/loops/lower.h"
#include "compiler/on.h"
#include "compiler/pipeline.h"
#include "compiler/program/off.h"
#include "compiler/reference/evaluate.h"
#include "compiler/runtime/threads.h"
#include "compiler/support/memory.h"

namespace fusemark {
namespace {

constexpr std::string_view kEngineNames[] = {"reference", "off", "on"};

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(const Module& module, const std::atomic<bool>* cancelled)
      : module_(module), leaves_(ParameterLeaves(module)), cancelled_(cancelled) {}

  Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) override {
    std::vector<Tensor> inputs;
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      inputs.push_back(MakeTensor(leaves_[i], false));
      CopyArray(inputs.back().data.get(), params[i], inputs.back().size_bytes());
    }
    for (const Tensor& tensor : inputs) pointers.push_back(&tensor);
    FM_TRY(const std::vector<Tensor> results, Evaluate(module_, pointers, cancelled_));
    for (size_t i = 0; i < results.size(); ++i) {
      CopyArray(outputs[i], results[i].data.get(), results[i].size_bytes());
    }
    return Ok();
  }
  Result<void> Bind(std::span<const void* const>) override { return Ok(); }
  CompileStats Stats() const override { return {}; }

 private:
  Module module_;
  std::vector<Shape> leaves_;
  const std::atomic<bool>* cancelled_;
};

Error Refuse(const Instr& instr) {
  return Unsupported("instruction `" + instr.name + "` (line " + std::to_string(instr.loc.line) +
                         "): opcode " + std::string(OpName(instr.op)) + " on " +
                         ToString(instr.shape) + " is not supported",
                     instr.loc);
}

// What the engines dispatch themselves; everything else must lower to a kernel.
bool IsDispatched(Op op) {
  switch (op) {
    case Op::kFusion:
    case Op::kMap:
    case Op::kOptimizationBarrier: return true;
    default: return IsStructural(op);
  }
}

// Computations that run as a whole in off: callees of control flow, fusions and calls, not scalar
// regions.
void Reach(const Module& module, ComputationId id, std::set<ComputationId>& reached) {
  if (!reached.insert(id).second) return;
  for (const Instr& instr : module[id].instrs) {
    if (!IsDispatched(instr.op) || instr.op == Op::kCustomCall) continue;
    for (const ComputationId callee : instr.called) Reach(module, callee, reached);
  }
}

Result<Module> AfterPasses(const Module& module, std::vector<std::string> names) {
  Module expanded = module;
  PipelineOptions pipeline;
  pipeline.only = std::move(names);
  FM_TRY(const auto reports, RunPipeline(expanded, pipeline));
  (void)reports;
  return expanded;
}

// What off needs of the graph passes: composites as primitive operations, functions called in
// place, complex numbers as pairs. No optimisation.
Result<Module> Expanded(const Module& module) {
  return AfterPasses(module, {"resolve-dynamic", "expand-composites", "expand-numerics",
                              "inline-calls", "expand-complex"});
}

// What the reference interpreter needs: it knows no sizes below the bound.
Result<Module> ForInterpreter(const Module& module) {
  return AfterPasses(module, {"resolve-dynamic"});
}

}  // namespace

std::string_view EngineName(Engine engine) {
  return kEngineNames[static_cast<size_t>(engine)];
}

std::optional<Engine> EngineFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kEngineNames); ++i) {
    if (kEngineNames[i] == name) return static_cast<Engine>(i);
  }
  return std::nullopt;
}

std::vector<Shape> ParameterLeaves(const Module& module) {
  std::vector<Shape> leaves;
  for (const InstrId parameter : module.Entry().parameters) {
    FlattenLeaves(module.Entry()[parameter].shape, leaves);
  }
  for (Shape& leaf : leaves) leaf = AtBounds(std::move(leaf));
  return leaves;
}

std::vector<Shape> OutputLeaves(const Module& module) {
  std::vector<Shape> leaves;
  FlattenLeaves(module.Entry().Root().shape, leaves);
  for (Shape& leaf : leaves) leaf = AtBounds(std::move(leaf));
  return leaves;
}

Result<std::vector<Tensor>> Interpret(const Module& module, std::span<const Tensor* const> params,
                                      const std::atomic<bool>* cancelled) {
  FM_TRY(const Module resolved, ForInterpreter(module));
  return Evaluate(resolved, params, cancelled);
}

Result<void> CheckSupported(const Module& given) {
  FM_TRY(const Module module, Expanded(given));
  std::set<ComputationId> reached;
  Reach(module, module.entry, reached);
  std::set<std::string> accepted;  // opcode, types and attributes seen before lower the same way
  for (const ComputationId id : reached) {
    const Computation& computation = module[id];
    for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
      const Instr& instr = computation.instrs[i];
      if (instr.op == Op::kCustomCall) FM_RETURN_IF_ERROR(CheckHostCall(computation, {i}));
      if (IsDispatched(instr.op)) continue;
      std::string key(OpName(instr.op));
      key += ToString(instr.shape);
      for (const InstrId operand : instr.operands) key += ToString(computation[operand].shape);
      if (instr.called.empty() && !accepted.insert(key).second) continue;
      const auto lowered = loops::Lower({&module,
                                         id,
                                         {{i}},
                                         {},
                                         loops::ClassOfInstr(module, id, {i}),
                                         loops::Rounding::kEveryOperation});
      if (lowered.ok()) continue;
      if (lowered.error().code == Code::kUnsupported) return lowered.error();
      return Refuse(instr);
    }
  }
  return Ok();
}

Result<std::unique_ptr<Executable>> Compile(const Module& module, const CompileOptions& options) {
  // Library kernels take the size of their team when they are made, not when they run.
  SetThreads(options.threads);
  switch (options.engine) {
    case Engine::kReference: {
      FM_TRY(const Module resolved, ForInterpreter(module));
      return std::unique_ptr<Executable>(
          std::make_unique<ReferenceExecutable>(resolved, options.cancelled));
    }
    case Engine::kOff: {
      FM_TRY(const Module expanded, Expanded(module));
      return CompileOff(expanded, options.target, options.threads, options.cancelled);
    }
    case Engine::kOn: return CompileOn(module, options);
  }
  return Invalid("unknown engine");
}

}  // namespace fusemark
