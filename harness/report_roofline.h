// The measured limits of the machine as a table for people: one row per limit, a column for one
// thread and one for all of them.
#pragma once

#include <string>

#include "results_db/records.h"

namespace fusemark {

std::string RooflineTable(const LimitsRecord& limits);

// "92.1 GB/s", "1.33 TFLOP/s", "61 ns".
std::string LimitText(double value, const std::string& unit);

}  // namespace fusemark
