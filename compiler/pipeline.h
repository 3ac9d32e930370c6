// Runs the graph passes. The list and its order stand in pipeline.cpp; the bodies in passes/.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/passes/passes.h"

namespace fusemark {

using PassFn = Result<bool> (*)(Module&, const PassContext&);

struct PassEntry {
  std::string_view name;
  PassFn run;
  bool repeat = false;  // member of the group that is repeated until nothing changes
};

// The passes in order.
std::span<const PassEntry> GraphPasses();

struct PipelineOptions {
  PassContext context;
  std::vector<std::string> only;         // not empty: these passes, once each, in this order
  std::vector<std::string> disabled;     // skipped
  std::string stop_after;                // the last pass to run ("" = all)
  std::vector<std::string> print_after;  // passes after which `print` is called; "all" means each
  std::function<void(std::string_view pass, const Module&)> print;
  bool verify = false;  // after every pass: a pass that breaks the module is our bug and aborts
};

// What one pass did, summed over its runs.
struct PassReport {
  std::string name;
  int runs = 0;
  int changed = 0;  // runs that changed the module
  int64_t time_ns = 0;
};

// Reports of the passes that ran, in pipeline order. kInvalidInput for unknown pass names.
Result<std::vector<PassReport>> RunPipeline(Module& module, const PipelineOptions& options);

}  // namespace fusemark
