// Result rows as text: a table for people, the JSON document of schema version 1 for programs. Pure
// functions of the rows; writing to a file is output.h. The field names of the JSON are a contract:
// fields may be added, none renamed.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/exit_code.h"
#include "harness/result_row.h"
#include "results_db/records.h"

namespace fusemark {

struct ReportContext {
  MachineRecord machine;
  BuildRecord build;
  std::string command;
  std::optional<LimitsRecord> limits;  // of the machine, where the command measures them
};

std::string ReportJson(std::span<const ResultRow> rows, const Outcome& outcome,
                       const ReportContext& context);

// The table, then notices, then errors of each leaf that failed its check.
std::string ReportTable(std::span<const ResultRow> rows);

// The table of `check`: no times.
std::string ReportCheckTable(std::span<const ResultRow> rows);

// "1.234 ms": three to four significant digits.
std::string FormatNs(double ns);
std::string FormatBytes(int64_t bytes);
std::string FormatCount(double value);

}  // namespace fusemark
