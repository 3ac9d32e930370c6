#include "autotuner/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/support/check.h"

namespace fusemark {
namespace {

constexpr double kAlpha = 0.05;

double NormalCdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// P(Bin(n, p) = k) for k in [first, first + size), the rest being negligible. Built from the mode
// outwards, so nothing underflows where it matters, and in O(sqrt(n)).
struct BinomialWindow {
  int64_t first = 0;
  std::vector<double> mass;
};

BinomialWindow MakeBinomialWindow(int64_t n, double p) {
  const auto mode = std::min(n, static_cast<int64_t>(static_cast<double>(n + 1) * p));
  const double nn = static_cast<double>(n), kk = static_cast<double>(mode);
  const double at_mode =
      std::exp(std::lgamma(nn + 1) - std::lgamma(kk + 1) - std::lgamma(nn - kk + 1) +
               kk * std::log(p) + (nn - kk) * std::log1p(-p));
  const double negligible = at_mode * 1e-18;
  std::vector<double> below, above;
  const double odds = p / (1 - p);
  double mass = at_mode;
  for (int64_t k = mode; k > 0 && mass > negligible; --k) {
    mass *= static_cast<double>(k) / static_cast<double>(n - k + 1) / odds;
    below.push_back(mass);
  }
  mass = at_mode;
  for (int64_t k = mode; k < n && mass > negligible; ++k) {
    mass *= static_cast<double>(n - k) / static_cast<double>(k + 1) * odds;
    above.push_back(mass);
  }
  BinomialWindow window;
  window.first = mode - static_cast<int64_t>(below.size());
  window.mass.assign(below.rbegin(), below.rend());
  window.mass.push_back(at_mode);
  window.mass.insert(window.mass.end(), above.begin(), above.end());
  return window;
}

Quantile QuantileOf(std::span<const int64_t> sorted, int64_t ppm) {
  Quantile quantile;
  quantile.value = Percentile(sorted, ppm);
  const auto n = static_cast<int64_t>(sorted.size());
  if (const std::optional<RankInterval> ranks = QuantileRanks(n, ppm)) {
    quantile.low = sorted[static_cast<size_t>(ranks->low - 1)];
    quantile.high = sorted[static_cast<size_t>(ranks->high - 1)];
  }
  return quantile;
}

Quantile P99Of(std::span<const int64_t> sorted) {
  const auto n = static_cast<int64_t>(sorted.size());
  if (n >= kMinSamplesForP99) return QuantileOf(sorted, kP99);
  Quantile none;
  none.why_not = "n = " + std::to_string(n) + " < " + std::to_string(kMinSamplesForP99) +
                 ": no 95 % interval of P99 exists, run longer";
  return none;
}

// counts[s] = number of subsets of {1..n} with sum s. At most 2^50, so doubles are exact.
std::vector<double> SignedRankCounts(int64_t n) {
  std::vector<double> counts(static_cast<size_t>(n * (n + 1) / 2 + 1), 0.0);
  counts[0] = 1;
  for (int64_t rank = 1; rank <= n; ++rank) {
    for (auto s = static_cast<int64_t>(counts.size()) - 1; s >= rank; --s) {
      counts[static_cast<size_t>(s)] += counts[static_cast<size_t>(s - rank)];
    }
  }
  return counts;
}

constexpr int64_t kExactPairs = 50;

// Largest k with P(T+ <= k) <= tail, -1 if there is none.
int64_t SignedRankQuantile(int64_t n, double tail) {
  int64_t k = -1;
  if (n <= kExactPairs) {
    const std::vector<double> counts = SignedRankCounts(n);
    const double limit = tail * std::ldexp(1.0, static_cast<int>(n));
    double sum = 0;
    while (k + 1 < static_cast<int64_t>(counts.size())) {
      sum += counts[static_cast<size_t>(k + 1)];
      if (sum > limit) break;
      ++k;
    }
    return k;
  }
  while (SignedRankCdf(n, k + 1) <= tail) ++k;
  return k;
}

std::vector<double> WalshAverages(const std::vector<double>& values) {
  std::vector<double> walsh;
  walsh.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) walsh.push_back((values[i] + values[j]) / 2);
  }
  std::sort(walsh.begin(), walsh.end());
  return walsh;
}

