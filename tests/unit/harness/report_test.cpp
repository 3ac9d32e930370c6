#include "harness/report.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/output.h"

namespace fusemark {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

ResultRow SomeRow(const std::string& engine, int64_t n, int64_t ns) {
  ResultRow row;
  row.workload = "mlp";
  row.engine = engine;
  row.threads = 2;
  std::vector<int64_t> samples(static_cast<size_t>(n), ns);
  row.latency = Summarise(samples);
  row.measurement.samples_ns = samples;
  row.measurement.steady = true;
  row.throughput = 1234.5;
  row.throughput_unit = "items/s";
  row.compile_ns = 5'000'000;
  row.kernels = 3;
  row.peak_arena_bytes = 4096;
  return row;
}

Json JsonOf(const std::vector<ResultRow>& rows, const Outcome& outcome = {}) {
  MachineRecord machine;
  machine.cpu_model = "Test CPU";
  return Json::parse(ReportJson(rows, outcome, {machine, {}, "run", {}}));
}

TEST(ReportJsonTest, TheContract) {
  ResultRow row = SomeRow("off", 400, 1000);
  row.numerics = {.status = Numerics::kPass, .max_rel_err = 1e-6, .reference = "reference"};
  const Json json = JsonOf({row});
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["reasons"], Json::array());
  ASSERT_EQ(json["results"].size(), 1u);
  const Json& result = json["results"][0];
  EXPECT_EQ(result["workload"], "mlp");
  EXPECT_EQ(result["engine"], "off");
  EXPECT_EQ(result["threads"], 2);
  EXPECT_EQ(result["latency"]["n"], 400);
  for (const char* field : {"p50_ns", "p90_ns", "p99_ns", "mean_ns", "min_ns"}) {
    EXPECT_EQ(result["latency"][field], 1000) << field;
    EXPECT_TRUE(result["latency"][field].is_number_integer()) << field;
  }
  EXPECT_FALSE(result["latency"].contains("why_not"));
  EXPECT_EQ(result["throughput"]["value"], 1234.5);
  EXPECT_EQ(result["throughput"]["unit"], "items/s");
  EXPECT_EQ(result["first_call_ns"], 0);
  EXPECT_EQ(result["compile_ns"], 5'000'000);
  EXPECT_EQ(result["peak_arena_bytes"], 4096);
  EXPECT_EQ(result["kernels"], 3);
  EXPECT_EQ(result["numerics"]["status"], "pass");
  EXPECT_EQ(result["numerics"]["max_rel_err"], 1e-6);
  EXPECT_EQ(result["numerics"]["reference"], "reference");
  EXPECT_EQ(result["config"]["source"], "default");
}

TEST(ReportJsonTest, LimitsAreThereOrNull) {
  EXPECT_TRUE(JsonOf({}).at("limits").is_null());
  const LimitsRecord limits{.threads = 2,
                            .measured_utc = "2026-01-31T12:34:56Z",
                            .age_s = 60,
                            .values = {{"read_l1", "B/s", 1, 2e11}}};
  const Json json = Json::parse(ReportJson({}, {}, {{}, {}, "run", limits})).at("limits");
  EXPECT_EQ(json["measured_utc"], "2026-01-31T12:34:56Z");
  EXPECT_EQ(json["age_s"], 60);
  EXPECT_EQ(json["threads"], 2);
  const Json value = {{"name", "read_l1"}, {"unit", "B/s"}, {"threads", 1}, {"value", 2e11}};
  EXPECT_EQ(json["values"], Json::array({value}));
}

TEST(ReportJsonTest, P99NeedsSamples) {
  const Json latency = JsonOf({SomeRow("on", 367, 1000)})["results"][0]["latency"];
  EXPECT_TRUE(latency["p99_ns"].is_null());
  EXPECT_THAT(latency["why_not"].get<std::string>(), HasSubstr("367 < 368"));
  EXPECT_EQ(latency["p50_ns"], 1000);
}

