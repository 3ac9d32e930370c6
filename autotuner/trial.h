// One candidate tried, and where trials are kept. The store (a database, a list in tests) is
// somebody else's: the tuner knows this interface only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

enum class TrialOutcome : uint8_t { kOk, kCompileFailed, kRunFailed, kWrong };
std::string_view TrialOutcomeName(TrialOutcome outcome);

struct Trial {
  int64_t number = 0;  // 0 is the default
  std::string config_id, config_text;
  std::map<std::string, std::string> decisions;  // that differ from the default: name, value
  TrialOutcome outcome = TrialOutcome::kOk;
  std::string message;  // why it failed
  int64_t compile_ns = 0;
  std::vector<int64_t> samples_ns;  // empty unless kOk
  // Fastest launch over the fastest of the default, both measured in alternation: what else runs on
  // the machine only slows launches down, and what changes from minute to minute hits both alike.
  std::optional<double> ratio;
  std::optional<double> max_error;  // against the reference, relative
};

class TrialLog {
 public:
  virtual ~TrialLog() = default;
  // Called once per trial, as soon as it ended: a killed search loses nothing. An error ends the
  // search.
  virtual Result<void> Record(const Trial& trial) = 0;
};

}  // namespace fusemark
