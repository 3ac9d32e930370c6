#include <algorithm>

#include "compiler/ir/users.h"
#include "compiler/loops/lower_nests.h"
#include "compiler/loops/lower_window.h"

namespace fusemark::loops {
namespace {

struct Running {
  InstrId id;
  bool exact = false;
  std::vector<BufferId> accumulators;
};

// One step of every running reduction at `indices`; their values are known there afterwards.
void Step(Emitter& emitter, std::span<const Running> scans, const Indices& indices) {
  for (const Running& scan : scans) {
    const Instr& in = emitter.instr(scan.id);
    const size_t inputs = scan.accumulators.size();
    std::vector<Value> arguments;
    for (size_t i = 0; i < inputs; ++i)
      arguments.push_back(emitter.Bind("a", emitter.instr(in.operands[i]).shape.dtype,
                                       emitter.Read(scan.accumulators[i])));
    for (size_t i = 0; i < inputs; ++i) arguments.push_back(emitter.Emit(in.operands[i], indices));
    const auto results = emitter.Region(in.called[0], arguments, scan.exact);
    for (size_t i = 0; i < inputs; ++i) {
      emitter.Assign(scan.accumulators[i], emitter.Use(results[i]));
      const Value stored = emitter.Round(in.name, results[i].dtype, emitter.Use(results[i]));
      emitter.Remember(scan.id, static_cast<int64_t>(i), indices, stored);
    }
  }
}

void Start(Emitter& emitter, Running& scan) {
  const Instr& in = emitter.instr(scan.id);
  const Op op = MatchScalarRegion(emitter.module()[in.called[0]]).op;
  scan.exact = op == Op::kAdd || op == Op::kMultiply;
  scan.accumulators.clear();
  const size_t inputs = in.operands.size() / 2;
  for (size_t i = 0; i < inputs; ++i) {
    const Value init = emitter.Emit(in.operands[inputs + i], {});
    scan.accumulators.push_back(emitter.Accumulator(HeldType(init.dtype), emitter.Use(init)));
  }
}

}  // namespace

bool LowerScan(Lowering& lowering) {
  Emitter& emitter = lowering.emitter;
  const auto& dims = lowering.DimsOf(0);
  std::vector<Running> scans;
  RunningWindow along;
  for (uint32_t i = 0; i < emitter.computation().instrs.size(); ++i) {
    const Instr& in = emitter.instr({i});
    if (!emitter.Inlined({i}) || in.op != Op::kReduceWindow) continue;
    const auto& operand = emitter.instr(in.operands[0]).shape.dims;
    const auto match = MatchRunningWindow(in.As<WindowAttrs>().window, operand);
    if (!match || operand != dims) continue;
    if (!scans.empty() && (match->dim != along.dim || match->reversed != along.reversed)) continue;
    along = *match;
    scans.push_back({{i}, false, {}});
  }
  for (size_t i = 0; i < lowering.request.roots.size(); ++i) {
    if (lowering.DimsOf(i) != dims) return false;
  }
  if (scans.empty()) return false;
  std::vector<int64_t> outer = dims;
  outer[along.dim] = std::min<int64_t>(1, dims[along.dim]);
  emitter.Nest('i', outer, false, [&](const Indices& row) {
    for (Running& scan : scans) Start(emitter, scan);
    emitter.Loop('k', 0, dims[along.dim], true, [&](const Affine& step) {
      Indices indices = row;
      indices[along.dim] = along.reversed ? ConstantIndex(dims[along.dim] - 1) - step : step;
      Step(emitter, scans, indices);
      for (size_t i = 0; i < lowering.request.roots.size(); ++i) lowering.StoreRoot(i, indices);
    });
  });
  return true;
}

}  // namespace fusemark::loops
