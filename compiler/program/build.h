// From a module and its plan to host programs: lowers every planned kernel, gives every value a
// place (parameter, output, arena slot, constant) with a lifetime, and orders kernels, library
// calls and control flow.
//
// Two steps, because scratch sizes are known only after the kernels are compiled: Build() collects
// kernels into the KernelSet, the caller compiles the set, Finish() assigns arena offsets.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/fusion/config.h"
#include "compiler/program/kernel_set.h"
#include "compiler/program/program.h"

namespace fusemark {

// A distinct task of the module and how often one pass of the program launches it.
struct Task {
  Hash128 id;
  loops::KernelClass klass = loops::KernelClass::kLoop;
  int64_t launches = 0;
  bool library = false;  // a library kernel exists for it
  loops::Schedule default_schedule;
};

struct ProgramSet {
  std::vector<std::unique_ptr<Program>> programs;  // by computation; null where not run as a whole
  std::vector<std::unique_ptr<LibraryKernel>> library;
  std::vector<std::unique_ptr<HostCall>> host_calls;
  std::map<Hash128, Task> tasks;
};

class ProgramBuilder {
 public:
  // `config` gives plan and schedules; tasks it does not name get the default schedule. `residents`
  // are numbers of entry parameters. Unknown custom calls are errors of Build() unless allowed.
  ProgramBuilder(const Module& module, const Config& config, const std::vector<int64_t>& residents,
                 bool allow_unknown_calls, KernelSet& kernels);
  ~ProgramBuilder();

  Result<void> Build();
  // After KernelSet::Compile.
  ProgramSet Finish();

 private:
  class ComputationBuilder;
  const Module& module_;
  const Config& config_;
  const std::vector<int64_t>& residents_;
  const bool allow_unknown_calls_;
  KernelSet& kernels_;
  ProgramSet set_;
  std::vector<std::unique_ptr<ComputationBuilder>> builders_;
};

}  // namespace fusemark
