// The on engine: graph passes, plan, loop nests, native kernels, one arena, host program.
#pragma once

#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "compiler/fusion/config.h"
#include "compiler/fusion/planner.h"
#include "compiler/program/build.h"

namespace fusemark {

// What the tuner searches over: the module after the graph passes, its default plan, and the
// distinct tasks.
struct OnProblem {
  Module module;
  Hash128 module_hash;
  PlannedModule planned;
  Config config;  // the default plan with the default schedule of every task spelled out
  std::vector<Task> tasks;
};

// Graph passes and default plan; compiles nothing.
Result<OnProblem> PrepareOn(const Module& module, const CompileOptions& options);

// The tasks of a plan (library calls included), in order of their ids.
Result<std::vector<Task>> TasksOf(const Module& prepared, const Plan& plan);

// `options.config_text` is checked against the module: kInvalidInput if it belongs to another one
// or does not parse.
Result<std::unique_ptr<Executable>> CompileOn(const Module& module, const CompileOptions& options);

}  // namespace fusemark
