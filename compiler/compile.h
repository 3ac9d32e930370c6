// The front door: a verified module in, something that runs out. Three engines stand behind one
// interface:
//   reference  slow, obvious interpreter of HLO: the oracle
//   off        every instruction its own kernel and buffer, dispatched by a loop: nothing is known
//              across operations
//   on         whole graph: passes, fusion plan, loop nests, one arena, host program
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"
#include "compiler/loops/schedule.h"
#include "compiler/program/executable.h"
#include "compiler/support/result.h"

namespace fusemark {

enum class Engine : uint8_t { kReference, kOff, kOn };

std::string_view EngineName(Engine engine);
std::optional<Engine> EngineFromName(std::string_view name);

struct CompileOptions {
  Engine engine = Engine::kOn;
  loops::Target target;  // HostTarget() of compiler/codegen/target.h
  int threads = 1;
  std::string config_text;  // "" = default plan and schedules; else the text of fusion/config.h
  std::vector<int64_t> residents;  // entry parameter numbers whose values never change between runs
  std::vector<std::string> disabled_passes;
  // Compiles around custom calls that this program does not know (on only); running one is then
  // kUnsupported, with the name of the call. Else compiling is.
  bool allow_unknown_calls = false;
  std::atomic<bool>* cancelled = nullptr;  // checked between kernels; may be null
};

// kUnsupported (before anything runs) names the instruction, its opcode and its line.
Result<std::unique_ptr<Executable>> Compile(const Module& module, const CompileOptions& options);

// Checks that every instruction reachable from the entry can run; the error of the first one that
// cannot.
Result<void> CheckSupported(const Module& module);

// What the reference interpreter gives, by leaves of the entry's parameters and result.
Result<std::vector<Tensor>> Interpret(const Module& module, std::span<const Tensor* const> params,
                                      const std::atomic<bool>* cancelled = nullptr);

// Leaves of the entry's parameters (in parameter order) and of its result. Bounded sizes are given
// by their bounds.
std::vector<Shape> ParameterLeaves(const Module& module);
std::vector<Shape> OutputLeaves(const Module& module);

}  // namespace fusemark
