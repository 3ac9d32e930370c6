#include "compiler/explain.h"

#include <algorithm>
#include <map>

#include "compiler/calls/host_call.h"
#include "compiler/fusion/cost.h"
#include "compiler/ir/users.h"
#include "compiler/loops/knobs.h"
#include "compiler/loops/load_analysis.h"
#include "compiler/loops/print.h"
#include "compiler/on.h"
#include "compiler/program/library_call.h"

namespace fusemark {
namespace {

std::string OpcodeCounts(const Computation& computation, const std::vector<InstrId>& inside) {
  std::map<std::string_view, int> counts;
  for (const InstrId id : inside) ++counts[OpName(computation[id].op)];
  std::vector<std::pair<std::string_view, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : sorted) {
    if (!text.empty()) text += ", ";
    text += name;
    if (count > 1) text.append(" ").append(std::to_string(count));
  }
  return text;
}

bool UpdatesInPlace(Op op) {
  return op == Op::kDynamicUpdateSlice || op == Op::kScatter;
}

// The part of `operand` that the kernel needs: a look-up or a slice reads what it returns, an
// update in place leaves its first operand where it is.
int64_t BytesRead(const Computation& computation, const std::vector<InstrId>& inside,
                  InstrId operand) {
  const int64_t whole = ByteSizeOf(computation[operand].shape);
  int64_t read = 0;
  for (const InstrId id : inside) {
    const Instr& instr = computation[id];
    for (size_t position = 0; position < instr.operands.size(); ++position) {
      if (instr.operands[position] != operand) continue;
      const bool part = position == 0 && (instr.op == Op::kGather || instr.op == Op::kSlice ||
                                          instr.op == Op::kDynamicSlice);
      const bool updated = position == 0 && UpdatesInPlace(instr.op);
      read += part ? ByteSizeOf(instr.shape) : updated ? 0 : whole;
    }
  }
  return std::min(read, whole);
}

int64_t BytesWritten(const Computation& computation, InstrId root) {
  const Instr& instr = computation[root];
  if (!UpdatesInPlace(instr.op)) return ByteSizeOf(instr.shape);
  const size_t updates = instr.op == Op::kScatter ? instr.operands.size() - 1 : 1;
  return ByteSizeOf(computation[instr.operands[updates]].shape);
}

Result<ExplainedKernel> ExplainKernel(const OnProblem& problem, ComputationId id,
                                      const KernelPlan& plan, const Config& config) {
  const Computation& computation = problem.module[id];
  FM_TRY(const loops::Lowered lowered, loops::Lower({&problem.module, id, plan.roots, plan.members,
                                                     plan.klass, loops::Rounding::kAtStores}));
  ExplainedKernel kernel;
  const InstrId last = plan.roots.back();
  kernel.computation = computation.name;
  kernel.name = computation[last].name;
  kernel.shape = ToString(computation[last].shape);
  kernel.klass = loops::KernelClassName(plan.klass);
  std::vector<InstrId> inside = plan.members;
  inside.insert(inside.end(), plan.roots.begin(), plan.roots.end());
  kernel.members = OpcodeCounts(computation, inside);
  kernel.instructions = static_cast<int64_t>(inside.size());
  kernel.reason = PlacementText(problem.planned.placement[id.index][last.index]);
  for (const InstrId instr : inside) {
    kernel.flops += FlopsOf(problem.module, computation, computation[instr]);
  }
  for (const InstrId operand : lowered.operands) {
    kernel.bytes_read += BytesRead(computation, inside, operand);
  }
  for (const InstrId root : plan.roots) kernel.bytes_written += BytesWritten(computation, root);
  const auto schedule = config.schedules.find(loops::TaskId(lowered.kernel));
  const loops::Schedule knobs = schedule != config.schedules.end()
                                    ? schedule->second.schedule
                                    : loops::DefaultSchedule(lowered.kernel);
  kernel.schedule = loops::PrintSchedule(plan.klass, knobs);
  const bool alone = plan.members.empty() && plan.roots.size() == 1;
  if (alone && knobs.use_library && ClassOf(computation[last].op) == OpClass::Contract &&
      MakeLibraryKernel(problem.module, id, last) != nullptr) {
    kernel.klass = "library";
  }
  return kernel;
}

// By instruction: the number of custom calls on the longest way to it.
std::vector<int64_t> Clusters(const Computation& computation) {
  std::vector<int64_t> clusters(computation.instrs.size(), 0);
  for (uint32_t i = 0; i < clusters.size(); ++i) {
    for (const InstrId operand : computation.instrs[i].operands) {
      const bool call = computation[operand].op == Op::kCustomCall;
      clusters[i] = std::max(clusters[i], clusters[operand.index] + (call ? 1 : 0));
    }
  }
  return clusters;
}

void ExplainCalls(const Computation& computation, const std::vector<int64_t>& clusters,
                  std::vector<ExplainedCall>& calls) {
  const std::vector<bool> live = Live(computation);
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (!live[i] || instr.op != Op::kCustomCall) continue;
    const auto known = CheckHostCall(computation, {i});
    calls.push_back({computation.name, instr.name, instr.As<CustomCallAttrs>().target,
                     ToString(instr.shape), clusters[i], known.ok() ? "" : known.error().message});
  }
}

}  // namespace

Result<Explanation> Explain(const Module& module, const CompileOptions& options) {
  FM_TRY(OnProblem problem, PrepareOn(module, options));
  Config config = problem.config;
  if (!options.config_text.empty()) {
    FM_TRY(config, ParseConfig(options.config_text));
    FM_RETURN_IF_ERROR(CheckPlan(problem.module, config.plan));
  }
  Explanation explanation;
  for (const Computation& computation : module.computations) {
    explanation.instructions += static_cast<int64_t>(computation.instrs.size());
  }
  for (const ComputationId id : WholeComputations(problem.module)) {
    const Computation& computation = problem.module[id];
    explanation.instructions_after_passes += static_cast<int64_t>(computation.instrs.size());
    for (const Instr& instr : computation.instrs) {
      if (IsStructural(instr.op)) ++explanation.structural;
    }
    const auto users = Users(computation);
    const std::vector<int64_t> clusters = Clusters(computation);
    ExplainCalls(computation, clusters, explanation.calls);
    for (const KernelPlan& plan : config.plan.computations[id.index].kernels) {
      if (IsView(computation, plan, users)) continue;
      FM_TRY(ExplainedKernel kernel, ExplainKernel(problem, id, plan, config));
      for (const InstrId root : plan.roots) {
        kernel.cluster = std::max(kernel.cluster, clusters[root.index]);
      }
      explanation.kernels.push_back(std::move(kernel));
    }
  }
  return explanation;
}

}  // namespace fusemark
