// The host program of on mode: what runs between kernels. A computation becomes a list of steps
// over places; a place is a storage (a parameter, an output, the arena, a constant) plus an offset
// fixed at compile time. Running it does no look-up by name, allocates nothing and copies loop
// state never: `while` swaps two sets of pointers.
//
// Not here: how a module becomes a program (build.cpp) and the loop that runs it (run.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "compiler/calls/host_call.h"
#include "compiler/ir/literal.h"
#include "compiler/program/abi.h"
#include "compiler/runtime/library.h"

namespace fusemark {

struct Place {
  enum class Storage : uint8_t { kArena, kParam, kOutput, kConstant };
  Storage storage = Storage::kArena;
  // Bytes into the arena; leaf number of a parameter or output; number of a constant.
  int64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct LaunchStep {
  int kernel = 0;  // in the KernelSet
  std::vector<Place> operands, results;
  Place scratch;
};

struct LibraryStep {
  LibraryKernel* kernel = nullptr;
  Place lhs, rhs, result, scratch;
  bool rhs_is_resident = false;  // packed once, when the residents are bound
};

// A custom call.
struct HostCallStep {
  const HostCall* call = nullptr;
  std::vector<Place> operands, results;
  Place scratch;
};

struct CopyStep {
  Place from, to;
  int64_t bytes = 0;
};

struct Program;

// State leaf i lives at state[i] (set A); a leaf the body changes also has other[i] (set B) for the
// next iteration, which is the same place where the body updates it. Invariant leaves stay where
// they came from. After the loop the values are at
// result[i]: copied there only if the last iteration left them in the other set.
struct WhileStep {
  const Program* condition = nullptr;
  const Program* body = nullptr;
  std::vector<Place> initial, state, other;
  std::vector<int64_t> bytes;
  std::vector<bool> invariant;
  Place flag;   // pred result of the condition
  Place arena;  // of condition and body
};

struct ConditionalStep {
  std::vector<const Program*> branches;
  std::vector<std::vector<Place>> arguments;  // by branch
  std::vector<Place> results;
  Place selector;
  bool selector_is_pred = false;
  Place arena;
};

// A `while` whose condition and body are compiled as one function (native_loop.h).
struct NativeStep {
  NativeFunction function = nullptr;
  std::vector<Place> places;  // initial, state and other of the loop, one after another
  Place arena;
};

struct CallStep {
  const Program* callee = nullptr;
  std::vector<Place> arguments, results;
  Place arena;
};

using Step = std::variant<LaunchStep, LibraryStep, HostCallStep, CopyStep, WhileStep,
                          ConditionalStep, CallStep, NativeStep>;

struct Program {
  // What depends on resident parameters and constants only: run once when they are bound, else
  // before the steps of each run. Results stay in the arena.
  std::vector<Step> resident_steps;
  std::vector<Step> steps;
  std::string computation;              // its name
  std::vector<std::string> step_names;  // by step: the value that it computes
  std::vector<Literal> constants;
  int64_t arena_bytes = 0;                // own slots plus those of callees
  std::map<int64_t, int64_t> slot_bytes;  // arena offset -> bytes of the largest slot there
  int64_t launches = 0;  // kernels and library calls in `steps`, callees counted once
};

}  // namespace fusemark
