#include <fmt/format.h>

#include <cmath>
#include <map>

#include "harness/report.h"
#include "harness/table.h"
#include "results_db/queries.h"

namespace fusemark {
namespace {

using Align = TextTable::Align;

// Three significant digits below 100, then whole numbers: what a reader compares.
std::string Digits(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  return size < 10    ? fmt::format("{:.2f}", value)
         : size < 100 ? fmt::format("{:.1f}", value)
                      : fmt::format("{:.0f}", value);
}

std::string Percent(const Quantile& quantile) {
  return quantile.value ? FormatNs(static_cast<double>(*quantile.value)) : "n/a";
}

std::string NumericsText(const NumericsRow& numerics) {
  if (numerics.status == Numerics::kUnchecked) return "-";
  std::string text(NameOf(numerics.status));
  if (numerics.max_rel_err) text += fmt::format(" {:.1e}", *numerics.max_rel_err);
  return text;
}

std::string ConfigText(const ResultRow& row) {
  return row.config_source == ConfigSource::kDefault
             ? row.engine
             : row.engine + " (" + std::string(NameOf(row.config_source)) + ")";
}

// P50 of the same workload's "off" row divided by this row's.
std::string SpeedupText(const std::map<std::string, double>& off, const ResultRow& row) {
  const auto base = off.find(row.workload);
  if (base == off.end() || !row.latency.p50.value || *row.latency.p50.value <= 0) return "-";
  return fmt::format("{:.2f}x", base->second / static_cast<double>(*row.latency.p50.value));
}

std::string StatusText(const ResultRow& row) {
  if (row.status == RunStatus::kOk) return NumericsText(row.numerics);
  return row.status == RunStatus::kFailed ? "FAILED" : "interrupted";
}

// What the table has no room for, one line each.
std::string Footnotes(std::span<const ResultRow> rows) {
  std::string text;
  bool short_runs = false;
  for (const ResultRow& row : rows) {
    const std::string where = row.workload + " / " + row.engine;
    if (row.error) text += where + ": " + row.error->message + "\n";
    if (!row.config_note.empty()) text += where + ": " + row.config_note + "\n";
    for (const std::string& message : row.numerics.messages) text += where + ": " + message + "\n";
    for (const std::string& notice : row.notices) text += where + ": " + notice + "\n";
    short_runs = short_runs || (row.latency.n > 0 && !row.latency.p99.value);
  }
  if (short_runs) {
    text += fmt::format("p99 n/a: below {} runs no 95 % interval of it exists; run longer\n",
                        kMinSamplesForP99);
  }
  return text;
}

std::string FailedLeaves(std::span<const ResultRow> rows) {
  TextTable table({{"mismatch in", Align::kLeft},
                   {"leaf"},
                   {"shape", Align::kLeft},
                   {"wrong"},
                   {"first at"},
                   {"got"},
                   {"expected"},
                   {"max err/RMS"},
                   {"allowed"}});
  for (const ResultRow& row : rows) {
    for (const LeafComparison& leaf : row.numerics.failures) {
      const bool counted = leaf.mismatches > 0;  // a golden names no element here
      table.AddRow({row.workload + " / " + row.engine, std::to_string(leaf.leaf),
                    ToString(leaf.shape), counted ? std::to_string(leaf.mismatches) : "-",
                    counted ? std::to_string(leaf.first_mismatch) : "-", counted ? leaf.got : "-",
                    counted ? leaf.want : "-", fmt::format("{:.2e}", leaf.max_over_rms),
                    fmt::format("{:.2e}", leaf.tolerance)});
    }
  }
  return table.empty() ? "" : "\n" + table.ToText();
}

std::string WithFootnotes(const TextTable& table, std::span<const ResultRow> rows) {
  std::string text = table.ToText();
  const std::string notes = Footnotes(rows);
  if (!notes.empty()) text += "\n" + notes;
  return text + FailedLeaves(rows);
}

}  // namespace

std::string FormatNs(double ns) {
  if (ns < 1e3) return Digits(ns) + " ns";
  if (ns < 1e6) return Digits(ns / 1e3) + " us";
  if (ns < 1e9) return Digits(ns / 1e6) + " ms";
  return Digits(ns / 1e9) + " s";
}

std::string FormatBytes(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < int64_t{1} << 20) return Digits(value / 1024) + " KiB";
  if (bytes < int64_t{1} << 30) return Digits(value / (1 << 20)) + " MiB";
  return Digits(value / (1 << 30)) + " GiB";
}

std::string FormatCount(double value) {
  if (value < 1e4) return Digits(value);
  if (value < 1e6) return Digits(value / 1e3) + "k";
  if (value < 1e9) return Digits(value / 1e6) + "M";
  return Digits(value / 1e9) + "G";
}

std::string ReportTable(std::span<const ResultRow> rows) {
  std::map<std::string, double> off;
  for (const ResultRow& row : rows) {
    if (row.engine == "off" && row.latency.p50.value) {
      off[row.workload] = static_cast<double>(*row.latency.p50.value);
    }
  }
  TextTable table({{"workload", Align::kLeft},
                   {"engine", Align::kLeft},
                   {"threads"},
                   {"p50"},
                   {"p90"},
                   {"p99"},
                   {"throughput"},
                   {"vs off"},
                   {"n"},
                   {"compile"},
                   {"kernels"},
                   {"arena"},
                   {"numerics", Align::kLeft}});
  for (const ResultRow& row : rows) {
    const bool measured = row.latency.n > 0;
    table.AddRow(
        {row.workload, ConfigText(row), std::to_string(row.threads),
         measured ? Percent(row.latency.p50) : "-", measured ? Percent(row.latency.p90) : "-",
         measured ? Percent(row.latency.p99) : "-",
         row.throughput ? FormatCount(*row.throughput) + " " + row.throughput_unit : "-",
         SpeedupText(off, row), std::to_string(row.latency.n),
         row.compile_ns > 0 ? FormatNs(static_cast<double>(row.compile_ns)) : "-",
         row.kernels > 0 ? std::to_string(row.kernels) : "-",
         row.peak_arena_bytes > 0 ? FormatBytes(row.peak_arena_bytes) : "-", StatusText(row)});
  }
  return WithFootnotes(table, rows);
}

std::string ReportCheckTable(std::span<const ResultRow> rows) {
  TextTable table({{"workload", Align::kLeft},
                   {"engine", Align::kLeft},
                   {"against", Align::kLeft},
                   {"max rel err"},
                   {"compile"},
                   {"result", Align::kLeft}});
  for (const ResultRow& row : rows) {
    table.AddRow({row.workload, row.engine,
                  row.numerics.reference.empty() ? "-" : row.numerics.reference,
                  row.numerics.max_rel_err ? fmt::format("{:.2e}", *row.numerics.max_rel_err) : "-",
                  row.compile_ns > 0 ? FormatNs(static_cast<double>(row.compile_ns)) : "-",
                  row.status == RunStatus::kOk ? std::string(NameOf(row.numerics.status))
                                               : StatusText(row)});
  }
  return WithFootnotes(table, rows);
}

}  // namespace fusemark
