// The parts of expand-composites, one file each. Only the pass itself (expand_composites.cpp)
// includes this.
#pragma once

#include <vector>

#include "compiler/ir/rewrite.h"

namespace fusemark {

// Computations that expansions need (reduction regions). They are appended to the module after the
// walk, because appending during it would move the computation being walked.
class NewRegions {
 public:
  explicit NewRegions(const Module& module);
  // (a, b) -> a + b on scalars of the type.
  ComputationId Add(DType dtype);
  void AppendTo(Module& module);

 private:
  uint32_t first_id_;
  std::vector<std::string> taken_names_;
  std::vector<Computation> computations_;
};

// Replaces every bitcast of the computation by transpose and reshape on logical indices. Layouts
// must still be those of the text. True if there was one.
bool ExpandBitcasts(Computation& computation, const Effects& effects);

// batch-norm-training, -inference, -grad; returns the result (a tuple except for inference).
InstrId ExpandBatchNorm(Builder& builder, const Instr& instr, NewRegions& regions);

}  // namespace fusemark
