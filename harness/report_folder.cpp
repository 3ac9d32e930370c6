#include "harness/report_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/support/strings.h"
#include "harness/table.h"

namespace fusemark {
namespace {

bool IsGood(CaseStatus status) {
  return status == CaseStatus::kPass || status == CaseStatus::kNoGolden;
}

// Characters that XML 1.0 has no place for are dropped, the others escaped.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

std::string Summary(const std::vector<CaseResult>& results, size_t modules, double seconds) {
  const CaseCounts counts = CountCases(results);
  std::vector<std::string> parts;
  for (int status = 0; status < kCaseStatuses; ++status) {
    const bool always = status <= static_cast<int>(CaseStatus::kUnsupported);
    if (counts[static_cast<size_t>(status)] == 0 && !always) continue;
    parts.push_back(fmt::format("{} {}", counts[static_cast<size_t>(status)],
                                CaseStatusName(static_cast<CaseStatus>(status))));
  }
  const size_t engines = modules == 0 ? 0 : results.size() / modules;
  return fmt::format("{} ({} module{} x {} engine{}, {:.0f} s)\n", Join(parts, ", "), modules,
                     modules == 1 ? "" : "s", engines, engines == 1 ? "" : "s", seconds);
}

// What did not pass, by the opcodes of its modules and by result type.
std::string Tables(const std::vector<CaseResult>& results) {
  std::map<std::string, int> by_op;
  std::map<std::pair<std::string, std::string>, int> by_type;
  for (const CaseResult& result : results) {
    if (IsGood(result.status) || result.status == CaseStatus::kNotRun) continue;
    for (const std::string& op : result.ops) ++by_op[op];
    ++by_type[{result.dtype.empty() ? "?" : result.dtype,
               std::string(CaseStatusName(result.status))}];
  }
  std::vector<std::pair<std::string, int>> ops(by_op.begin(), by_op.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr size_t kMostRows = 20;
  TextTable op_table({{"opcode", TextTable::Align::kLeft}, {"not passed"}});
  for (size_t i = 0; i < std::min(kMostRows, ops.size()); ++i)
    op_table.AddRow({ops[i].first, std::to_string(ops[i].second)});
  TextTable type_table(
      {{"result type", TextTable::Align::kLeft}, {"status", TextTable::Align::kLeft}, {"cases"}});
  for (const auto& [key, count] : by_type)
    type_table.AddRow({key.first, key.second, std::to_string(count)});
  std::string text;
  if (!op_table.empty()) text += "\n" + op_table.ToText();
  if (!type_table.empty()) text += "\n" + type_table.ToText();
  return text;
}

}  // namespace

CaseCounts CountCases(const std::vector<CaseResult>& results) {
  CaseCounts counts{};
  for (const CaseResult& result : results) ++counts[static_cast<size_t>(result.status)];
  return counts;
}

std::string FolderText(const std::vector<CaseResult>& results, size_t modules, double seconds) {
  std::string text = Summary(results, modules, seconds) + Tables(results);
  bool first = true;
  for (const CaseResult& result : results) {
    if (IsGood(result.status)) continue;
    if (first) text += "\n";
    first = false;
    text += fmt::format("{}: {} / {}: {}\n", CaseStatusName(result.status), result.module,
                        result.engine, result.message);
  }
  return text;
}

std::string FolderJson(const std::vector<CaseResult>& results, size_t modules, double seconds) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["command"] = "check";
  json["modules"] = modules;
  json["seconds"] = seconds;
  const CaseCounts counts = CountCases(results);
  for (int status = 0; status < kCaseStatuses; ++status) {
    json["counts"][std::string(CaseStatusName(static_cast<CaseStatus>(status)))] =
        counts[static_cast<size_t>(status)];
  }
  json["cases"] = nlohmann::ordered_json::array();
  for (const CaseResult& result : results) {
    json["cases"].push_back({{"module", result.module},
                             {"engine", result.engine},
                             {"status", CaseStatusName(result.status)},
                             {"message", result.message},
                             {"ops", result.ops},
                             {"dtype", result.dtype},
                             {"seconds", result.seconds}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string FolderJunit(const std::vector<CaseResult>& results, double seconds) {
  const CaseCounts counts = CountCases(results);
  const auto count = [&](CaseStatus status) { return counts[static_cast<size_t>(status)]; };
  const int skipped =
      count(CaseStatus::kUnsupported) + count(CaseStatus::kNoGolden) + count(CaseStatus::kNotRun);
  const int failures = count(CaseStatus::kFail);
  const int errors =
      static_cast<int>(results.size()) - count(CaseStatus::kPass) - failures - skipped;
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"fusemark check\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      results.size(), failures, errors, skipped, seconds);
  for (const CaseResult& result : results) {
    xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                       Escaped(result.engine), Escaped(result.module), result.seconds);
    if (result.status == CaseStatus::kPass) {
      xml += "/>\n";
      continue;
    }
    const bool is_skipped = result.status == CaseStatus::kUnsupported ||
                            result.status == CaseStatus::kNoGolden ||
                            result.status == CaseStatus::kNotRun;
    const char* element = is_skipped                           ? "skipped"
                          : result.status == CaseStatus::kFail ? "failure"
                                                               : "error";
    xml += fmt::format(">\n    <{} message=\"{}: {}\"/>\n  </testcase>\n", element,
                       CaseStatusName(result.status), Escaped(result.message));
  }
  return xml + "</testsuite>\n";
}

}  // namespace fusemark
