#include "harness/bench.h"

#include <gmock/gmock.h>

#include "tests/unit/harness/fake_engine.h"

namespace fusemark {
namespace {

using ::testing::HasSubstr;

class BenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Shape shape = ArrayShape(DType::kF32, {4});
    Computation entry;
    entry.name = "main";
    entry.instrs.resize(1);
    entry.instrs[0].op = Op::kParameter;
    entry.instrs[0].shape = shape;
    entry.instrs[0].name = "x";
    entry.parameters = {InstrId{0}};
    workload_.module.computations.push_back(entry);
    workload_.name = "doubling";
    workload_.items_per_run = 8;
    workload_.item_unit = "rows";
    inputs_.push_back(Filled(1));
    expected_.push_back(Filled(2));
    request_.workload = &workload_;
    request_.inputs = inputs_;
    request_.expected = &expected_;
    request_.reference = "reference";
    request_.compile.engine = Engine::kOn;
    request_.measure.iterations = 500;
    request_.measure.warmup = {.kind = Warmup::Kind::kIterations, .value = 10};
  }
  static Tensor Filled(float value) {
    Tensor tensor = MakeTensor(ArrayShape(DType::kF32, {4}));
    for (int i = 0; i < 4; ++i) tensor.as<float>()[i] = value + static_cast<float>(i) * value;
    return tensor;
  }
  ResultRow Run() { return Bench(request_, FakeCompile(behaviour_)).row; }

  Workload workload_;
  std::vector<Tensor> inputs_, expected_;
  BenchRequest request_;
  FakeBehaviour behaviour_;
};

TEST_F(BenchTest, ARowHasEverything) {
  const BenchResult result = Bench(request_, FakeCompile(behaviour_));
  const ResultRow& row = result.row;
  EXPECT_EQ(row.workload, "doubling");
  EXPECT_EQ(row.engine, "on");
  EXPECT_EQ(row.status, RunStatus::kOk);
  EXPECT_FALSE(row.error.has_value());
  EXPECT_EQ(row.latency.n, 500);
  EXPECT_TRUE(row.latency.p99.value.has_value());
  EXPECT_EQ(row.throughput_unit, "rows/s");
  ASSERT_TRUE(row.throughput.has_value());
  EXPECT_GT(*row.throughput, 0);
  EXPECT_GT(row.measurement.first_call_ns, 0);
  EXPECT_EQ(row.compile_ns, 1000);
  EXPECT_EQ(row.kernels, 1);
  EXPECT_EQ(row.peak_arena_bytes, 64);
  EXPECT_EQ(row.numerics.status, Numerics::kPass);
  EXPECT_EQ(row.numerics.max_rel_err, 0);
  EXPECT_EQ(row.config_source, ConfigSource::kDefault);
  EXPECT_EQ(row.config_text, "default");
  EXPECT_EQ(behaviour_.launches, 1 + 10 + 500);
  EXPECT_EQ(behaviour_.binds, 0);
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].as<float>()[3], 8);
}

TEST_F(BenchTest, ThroughputWithoutItemsCountsRuns) {
  workload_.items_per_run = 0;
  EXPECT_EQ(Run().throughput_unit, "runs/s");
}

TEST_F(BenchTest, ResidentsAreBoundOnce) {
  request_.compile.residents = {0};
  Run();
  EXPECT_EQ(behaviour_.binds, 1);
}

TEST_F(BenchTest, WrongResultsFail) {
  behaviour_.factor = 2.01f;
  const ResultRow row = Run();
  EXPECT_EQ(row.status, RunStatus::kOk);
  EXPECT_EQ(row.numerics.status, Numerics::kFail);
  ASSERT_EQ(row.numerics.failures.size(), 1u);
  EXPECT_NEAR(*row.numerics.max_rel_err, 0.005, 1e-3);
}

TEST_F(BenchTest, WithoutReferenceNothingIsChecked) {
  request_.expected = nullptr;
  behaviour_.factor = 3;
  const ResultRow row = Run();
  EXPECT_EQ(row.numerics.status, Numerics::kUnchecked);
  EXPECT_EQ(row.numerics.reference, "");
}

TEST_F(BenchTest, AResultOfAnotherShapeIsAnError) {
  expected_[0] = MakeTensor(ArrayShape(DType::kF32, {5}));
  const ResultRow row = Run();
  ASSERT_TRUE(row.error.has_value());
  EXPECT_EQ(row.error->code, Code::kWrongResult);
}

TEST_F(BenchTest, UnsupportedIsAFailedRow) {
  behaviour_.unsupported = true;
  const ResultRow row = Run();
  EXPECT_EQ(row.status, RunStatus::kFailed);
  ASSERT_TRUE(row.error.has_value());
  EXPECT_EQ(row.error->code, Code::kUnsupported);
  EXPECT_EQ(row.latency.n, 0);
}

TEST_F(BenchTest, FailingLaunches) {
  for (const int64_t launch : {1, 5, 100}) {
    behaviour_ = {.fail_at_launch = launch};
    const ResultRow row = Run();
    EXPECT_EQ(row.status, RunStatus::kFailed);
    ASSERT_TRUE(row.error.has_value());
    EXPECT_THAT(row.error->message, HasSubstr("told to fail"));
    EXPECT_EQ(row.numerics.status, Numerics::kUnchecked);
  }
}

TEST_F(BenchTest, OutOfMemoryIsAFailedRow) {
  behaviour_.throws_bad_alloc = true;
  const ResultRow row = Run();
  EXPECT_EQ(row.status, RunStatus::kFailed);
  EXPECT_EQ(row.error->message, "out of memory");
}

TEST_F(BenchTest, InterruptKeepsTheFinishedPart) {
  behaviour_.cancel_at_launch = 111;
  const BenchResult result = Bench(request_, FakeCompile(behaviour_));
  EXPECT_EQ(result.row.status, RunStatus::kInterrupted);
  EXPECT_FALSE(result.row.error.has_value());
  EXPECT_EQ(result.row.latency.n, 99);
  EXPECT_TRUE(result.row.throughput.has_value());
  EXPECT_EQ(result.row.numerics.status, Numerics::kUnchecked);
  EXPECT_TRUE(result.outputs.empty());
}

TEST_F(BenchTest, AStoredConfigIsUsed) {
  request_.compile.config_text = "tuned plan";
  request_.config_source = ConfigSource::kTuned;
  const ResultRow row = Run();
  EXPECT_EQ(row.config_source, ConfigSource::kTuned);
  EXPECT_EQ(row.config_text, "tuned plan");
}

TEST_F(BenchTest, AStaleConfigFallsBackToTheDefault) {
  behaviour_.refuses_config = request_.compile.config_text = "old plan";
  request_.config_source = ConfigSource::kTuned;
  const ResultRow row = Run();
  EXPECT_EQ(row.status, RunStatus::kOk);
  EXPECT_EQ(row.config_source, ConfigSource::kStale);
  EXPECT_EQ(row.config_text, "default");
  EXPECT_THAT(row.config_note, HasSubstr("unknown knob 'warp'"));
  EXPECT_EQ(row.numerics.status, Numerics::kPass);
}

TEST_F(BenchTest, OnceForChecks) {
  const ResultRow row = RunOnce(request_, FakeCompile(behaviour_)).row;
  EXPECT_EQ(behaviour_.launches, 1);
  EXPECT_EQ(row.latency.n, 0);
  EXPECT_EQ(row.numerics.status, Numerics::kPass);
}

}  // namespace
}  // namespace fusemark