// Number of permutations of n values with `inversions` inversions, divided by n!.
std::vector<double> InversionMass(int64_t n) {
  std::vector<double> mass = {1.0};
  for (int64_t size = 2; size <= n; ++size) {
    std::vector<double> next(mass.size() + static_cast<size_t>(size) - 1, 0.0);
    for (size_t i = 0; i < mass.size(); ++i) {
      for (int64_t extra = 0; extra < size; ++extra) {
        next[i + static_cast<size_t>(extra)] += mass[i] / static_cast<double>(size);
      }
    }
    mass = std::move(next);
  }
  return mass;
}

}  // namespace

int64_t NearestRank(int64_t n, int64_t ppm) {
  FM_CHECK(n >= 1 && ppm > 0 && ppm <= 1'000'000);
  return (n * ppm + 999'999) / 1'000'000;
}

int64_t Percentile(std::span<const int64_t> sorted, int64_t ppm) {
  return sorted[static_cast<size_t>(NearestRank(static_cast<int64_t>(sorted.size()), ppm) - 1)];
}

// Low: the largest rank l with P(Bin <= l - 1) <= tail. High: the smallest rank u with
// P(Bin >= u) <= tail.
std::optional<RankInterval> QuantileRanks(int64_t n, int64_t ppm, double confidence) {
  FM_CHECK(n >= 1 && ppm > 0 && ppm < 1'000'000);
  const double tail = (1 - confidence) / 2;
  const BinomialWindow window = MakeBinomialWindow(n, static_cast<double>(ppm) * 1e-6);
  RankInterval ranks;
  // Ranks up to window.first have no mass below them worth counting.
  ranks.low = window.first;
  double sum = 0;
  for (size_t i = 0; i < window.mass.size(); ++i) {
    sum += window.mass[i];
    if (sum > tail) break;
    ranks.low = window.first + static_cast<int64_t>(i) + 1;
  }
  const int64_t last = window.first + static_cast<int64_t>(window.mass.size()) - 1;
  ranks.high = last + 1;
  sum = 0;
  for (int64_t k = last; k >= window.first; --k) {
    sum += window.mass[static_cast<size_t>(k - window.first)];
    if (sum > tail) break;
    ranks.high = k;
  }
  if (ranks.low < 1 || ranks.high > n) return std::nullopt;
  return ranks;
}

Summary Summarise(std::span<const int64_t> samples) {
  Summary summary;
  summary.n = static_cast<int64_t>(samples.size());
  if (samples.empty()) {
    const std::string why = "nothing was measured";
    summary.p50.why_not = summary.p90.why_not = summary.p99.why_not = why;
    return summary;
  }
  std::vector<int64_t> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.min = sorted.front();
  summary.max = sorted.back();
  double sum = 0;
  for (const int64_t sample : sorted) sum += static_cast<double>(sample);
  summary.mean = sum / static_cast<double>(sorted.size());
  summary.p50 = QuantileOf(sorted, kP50);
  summary.p90 = QuantileOf(sorted, kP90);
  summary.p99 = P99Of(sorted);
  std::vector<int64_t> deviations;
  deviations.reserve(sorted.size());
  for (const int64_t sample : sorted) deviations.push_back(std::abs(sample - *summary.p50.value));
  summary.mad = MedianNs(deviations);
  summary.effective_count = EffectiveCount(samples);
  return summary;
}

double Median(std::vector<double> values) {
  FM_CHECK(!values.empty());
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle),
                   values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) +
          upper) /
         2;
}

int64_t MedianNs(std::span<const int64_t> samples) {
  FM_CHECK(!samples.empty());
  std::vector<int64_t> values(samples.begin(), samples.end());
  const auto rank = NearestRank(static_cast<int64_t>(values.size()), kP50) - 1;
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<size_t>(rank)];
}

