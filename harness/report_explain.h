// The report of `fusemark explain`: one row for each kind of kernel, what bounds it, and, where it
// was measured, how much of its time that bound explains.
#pragma once

#include <string>

#include "autotuner/machine_limits.h"
#include "compiler/explain.h"
#include "harness/kernel_times.h"

namespace fusemark {

// `times` may be null: not measured.
std::string ExplainText(const Explanation& explanation, const CompileStats& stats,
                        const MachineLimits& limits, int threads, const ProgramTimes* times);
std::string ExplainJson(const Explanation& explanation, const CompileStats& stats,
                        const MachineLimits& limits, const ProgramTimes* times);

}  // namespace fusemark
