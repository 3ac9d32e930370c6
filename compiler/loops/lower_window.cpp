#include "compiler/loops/lower_window.h"

#include <algorithm>

#include "compiler/ir/users.h"
#include "compiler/loops/lower_expr.h"

namespace fusemark::loops {
namespace {

struct WindowLoops {
  Emitter& emitter;
  const Window& window;
  const Indices& outputs;
  const std::vector<int64_t>& base;
  char prefix;
  bool reduces;
  const std::function<void(const Indices&, const Indices&)>& body;
  size_t first = 0;
  Indices element, tap;

  void Level(size_t dim) {
    if (dim == window.size()) {
      body(element, tap);
      return;
    }
    emitter.Loop(prefix, first + dim, window[dim].size, reduces,
                 [&](const Affine& k) { Tap(dim, k); });
  }

  void Tap(size_t dim, const Affine& k) {
    const WindowDim& w = window[dim];
    const Affine position = outputs[dim] * w.stride + k * w.window_dilation + -w.pad_low;
    if (w.base_dilation == 1) {
      emitter.WithGuard(position, 0, base[dim] - 1,
                        [&](const Affine& inside) { Inside(dim, inside, k); });
      return;
    }
    // On an element, not in a hole; then its number bounds it on both sides.
    emitter.WithGuard(emitter.Mod(position, w.base_dilation), 0, 0, [&](const Affine&) {
      emitter.WithGuard(emitter.Div(position, w.base_dilation), 0, base[dim] - 1,
                        [&](const Affine& inside) { Inside(dim, inside, k); });
    });
  }

  void Inside(size_t dim, const Affine& at, const Affine& k) {
    element.push_back(at);
    tap.push_back(k);
    Level(dim + 1);
    element.pop_back();
    tap.pop_back();
  }
};

}  // namespace

void WindowNest(Emitter& emitter, const Window& window, const Indices& outputs,
                const std::vector<int64_t>& base, char prefix, bool reduces,
                const std::function<void(const Indices& element, const Indices& tap)>& body) {
  WindowLoops loops{emitter, window, outputs, base, prefix, reduces, body};
  loops.first = emitter.FreeNumber(prefix);
  if (std::find(base.begin(), base.end(), 0) == base.end()) loops.Level(0);
}

std::optional<RunningWindow> MatchRunningWindow(const Window& window,
                                                const std::vector<int64_t>& dims) {
  std::optional<RunningWindow> found;
  for (size_t dim = 0; dim < window.size(); ++dim) {
    const WindowDim& w = window[dim];
    if (w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1) return std::nullopt;
    if (w.size == 1 && w.pad_low == 0 && w.pad_high == 0) continue;
    const bool whole = w.size == dims[dim];
    const bool before = w.pad_low == dims[dim] - 1 && w.pad_high == 0;
    const bool after = w.pad_high == dims[dim] - 1 && w.pad_low == 0;
    if (found || !whole || !(before || after)) return std::nullopt;
    found = RunningWindow{dim, after};
  }
  return found;
}

void Emitter::ReduceWindow(InstrId id, const Indices& indices) {
  const Instr& in = instr(id);
  const size_t inputs = in.operands.size() / 2;
  const Op op = MatchScalarRegion(module()[in.called[0]]).op;
  const bool exact = op == Op::kAdd || op == Op::kMultiply;
  std::vector<BufferId> accumulators;
  for (size_t i = 0; i < inputs; ++i) {
    const Value init = Emit(in.operands[inputs + i], {});
    accumulators.push_back(Accumulator(HeldType(init.dtype), Use(init)));
  }
  const auto& base = instr(in.operands[0]).shape.dims;
  WindowNest(
      *this, in.As<WindowAttrs>().window, indices, base, 'k', true,
      [&](const Indices& element, const Indices&) {
        std::vector<Value> arguments;
        for (size_t i = 0; i < inputs; ++i)
          arguments.push_back(Bind("a", instr(in.operands[i]).shape.dtype, Read(accumulators[i])));
        for (size_t i = 0; i < inputs; ++i) arguments.push_back(Emit(in.operands[i], element));
        const auto results = Region(in.called[0], arguments, exact);
        for (size_t i = 0; i < inputs; ++i) Assign(accumulators[i], Use(results[i]));
      });
  for (size_t i = 0; i < inputs; ++i) {
    const DType dtype = instr(in.operands[i]).shape.dtype;
    Remember(id, static_cast<int64_t>(i), indices, Round(in.name, dtype, Read(accumulators[i])));
  }
}

}  // namespace fusemark::loops
