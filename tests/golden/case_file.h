// The format of golden files: several cases per file, expectations rewritten in place on request.
//
//   # a comment before the first case
//   case: two identical adds become one
//   pass: merge-duplicates              <- directive and its argument
//     %a = f32[8] parameter(0)          <- input, up to the dashes
//   ----                                <- or "---- error invalid-input"
//     %a = f32[8] parameter(0)          <- expected output, or the expected message
//   ====                                <- between cases
//
// Nothing here knows what a directive does (directives.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusemark::golden {

struct Case {
  std::string name;
  std::string directive;  // "pass"
  std::string argument;   // "merge-duplicates"
  std::string input;      // lines as written, each with its newline
  std::string verdict;    // "" or "error invalid-input"
  std::string expected;
  size_t line = 0;            // of "case:", counting from 1
  size_t first_expected = 0;  // line index of the dashes, counting from 0
  size_t end_expected = 0;    // one past the last expected line
};

struct CaseFile {
  std::string path;
  std::vector<std::string> lines;
  std::vector<Case> cases;
  std::string error;  // not empty: the file is malformed, and how
};

CaseFile ReadCaseFile(const std::string& path);

// Replaces the expectation of the case with that name in the file as it is now. False if it cannot
// be written.
bool BlessCase(const std::string& path, std::string_view name, std::string_view verdict,
               std::string_view output);

}  // namespace fusemark::golden
