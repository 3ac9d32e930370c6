#include "tests/golden/case_file.h"

#include <fstream>
#include <set>
#include <sstream>

#include "compiler/support/strings.h"

namespace fusemark::golden {
namespace {

bool StartsWith(std::string_view line, std::string_view word) {
  return line.substr(0, word.size()) == word;
}

// Reads one case from `at`, which stands on its "case:" line; returns the line after it.
size_t ReadCase(CaseFile& file, size_t at) {
  const auto& lines = file.lines;
  Case result;
  result.line = at + 1;
  result.name = Trim(std::string_view(lines[at]).substr(5));
  ++at;
  if (at < lines.size()) {
    const size_t colon = lines[at].find(':');
    result.directive = Trim(std::string_view(lines[at]).substr(0, colon));
    if (colon != std::string::npos)
      result.argument = Trim(std::string_view(lines[at]).substr(colon + 1));
    ++at;
  }
  while (at < lines.size() && !StartsWith(lines[at], "----") && lines[at] != "====")
    result.input += lines[at++] + '\n';
  if (at == lines.size() || lines[at] == "====") {
    file.error = "case '" + result.name + "' has no ---- line";
    return lines.size();
  }
  result.first_expected = at;
  result.verdict = Trim(std::string_view(lines[at]).substr(4));
  ++at;
  while (at < lines.size() && lines[at] != "====") result.expected += lines[at++] + '\n';
  result.end_expected = at;
  file.cases.push_back(std::move(result));
  return at == lines.size() ? at : at + 1;
}

}  // namespace

CaseFile ReadCaseFile(const std::string& path) {
  CaseFile file;
  file.path = path;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) file.error = "cannot be read";
  std::string line;
  while (std::getline(stream, line)) file.lines.push_back(line);
  std::set<std::string> names;
  for (size_t at = 0; at < file.lines.size() && file.error.empty();) {
    const std::string& text = file.lines[at];
    if (StartsWith(text, "case:")) {
      at = ReadCase(file, at);
      if (file.error.empty() && !names.insert(file.cases.back().name).second)
        file.error = "two cases are called '" + file.cases.back().name + "'";
    } else if (Trim(text).empty() || text[0] == '#') {
      ++at;
    } else {
      file.error = "line " + std::to_string(at + 1) + ": found '" + text + "', expected 'case:'";
    }
  }
  if (file.error.empty() && file.cases.empty()) file.error = "has no cases";
  return file;
}

bool BlessCase(const std::string& path, std::string_view name, std::string_view verdict,
               std::string_view output) {
  const CaseFile file = ReadCaseFile(path);
  std::ostringstream text;
  size_t at = 0;
  for (const Case& one : file.cases) {
    if (one.name != name) continue;
    for (; at < one.first_expected; ++at) text << file.lines[at] << '\n';
    text << "----" << (verdict.empty() ? "" : " ") << verdict << '\n' << output;
    at = one.end_expected;
  }
  for (; at < file.lines.size(); ++at) text << file.lines[at] << '\n';
  std::ofstream stream(path, std::ios::binary);
  stream << text.str();
  return static_cast<bool>(stream.flush());
}

}  // namespace fusemark::golden
