// Loops over a window: what convolution, reduce-window and select-and-scatter share.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/attrs.h"
#include "compiler/loops/lower_index.h"

namespace fusemark::loops {

class Emitter;

// For every position of the window at output position `outputs` that lies on an element of the base
// area (sizes `base`, not in padding, not in a dilation hole): calls `body` with that element's
// index and the position in the window (not reversed). Guards stand right inside the loop whose
// variable they need.
void WindowNest(Emitter& emitter, const Window& window, const Indices& outputs,
                const std::vector<int64_t>& base, char prefix, bool reduces,
                const std::function<void(const Indices& element, const Indices& tap)>& body);

// The dim along which a reduce-window is a running reduction over the whole axis: window and pads
// cover everything before (or, `reversed`, after) each element, all other dims are trivial.
struct RunningWindow {
  size_t dim = 0;
  bool reversed = false;
};
std::optional<RunningWindow> MatchRunningWindow(const Window& window,
                                                const std::vector<int64_t>& dims);

}  // namespace fusemark::loops
