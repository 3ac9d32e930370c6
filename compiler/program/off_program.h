// The form of a module that the off engine dispatches (internal to program/): per computation a
// list of actions over numbered values, one value per leaf of an instruction. Views share the
// number of what they view.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "compiler/calls/host_call.h"
#include "compiler/ir/module.h"
#include "compiler/program/kernel_set.h"
#include "compiler/runtime/library.h"

namespace fusemark {

struct OffAction {
  enum class Kind : uint8_t {
    kKernel,
    kLibrary,
    kHostCall,
    kConstant,
    kCall,
    kWhile,
    kConditional
  };
  Kind kind = Kind::kKernel;
  uint64_t signature = 0;  // kKernel: looked up on every dispatch
  LibraryKernel* library = nullptr;
  const HostCall* host_call = nullptr;
  Literal constant;
  std::vector<uint32_t>
      operands;  // values; kConditional: the selector, then all branches' arguments
  std::vector<uint32_t> results;
  std::vector<int64_t> result_bytes;
  std::vector<uint32_t> callees;          // computation numbers: kWhile condition, body
  std::vector<uint32_t> argument_counts;  // kConditional: by branch
  bool selector_is_pred = false;
  std::vector<uint32_t> dead_after;  // values whose last reader this action is
};

struct OffComputation {
  std::vector<OffAction> actions;
  uint32_t values = 0;
  std::vector<uint32_t> parameters, results;  // values, flattened leaves
};

struct OffModule {
  std::vector<OffComputation> computations;
  uint32_t entry = 0;
  std::unique_ptr<KernelSet> kernels;
  std::unordered_map<uint64_t, int> kernel_by_signature;
  std::vector<std::unique_ptr<LibraryKernel>> library;
  std::vector<std::unique_ptr<HostCall>> host_calls;
};

Result<OffModule> BuildOff(const Module& module, const loops::Target& target, int threads);

}  // namespace fusemark
