// Trials into the results database: one row each, written when the trial ended.
#pragma once

#include <string>

#include "autotuner/trial.h"
#include "harness/recorder.h"

namespace fusemark {

class DbTrialLog final : public TrialLog {
 public:
  DbTrialLog(Recorder& recorder, std::string plan_key, int threads)
      : recorder_(recorder), plan_key_(std::move(plan_key)), threads_(threads) {}

  Result<void> Record(const Trial& trial) override;

 private:
  Recorder& recorder_;
  std::string plan_key_;
  int threads_;
};

}  // namespace fusemark
