// The front door: a verified module in, something that runs out. The three engines stand behind one
// interface.
//   reference  slow, obvious interpreter of HLO: the oracle
//   off        every instruction its own compiled kernel and buffer, dispatched by a loop (no
//   cross-op knowledge) on         whole graph: passes, fusion plan, loop nests, one arena, host
//   program
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/fusion/plan.h"
#include "compiler/ir/module.h"
#include "compiler/loops/schedule.h"
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
  std::atomic<bool>* cancelled = nullptr;  // checked between kernels; may be null
};

// What compiling cost and produced.
struct CompileStats {
  int64_t compile_ns = 0;      // whole Compile() call
  int64_t kernels = 0;         // launches of the entry computation's program, loops counted once
  int64_t unique_kernels = 0;  // after identical tasks are merged
  int64_t peak_arena_bytes =
      0;  // intermediates: arena (on) or largest sum of live buffers (off, after a run)
  std::string config_text;  // the plan and schedules in force, canonical text (on)
};

class Executable {
 public:
  virtual ~Executable() = default;
  // One pointer per leaf of the entry parameters / result in depth-first order, 64-byte aligned,
  // dense row-major. The outputs belong to the caller and are overwritten. kCancelled if the flag
  // was raised, kLaunchFailed otherwise.
  virtual Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) = 0;
  // After the inputs of the resident parameters are known: fold and pack them. Optional; Run()
  // works without.
  virtual Result<void> Bind(std::span<const void* const> params) = 0;
  virtual CompileStats Stats() const = 0;
};

// kUnsupported (before anything runs) names the instruction, its opcode and its line.
Result<std::unique_ptr<Executable>> Compile(const Module& module, const CompileOptions& options);

// Checks that every instruction reachable from the entry can run; the error of the first one that
// cannot.
Result<void> CheckSupported(const Module& module);

// Leaves of the entry's parameters (in parameter order) and of its result.
std::vector<Shape> ParameterLeaves(const Module& module);
std::vector<Shape> OutputLeaves(const Module& module);

}  // namespace fusemark
