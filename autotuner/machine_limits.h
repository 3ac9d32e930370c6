// What the machine can do at most, measured with kernels of our own compiler: the roofline that
// `explain` holds kernels against (Williams et al., "Roofline", CACM 2009).
#pragma once

#include "compiler/loops/schedule.h"
#include "compiler/support/result.h"

namespace fusemark {

struct MachineLimits {
  double flops_per_s = 0;  // f32 fused multiply-adds on all vector lanes, counted as two
  double bytes_per_s = 0;  // two arrays read, one written, all beyond the caches

  // The time in ns that the work takes at least.
  double LeastNs(double flops, double bytes) const;
};

// On `target.threads` threads; takes about a tenth of a second. Best of several repeats: others on
// the machine can only slow it down. kLaunchFailed if there is no memory.
Result<MachineLimits> MeasureMachineLimits(const loops::Target& target);

}  // namespace fusemark