TEST(ReportJsonTest, FailedRowsAndReasons) {
  ResultRow row;
  row.workload = "broken";
  row.engine = "on";
  row.status = RunStatus::kFailed;
  row.error = Unsupported("line 3: opcode 'infeed'");
  row.latency = Summarise({});
  row.numerics.max_rel_err = std::numeric_limits<double>::quiet_NaN();
  Outcome outcome;
  outcome.Add(ExitCode::kFailed, "broken / on: line 3");
  const Json json = JsonOf({row}, outcome);
  EXPECT_EQ(json["exit_code"], 4);
  EXPECT_EQ(json["reasons"][0], "broken / on: line 3");
  const Json& result = json["results"][0];
  EXPECT_EQ(result["status"], "failed");
  EXPECT_EQ(result["error"]["code"], "unsupported");
  EXPECT_EQ(result["latency"]["n"], 0);
  EXPECT_TRUE(result["latency"]["p50_ns"].is_null());
  EXPECT_TRUE(result["throughput"]["value"].is_null());
  EXPECT_TRUE(result["numerics"]["max_rel_err"].is_null());
}

TEST(ReportJsonTest, BytesThatAreNotUtf8) {
  ResultRow row = SomeRow("on", 1, 1);
  row.workload = "a\xff z";
  EXPECT_EQ(JsonOf({row})["results"].size(), 1u);
}

TEST(ReportTableTest, ShowsSpeedupAndFootnotes) {
  ResultRow on = SomeRow("on", 100, 1000);
  on.config_source = ConfigSource::kTuned;
  on.config_note = "config abc";
  const std::vector<ResultRow> rows = {SomeRow("off", 400, 4000), on};
  const std::string text = ReportTable(rows);
  EXPECT_THAT(text, HasSubstr("4.00x"));
  EXPECT_THAT(text, HasSubstr("on (tuned)"));
  EXPECT_THAT(text, HasSubstr("4.00 us"));
  EXPECT_THAT(text, HasSubstr("p99 n/a: below 368 runs"));
  EXPECT_THAT(text, HasSubstr("mlp / on: config abc"));
  EXPECT_THAT(ReportTable(std::vector{rows[0]}), Not(HasSubstr("n/a")));
}

TEST(ReportTableTest, ShowsFailedLeaves) {
  ResultRow row = SomeRow("on", 400, 4000);
  row.numerics.status = Numerics::kFail;
  row.numerics.max_rel_err = 0.5;
  LeafComparison leaf;
  leaf.leaf = 2;
  leaf.shape = ArrayShape(DType::kF32, {3, 4});
  leaf.mismatches = 7;
  leaf.first_mismatch = 5;
  leaf.got = "1.5";
  leaf.want = "1";
  row.numerics.failures = {leaf};
  for (const std::string& text :
       {ReportTable(std::vector{row}), ReportCheckTable(std::vector{row})}) {
    EXPECT_THAT(text, HasSubstr("fail"));
    EXPECT_THAT(text, HasSubstr("f32[3,4]"));
    EXPECT_THAT(text, HasSubstr("mismatch in"));
  }
}

TEST(FormatTest, Numbers) {
  EXPECT_EQ(FormatNs(0), "0 ns");
  EXPECT_EQ(FormatNs(999), "999 ns");
  EXPECT_EQ(FormatNs(1234), "1.23 us");
  EXPECT_EQ(FormatNs(45'600'000), "45.6 ms");
  EXPECT_EQ(FormatNs(7.89e9), "7.89 s");
  EXPECT_EQ(FormatBytes(100), "100 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatCount(12'345), "12.3k");
}

TEST(OutcomeTest, Precedence) {
  Outcome outcome;
  EXPECT_EQ(outcome.value(), 0);
  outcome.Add(ExitCode::kNumerics, "a");
  EXPECT_EQ(outcome.value(), 3);
  outcome.Add(ExitCode::kFailed, "b");
  outcome.Add(ExitCode::kNumerics, "c");
  EXPECT_EQ(outcome.value(), 4);
  outcome.Add(ExitCode::kInterrupted, "d");
  EXPECT_EQ(outcome.value(), 130);
  outcome.Add(ExitCode::kUsage, "e");
  outcome.Add(ExitCode::kFailed, "f");
  EXPECT_EQ(outcome.value(), 2);
  EXPECT_EQ(outcome.reasons().size(), 6u);
}

TEST(OutputTest, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  const Result<void> full = WriteOutput("/dev/full", "text");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Code::kIo);
  EXPECT_THAT(full.error().message, HasSubstr("No space left"));
  EXPECT_FALSE(WriteOutput("/nonexistent/dir/file", "text").ok());
  EXPECT_FALSE(WriteOutput("/tmp", "text").ok());
}

}  // namespace
}  // namespace fusemark