double EffectiveCount(std::span<const int64_t> samples) {
  const auto n = static_cast<double>(samples.size());
  if (samples.size() < 4) return n;
  double mean = 0;
  for (const int64_t sample : samples) mean += static_cast<double>(sample) / n;
  double variance = 0;
  for (const int64_t sample : samples) {
    variance += (static_cast<double>(sample) - mean) * (static_cast<double>(sample) - mean);
  }
  if (variance == 0) return n;
  double sum = 0;
  const size_t max_lag = std::min<size_t>(samples.size() / 2, 200);
  for (size_t lag = 1; lag <= max_lag; ++lag) {
    double covariance = 0;
    for (size_t i = lag; i < samples.size(); ++i) {
      covariance +=
          (static_cast<double>(samples[i]) - mean) * (static_cast<double>(samples[i - lag]) - mean);
    }
    if (covariance <= 0) break;
    sum += covariance / variance;
  }
  return n / (1 + 2 * sum);
}

double MannKendallP(std::span<const double> values) {
  const auto n = static_cast<int64_t>(values.size());
  if (n < 3) return 1;
  int64_t score = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      score += (values[j] > values[i]) - (values[j] < values[i]);
    }
  }
  const int64_t pairs = n * (n - 1) / 2;
  if (n <= 10) {
    // score = pairs - 2 * inversions under the null of a random order without ties.
    const std::vector<double> mass = InversionMass(n);
    double p = 0;
    for (size_t i = 0; i < mass.size(); ++i) {
      if (std::abs(pairs - 2 * static_cast<int64_t>(i)) >= std::abs(score)) p += mass[i];
    }
    return std::min(1.0, p);
  }
  const double nn = static_cast<double>(n);
  const double sd = std::sqrt(nn * (nn - 1) * (2 * nn + 5) / 18);
  const double z = std::max(0.0, std::abs(static_cast<double>(score)) - 1) / sd;
  return std::min(1.0, 2 * (1 - NormalCdf(z)));
}

double SignedRankCdf(int64_t n, int64_t k) {
  if (k < 0) return 0;
  if (n <= kExactPairs) {
    const std::vector<double> counts = SignedRankCounts(n);
    const auto end = std::min<int64_t>(k + 1, static_cast<int64_t>(counts.size()));
    return std::ldexp(std::accumulate(counts.begin(), counts.begin() + end, 0.0),
                      -static_cast<int>(n));
  }
  const double nn = static_cast<double>(n);
  const double sd = std::sqrt(nn * (nn + 1) * (2 * nn + 1) / 24);
  return NormalCdf((static_cast<double>(k) + 0.5 - nn * (nn + 1) / 4) / sd);
}

PairedComparison ComparePairs(std::span<const int64_t> a, std::span<const int64_t> b) {
  FM_CHECK(a.size() == b.size() && !a.empty());
  std::vector<double> differences;
  differences.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    FM_CHECK(a[i] > 0 && b[i] > 0);
    differences.push_back(std::log(static_cast<double>(b[i]) / static_cast<double>(a[i])));
  }
  PairedComparison comparison;
  comparison.n = static_cast<int64_t>(a.size());
  const std::vector<double> walsh = WalshAverages(differences);
  comparison.ratio = std::exp(Median(walsh));
  const int64_t k = SignedRankQuantile(comparison.n, kAlpha / 2);
  comparison.has_interval = k >= 0;
  comparison.ratio_high = std::numeric_limits<double>::infinity();
  if (k >= 0) {
    comparison.ratio_low = std::exp(walsh[static_cast<size_t>(k)]);
    comparison.ratio_high = std::exp(walsh[walsh.size() - 1 - static_cast<size_t>(k)]);
  }
  // T+ is the number of positive Walsh averages; those at zero count as positive, which can only
  // raise p.
  const auto not_negative =
      static_cast<int64_t>(walsh.end() - std::lower_bound(walsh.begin(), walsh.end(), 0.0));
  comparison.p_faster = SignedRankCdf(comparison.n, not_negative);
  return comparison;
}

}  // namespace fusemark
