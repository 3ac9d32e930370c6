// Known values: published tables and exact sums.
#include "autotuner/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace fusemark {
namespace {

TEST(PercentileTest, NearestRankForEveryN) {
  for (int64_t n = 1; n <= 5000; ++n) {
    for (const int64_t percent : {1, 5, 10, 25, 50, 75, 90, 95, 99, 100}) {
      // The smallest rank r with r / n >= percent / 100, in integers.
      int64_t rank = 1;
      rank = (percent * n) / 100;
      if (rank * 100 < percent * n) ++rank;
      ASSERT_EQ(NearestRank(n, percent * 10'000), std::max<int64_t>(rank, 1))
          << n << " " << percent;
    }
  }
  EXPECT_EQ(NearestRank(1000, 999'000), 999);
  EXPECT_EQ(NearestRank(1001, 999'000), 1000);
}

TEST(PercentileTest, SmallestSampleCountsForTwoSidedIntervals) {
  const std::pair<int64_t, int64_t> table[] = {
      {900'000, 36}, {950'000, 72}, {990'000, 368}, {999'000, 3688}};
  for (const auto& [ppm, n] : table) {
    EXPECT_FALSE(QuantileRanks(n - 1, ppm).has_value()) << ppm;
    EXPECT_TRUE(QuantileRanks(n, ppm).has_value()) << ppm;
  }
  EXPECT_FALSE(QuantileRanks(5, 500'000).has_value());
  EXPECT_EQ(QuantileRanks(6, 500'000), (RankInterval{1, 6}));
}

TEST(PercentileTest, IntervalRanksOfP99) {
  EXPECT_EQ(QuantileRanks(500, kP99), (RankInterval{490, 500}));
  EXPECT_EQ(QuantileRanks(1000, kP99), (RankInterval{983, 997}));
  EXPECT_EQ(QuantileRanks(2000, kP99), (RankInterval{1971, 1989}));
  EXPECT_EQ(QuantileRanks(10000, kP99), (RankInterval{9880, 9920}));
}

// Published table of confidence limits for a median.
TEST(PercentileTest, IntervalRanksOfTheMedian) {
  EXPECT_EQ(QuantileRanks(10, kP50), (RankInterval{2, 9}));
  EXPECT_EQ(QuantileRanks(20, kP50), (RankInterval{6, 15}));
  EXPECT_EQ(QuantileRanks(100, kP50), (RankInterval{40, 61}));
}

TEST(PercentileTest, LargeCountsStayFast) {
  const auto ranks = QuantileRanks(int64_t{1} << 20, kP99);
  ASSERT_TRUE(ranks.has_value());
  const double n = std::ldexp(1.0, 20), half = 1.96 * std::sqrt(n * 0.99 * 0.01);
  EXPECT_NEAR(static_cast<double>(ranks->low), n * 0.99 - half, 2);
  EXPECT_NEAR(static_cast<double>(ranks->high), n * 0.99 + half, 2);
}

TEST(SummaryTest, KnownSamples) {
  std::vector<int64_t> samples;
  for (int64_t i = 400; i >= 1; --i) samples.push_back(i * 10);
  const Summary summary = Summarise(samples);
  EXPECT_EQ(summary.n, 400);
  EXPECT_EQ(summary.p50.value, 2000);
  EXPECT_EQ(summary.p90.value, 3600);
  EXPECT_EQ(summary.p99.value, 3960);
  EXPECT_EQ(summary.p99.why_not, "");
  EXPECT_TRUE(summary.p99.low && summary.p99.high);
  EXPECT_LE(*summary.p99.low, 3960);
  EXPECT_GE(*summary.p99.high, 3960);
  EXPECT_DOUBLE_EQ(summary.mean, 2005);
  EXPECT_EQ(summary.min, 10);
  EXPECT_EQ(summary.max, 4000);
  EXPECT_EQ(summary.mad, 1000);
}

TEST(SummaryTest, NoP99FromTooFewSamples) {
  const std::vector<int64_t> samples(367, 5);
  const Summary summary = Summarise(samples);
  EXPECT_EQ(summary.p99.value, std::nullopt);
  EXPECT_NE(summary.p99.why_not.find("367 < 368"), std::string::npos);
  EXPECT_EQ(summary.p50.value, 5);
  EXPECT_EQ(Summarise({}).p50.value, std::nullopt);
  EXPECT_NE(Summarise({}).p50.why_not, "");
}

TEST(MedianTest, EvenAndOdd) {
  EXPECT_DOUBLE_EQ(Median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(MedianNs(std::vector<int64_t>{4, 1, 3, 2}), 2);
}

TEST(EffectiveCountTest, CorrelationCostsSamples) {
  std::vector<int64_t> independent, correlated;
  uint64_t state = 1;
  double value = 0;
  for (int i = 0; i < 4000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const double noise = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    independent.push_back(static_cast<int64_t>(1e6 + 1e5 * noise));
    value = 0.9 * value + noise;
    correlated.push_back(static_cast<int64_t>(1e6 + 1e5 * value));
  }
  EXPECT_GT(EffectiveCount(independent), 3000);
  EXPECT_LT(EffectiveCount(correlated), 500);  // (1 - 0.9) / (1 + 0.9) * 4000 = 211
  EXPECT_GT(EffectiveCount(correlated), 80);
}

TEST(MannKendallTest, ExactSmallCases) {
  EXPECT_NEAR(MannKendallP(std::vector<double>{1, 2, 3}), 2.0 / 6, 1e-12);
  EXPECT_NEAR(MannKendallP(std::vector<double>{1, 2, 3, 4}), 2.0 / 24, 1e-12);
  EXPECT_NEAR(MannKendallP(std::vector<double>{6, 5, 4, 3, 2, 1}), 2.0 / 720, 1e-12);
  EXPECT_DOUBLE_EQ(MannKendallP(std::vector<double>{5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(MannKendallP(std::vector<double>{1, 2}), 1);
}

// Critical values of the signed-rank test (any table of the exact distribution).
TEST(SignedRankTest, ExactDistribution) {
  EXPECT_DOUBLE_EQ(SignedRankCdf(5, 0), 1.0 / 32);
  EXPECT_DOUBLE_EQ(SignedRankCdf(6, 0), 1.0 / 64);
  EXPECT_NEAR(SignedRankCdf(10, 8), 0.0244, 5e-5);
  EXPECT_NEAR(SignedRankCdf(10, 10), 0.0420, 5e-5);
  EXPECT_NEAR(SignedRankCdf(15, 25), 0.0240, 5e-5);
  EXPECT_NEAR(SignedRankCdf(20, 52), 0.0242, 5e-5);
  EXPECT_DOUBLE_EQ(SignedRankCdf(10, 55), 1);
  EXPECT_DOUBLE_EQ(SignedRankCdf(10, -1), 0);
}

TEST(SignedRankTest, NormalContinuesTheExactOne) {
  const double exact = SignedRankCdf(50, 434);
  EXPECT_NEAR(exact, 0.025, 0.001);
  EXPECT_NEAR(SignedRankCdf(51, 455), 0.025, 0.002);
}

TEST(ComparePairsTest, EqualArmsAreNotFaster) {
  const std::vector<int64_t> a = {100, 110, 120, 130, 140, 150, 160, 170, 180, 190};
  const PairedComparison same = ComparePairs(a, a);
  EXPECT_DOUBLE_EQ(same.ratio, 1);
  EXPECT_TRUE(same.has_interval);
  EXPECT_DOUBLE_EQ(same.p_faster, 1);
}

TEST(ComparePairsTest, HodgesLehmannAndInterval) {
  // ln ratios 0.01 .. 0.10 in steps of 0.01: Hodges-Lehmann 0.055. For 10 pairs the interval takes
  // Walsh averages 9 and 47 of 55.
  std::vector<int64_t> a, b;
  std::vector<double> d;
  for (int i = 1; i <= 10; ++i) {
    a.push_back(1'000'000'000'000);
    b.push_back(std::llround(1e12 * std::exp(-0.01 * i)));
    d.push_back(-0.01 * i);
  }
  const PairedComparison comparison = ComparePairs(a, b);
  EXPECT_NEAR(comparison.ratio, std::exp(-0.055), 1e-9);
  std::vector<double> walsh;
  for (size_t i = 0; i < 10; ++i) {
    for (size_t j = i; j < 10; ++j) walsh.push_back((d[i] + d[j]) / 2);
  }
  std::sort(walsh.begin(), walsh.end());
  EXPECT_NEAR(comparison.ratio_low, std::exp(walsh[8]), 1e-9);
  EXPECT_NEAR(comparison.ratio_high, std::exp(walsh[46]), 1e-9);
  EXPECT_NEAR(comparison.p_faster, std::ldexp(1.0, -10), 1e-12);
}

TEST(ComparePairsTest, FivePairsHaveNoInterval) {
  const std::vector<int64_t> a = {10, 10, 10, 10, 10}, b = {5, 5, 5, 5, 5};
  const PairedComparison comparison = ComparePairs(a, b);
  EXPECT_FALSE(comparison.has_interval);
  EXPECT_EQ(comparison.ratio_low, 0);
  EXPECT_TRUE(std::isinf(comparison.ratio_high));
  EXPECT_NEAR(comparison.ratio, 0.5, 1e-12);
}

TEST(ComparePairsTest, OneSpikeDoesNotDecide) {
  std::vector<int64_t> a(20, 1000), b(20, 980);
  b[3] = 100'000;
  const PairedComparison comparison = ComparePairs(a, b);
  EXPECT_NEAR(comparison.ratio, 0.98, 1e-9);
  EXPECT_LT(comparison.ratio_high, 1);
  EXPECT_LT(comparison.p_faster, 0.001);
}

// Coverage of the 95 % interval on simulated log-normal pairs.
TEST(ComparePairsTest, CoverageIsNominal) {
  uint64_t state = 7;
  const auto uniform = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (static_cast<double>(state >> 11) + 0.5) / 9007199254740992.0;
  };
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> a, b;
    for (int i = 0; i < 20; ++i) {
      const double noise =
          std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
      a.push_back(1'000'000);
      b.push_back(std::llround(950'000 * std::exp(0.02 * noise)));
    }
    const PairedComparison comparison = ComparePairs(a, b);
    covered += comparison.ratio_low <= 0.95 && 0.95 <= comparison.ratio_high;
  }
  EXPECT_GT(covered, kTrials * 0.93);
  EXPECT_LT(covered, kTrials * 0.97);
}

}  // namespace
}  // namespace fusemark
