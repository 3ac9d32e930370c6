// The report of a folder's conformance run: a summary line and tables for people, JSON and JUnit
// XML for programs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/folder_check.h"

namespace fusemark {

using CaseCounts = std::array<int, kCaseStatuses>;  // by CaseStatus
CaseCounts CountCases(const std::vector<CaseResult>& results);

// "1056 pass, 1 fail, ... (1057 modules x 1 engine, 93 s)", failures by opcode and type, then each
// with its reason.
std::string FolderText(const std::vector<CaseResult>& results, size_t modules, double seconds);
std::string FolderJson(const std::vector<CaseResult>& results, size_t modules, double seconds);
// One test case per module and engine: wrong numbers are failures, everything else that did not run
// to its end errors; unsupported, without golden and not run are skipped.
std::string FolderJunit(const std::vector<CaseResult>& results, double seconds);

}  // namespace fusemark
