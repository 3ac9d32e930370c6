// Configuration: a plan plus one schedule per task, as canonical text. This is what the tuner
// produces, the database stores and export writes; one grammar, one parser. Lines:
//
//   fusemark-config 1
//   knobs 1                                  version of the knob table
//   module <32 hex digits>                   hash of the module after the graph passes
//   computation 3
//   kernel loop roots=17 members=12,14,15
//   schedule <32 hex digits of the task> loop vector_bytes=0 unroll=4 ...
//
// Kernels stand in execution order. A task without a schedule line has the default schedule.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "compiler/fusion/plan.h"
#include "compiler/loops/knobs.h"
#include "compiler/support/hash.h"

namespace fusemark {

struct Config {
  Hash128 module_hash;
  Plan plan;
  std::map<Hash128, loops::ScheduleLine> schedules;  // by task id
  bool operator==(const Config&) const = default;
};

std::string PrintConfig(const Config& config);

// kInvalidInput names the line and what is wrong: unknown version, another module, an unknown knob,
// ... The caller treats a stored config that does not parse as stale.
Result<Config> ParseConfig(std::string_view text);

}  // namespace fusemark
