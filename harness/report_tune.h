// The result of `tune` as text and as the JSON document.
#pragma once

#include <string>

#include "autotuner/tuner.h"
#include "harness/report.h"

namespace fusemark {

struct TuneRow {
  std::string workload;
  int threads = 1;
  std::string strategy;
  uint64_t seed = 0;
  int64_t open_choices = 0, tasks = 0;  // of the search space
  double log2_size = 0;
  std::string reference;  // what candidates were compared with
  TuneResult result;
  std::string stored;  // path of the database; empty if nothing was stored
};

std::string TuneText(const TuneRow& row);
// `row` null: nothing was tuned.
std::string TuneJson(const TuneRow* row, const Outcome& outcome, const ReportContext& context);

}  // namespace fusemark
