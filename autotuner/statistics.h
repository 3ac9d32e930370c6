// The statistics of everything we report: nearest-rank percentiles with exact order-statistic
// intervals, robust location and spread, and the paired comparison that confirms a tuned config.
// Pure functions of samples: no clock, no randomness. Means never decide anything here: one
// interrupt would pick the winner.
//
// Percentiles are given in parts per million (500'000 = median), so that ranks are exact integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fusemark {

inline constexpr int64_t kP50 = 500'000;
inline constexpr int64_t kP90 = 900'000;
inline constexpr int64_t kP99 = 990'000;

// Smallest n for which a two-sided 95 % interval of P99 exists (0.99^n <= 0.025). Below it the
// "P99" would be the maximum under another name.
inline constexpr int64_t kMinSamplesForP99 = 368;

// ceil(n * p), counted from 1. n >= 1, 0 < p <= 1'000'000.
int64_t NearestRank(int64_t n, int64_t ppm);

// `sorted` is ascending and not empty.
int64_t Percentile(std::span<const int64_t> sorted, int64_t ppm);

struct RankInterval {
  int64_t low = 0, high = 0;  // ranks from 1
  bool operator==(const RankInterval&) const = default;
};
// Ranks whose samples enclose the quantile with at least `confidence`, each tail at most half of
// the rest. Exact and free of distribution, but needs independent samples (see EffectiveCount).
// Nothing if n is too small.
std::optional<RankInterval> QuantileRanks(int64_t n, int64_t ppm, double confidence = 0.95);

struct Quantile {
  std::optional<int64_t> value;
  std::optional<int64_t> low, high;  // 95 % interval, where one exists
  std::string why_not;               // set exactly if there is no value
};

struct Summary {
  int64_t n = 0;
  Quantile p50, p90, p99;  // p99 only from kMinSamplesForP99 samples
  double mean = 0;
  int64_t min = 0, max = 0;
  int64_t mad = 0;             // median absolute deviation from the median
  double effective_count = 0;  // samples left after autocorrelation
};
Summary Summarise(std::span<const int64_t> samples);

// Lower median for even counts is not used: the mean of the two middle values is. Not empty.
double Median(std::vector<double> values);
int64_t MedianNs(std::span<const int64_t> samples);

// n / (1 + 2 * sum of autocorrelations up to the first that is not positive).
double EffectiveCount(std::span<const int64_t> samples);

// Two-sided p value of the Mann-Kendall test for a trend. Exact for up to 10 values.
double MannKendallP(std::span<const double> values);

// P(T+ <= k) of the Wilcoxon signed-rank statistic of n pairs: exact up to 50, normal beyond.
double SignedRankCdf(int64_t n, int64_t k);

// Ratio of b to a over interleaved pairs, on log scale: below 1, b is faster.
struct PairedComparison {
  int64_t n = 0;
  double ratio = 1;       // Hodges-Lehmann estimate
  double ratio_low = 0;   // exact 95 % signed-rank interval; [0, inf) below 6 pairs, where
  double ratio_high = 0;  // none exists
  double p_faster = 1;    // one-sided, H0: b is not faster than a
  bool has_interval = false;
};
// a and b have equal length >= 1 and positive values.
PairedComparison ComparePairs(std::span<const int64_t> a, std::span<const int64_t> b);

}  // namespace fusemark
