// Computations that a pass adds to a module while it rewrites others. They are appended after the
// walk, because appending during it would move the computation being walked.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/ir/rewrite.h"

namespace fusemark {

class NewRegions {
 public:
  // Ids count on from the module's; no other computation may be added until AppendTo().
  explicit NewRegions(const Module& module);
  // (a, b) -> a + b on scalars of the type, one per type.
  ComputationId Add(DType dtype);
  // Any computation; its name is a hint that is made unique.
  ComputationId Append(Computation computation);
  void AppendTo(Module& module);

 private:
  uint32_t first_id_;
  std::unordered_set<std::string> taken_names_;
  std::vector<std::pair<DType, ComputationId>> sums_;
  std::vector<Computation> computations_;
};

}  // namespace fusemark
