// What on mode makes of a module, as data: the kernels of the plan, what each computes and why it
// is a kernel of its own, the bytes it moves and the operations it performs. Text and tables are
// the harness's business.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace fusemark {

struct ExplainedKernel {
  std::string computation;
  std::string name;      // of the last root
  std::string klass;     // kernel class, or "library"
  std::string shape;     // of the last root
  std::string members;   // opcodes inside, by frequency: "add 2, multiply, exponential"
  std::string reason;    // why the root is materialised
  std::string schedule;  // knobs in force
  int64_t instructions = 0;
  double flops = 0;  // see fusion/cost.h
  // Each operand and result once; of looked-up and updated arrays the part that is touched.
  int64_t bytes_read = 0, bytes_written = 0;
  // How many custom calls its values have come through at most: kernels of one computation with the
  // same number are compiled and run together, calls stand between.
  int64_t cluster = 0;
};

// A custom call, which no kernel takes.
struct ExplainedCall {
  std::string computation, name, target, shape;
  int64_t cluster = 0;  // it reads values of this cluster and earlier ones
  std::string refusal;  // "" where a library runs it, else why the program cannot be run
};

struct Explanation {
  std::vector<ExplainedKernel> kernels;  // in execution order, computation by computation
  std::vector<ExplainedCall> calls;
  int64_t instructions = 0;  // of the module as given (reachable computations)
  int64_t instructions_after_passes = 0;
  int64_t structural = 0;  // left to the host program
};

Result<Explanation> Explain(const Module& module, const CompileOptions& options);

}  // namespace fusemark
