// The parts of expand-composites, one file each. Only the pass itself (expand_composites.cpp)
// includes this.
#pragma once

#include "compiler/passes/new_regions.h"

namespace fusemark {

// Replaces every bitcast of the computation by transpose and reshape on logical indices. Layouts
// must still be those of the text. True if there was one.
bool ExpandBitcasts(Computation& computation, const Effects& effects);

// batch-norm-training, -inference, -grad; returns the result (a tuple except for inference).
InstrId ExpandBatchNorm(Builder& builder, const Instr& instr, NewRegions& regions);

}  // namespace fusemark
