// What every JSON document of the program has in common. Internal to the harness: report.h speaks
// to callers without the JSON library.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/report.h"

namespace fusemark {

// schema_version, command, tool, machine.
// {"measured_utc", "age_s", "threads", "values": [{"name", "unit", "threads", "value"}]}.
nlohmann::ordered_json LimitsJson(const LimitsRecord& limits);

nlohmann::ordered_json DocumentHead(const ReportContext& context);

// Adds exit_code and reasons.
std::string DocumentText(nlohmann::ordered_json json, const Outcome& outcome);

}  // namespace fusemark
