// The plan: which instructions share a kernel. A value beside the module (fusion does not rewrite
// the module), made after the graph passes on the canonical module. Instructions are named by their
// number in their computation, and the text form carries the module's hash, so a stored plan cannot
// be applied to another graph.
//
// Every instruction of a computation is one of
//   * a kernel root: its value is materialised (one kernel may have several roots: sibling
//   outputs);
//   * inlined: recomputed inside every kernel that lists it as a member;
//   * structural: parameter, constant, tuple, get-tuple-element, control flow: handled by the host
//   program.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark {

struct KernelPlan {
  std::vector<InstrId>
      roots;  // in increasing order; all have the same iteration space when more than one
  std::vector<InstrId> members;  // inlined instructions, increasing, roots excluded
  loops::KernelClass klass = loops::KernelClass::kLoop;
  bool operator==(const KernelPlan&) const = default;
};

struct ComputationPlan {
  std::vector<KernelPlan> kernels;  // ordered so that a kernel only reads values of earlier ones
  bool operator==(const ComputationPlan&) const = default;
};

struct Plan {
  std::vector<ComputationPlan>
      computations;  // one per computation of the module; empty where never run as a whole
  bool operator==(const Plan&) const = default;
};

}  // namespace fusemark
