#include "harness/report_roofline.h"

#include <fmt/format.h>

#include "autotuner/machine_limits.h"
#include "harness/report.h"
#include "harness/table.h"

namespace fusemark {
namespace {

using Align = TextTable::Align;

std::string Cell(const LimitsRecord& limits, std::string_view name, int64_t threads) {
  for (const LimitRecord& limit : limits.values) {
    if (limit.name == name && limit.threads == threads) return LimitText(limit.value, limit.unit);
  }
  return "-";
}

bool Has(const LimitsRecord& limits, std::string_view name) {
  for (const LimitRecord& limit : limits.values) {
    if (limit.name == name) return true;
  }
  return false;
}

}  // namespace

std::string LimitText(double value, const std::string& unit) {
  if (unit == "ns") return FormatNs(value);
  if (value >= 1e12) return fmt::format("{:.2f} T{}", value / 1e12, unit);
  return fmt::format("{:.1f} G{}", value / 1e9, unit);
}

std::string RooflineTable(const LimitsRecord& limits) {
  std::vector<TextTable::Column> columns = {{"limit", Align::kLeft}, {"1 thread"}};
  if (limits.threads > 1) columns.push_back({fmt::format("{} threads", limits.threads)});
  columns.push_back({"of", Align::kLeft});
  TextTable table(std::move(columns));
  std::string missing;
  for (const LimitKind& kind : LimitKinds()) {
    if (!Has(limits, kind.name)) {
      missing += (missing.empty() ? "" : ", ") + std::string(kind.name);
      continue;
    }
    std::vector<std::string> row = {std::string(kind.name), Cell(limits, kind.name, 1)};
    if (limits.threads > 1) row.push_back(Cell(limits, kind.name, limits.threads));
    row.emplace_back(kind.meaning);
    table.AddRow(std::move(row));
  }
  if (!missing.empty()) missing = "\nnot on this CPU with these threads: " + missing + "\n";
  return table.ToText() + missing;
}

}  // namespace fusemark
