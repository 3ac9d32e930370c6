// The tuning loop: measures the default, then candidates of a strategy until the budget ends, each
// checked against the reference before it is timed; then decides by an interleaved comparison on
// fresh measurements whether the best replaces what is in force.
//
// Knows no database, no command line and no engine: candidates become something that runs through
// TuningDevice, so the whole loop is tested with invented costs.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotuner/measure.h"
#include "autotuner/search_space.h"
#include "autotuner/statistics.h"
#include "autotuner/strategy.h"
#include "autotuner/trial.h"
#include "compiler/ir/tensor.h"

namespace fusemark {

// A compiled candidate with its buffers.
class PreparedCandidate {
 public:
  virtual ~PreparedCandidate() = default;
  virtual Result<void> Run() = 0;
  virtual std::span<const Tensor> outputs() const = 0;  // of the last run
  virtual int64_t compile_ns() const = 0;
};

class TuningDevice {
 public:
  virtual ~TuningDevice() = default;
  virtual Result<std::unique_ptr<PreparedCandidate>> Prepare(const std::string& config_text) = 0;
};

// Largest relative error of outputs that are right; kWrongResult says what is wrong.
using OutputCheck = std::function<Result<double>(std::span<const Tensor>)>;

struct TuneProgress {
  int64_t trials = 0;
  int64_t default_ns = 0;  // median
  double best_ratio = 1;   // of the best so far to the default
  int64_t elapsed_ns = 0;
  bool confirming = false;
};

struct TuneOptions {
  int64_t budget_ns = 60'000'000'000;  // of the whole search, confirmation included
  int64_t max_trials = 0;              // beside the default; 0: no limit
  uint64_t seed = 1;
  std::string strategy = "climb";
  // Config text that only a better one replaces; "": the default. Tried right after the default.
  std::string in_force;
  const std::atomic<bool>* cancelled = nullptr;
  std::function<void(const TuneProgress&)> progress;  // between trials
  Clock clock = SteadyClock();
};

struct TuneResult {
  int64_t trials = 0;                 // the default included
  std::array<int64_t, 4> outcomes{};  // by TrialOutcome
  int64_t default_ns = 0;             // median of trial 0
  int64_t best_ns = 0;                // fastest launch of the best; not what is gained
  std::string best_text, best_id;     // of the candidate that was confirmed or refused
  // Fresh measurements of the default (a) and that candidate (b).
  std::optional<PairedComparison> confirmation;
  int64_t confirmed_default_ns = 0, confirmed_best_ns = 0;
  bool adopt = false;
  std::string why;    // in words: why it is adopted or not
  std::string stale;  // why the config in force no longer holds; empty if it does
  bool interrupted = false;
};

// The error of the default (it must compile, run and be right), or of the log.
Result<TuneResult> Tune(const SearchSpace& space, TuningDevice& device, const OutputCheck& check,
                        TrialLog& log, const TuneOptions& options);

}  // namespace fusemark
