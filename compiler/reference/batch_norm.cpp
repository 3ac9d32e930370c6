// batch-norm-training, -inference and -grad from their definitions, in f64, rounded once.
#include <cmath>
#include <vector>

#include "compiler/reference/context.h"
#include "compiler/reference/contract.h"

namespace fusemark::reference {
namespace {

// The elements of one operand and the feature that each belongs to.
struct Features {
  int64_t count, elements, inner;

  Features(const Shape& input, int64_t dim)
      : count(input.dims[static_cast<size_t>(dim)]), elements(ElementCount(input)), inner(1) {
    for (auto i = static_cast<size_t>(dim) + 1; i < input.dims.size(); ++i) inner *= input.dims[i];
  }
  int64_t Of(int64_t element) const { return element / inner % count; }
  double PerFeature() const { return static_cast<double>(elements / count); }

  // sums[f] = sum of value(e) over the elements of feature f.
  template <class Value>
  std::vector<double> Sums(const Value& value) const {
    std::vector<double> sums(static_cast<size_t>(count), 0);
    for (int64_t e = 0; e < elements; ++e) sums[static_cast<size_t>(Of(e))] += value(e);
    return sums;
  }
  template <class Value>
  std::vector<double> Means(const Value& value) const {
    std::vector<double> means = Sums(value);
    for (double& mean : means) mean = mean / PerFeature();
    return means;
  }
};

Tensor Rounded(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = MakeTensor(shape);
  Encode(shape.dtype, values.data(), static_cast<int64_t>(values.size()), tensor.data.get());
  return tensor;
}

}  // namespace

Tensors EvalBatchNorm(const Instr& instr, Operands operands) {
  const auto& attrs = instr.As<BatchNormAttrs>();
  const Shape& input = operands[0]->shape;
  const Features features(input, attrs.feature_index);
  std::vector<LaneBuffer> lanes;
  for (const Tensor* operand : operands) lanes.push_back(DecodeAs(*operand, Kind::kFloat));
  const auto read = [&](size_t operand) { return lanes[operand].as<double>(); };
  const double *x = read(0), *scale = read(1);
  const auto deviation = [&](double variance) { return std::sqrt(variance + attrs.epsilon); };
  std::vector<double> result(static_cast<size_t>(features.elements));
  Tensors results;
  // y = (x - mean) / deviation * scale + offset
  const auto normalise = [&](const double* mean, const double* variance) {
    for (int64_t e = 0; e < features.elements; ++e) {
      const int64_t f = features.Of(e);
      result[static_cast<size_t>(e)] =
          (x[e] - mean[f]) / deviation(variance[f]) * scale[f] + read(2)[f];
    }
    results.push_back(Rounded(input, result));
  };
  if (instr.op == Op::kBatchNormInference) {
    normalise(read(3), read(4));
    return results;
  }
  const Shape& feature = operands[1]->shape;
  if (instr.op == Op::kBatchNormTraining) {
    const auto mean = features.Means([&](int64_t e) { return x[e]; });
    const auto variance = features.Means([&](int64_t e) {
      const double centred = x[e] - mean[static_cast<size_t>(features.Of(e))];
      return centred * centred;
    });
    normalise(mean.data(), variance.data());
    results.push_back(Rounded(feature, mean));
    results.push_back(Rounded(feature, variance));
    return results;
  }
  // dx = scale / deviation * (g - mean(g) - (x - mu) * mean(g * (x - mu)) / deviation^2)
  const double *mu = read(2), *variance = read(3), *g = read(4);
  const auto weighted = [&](int64_t e) { return g[e] * (x[e] - mu[features.Of(e)]); };
  const auto mean_g = features.Means([&](int64_t e) { return g[e]; });
  const auto mean_weighted = features.Means(weighted);
  auto scale_gradient = features.Sums(weighted);
  for (int64_t f = 0; f < features.count; ++f)
    scale_gradient[static_cast<size_t>(f)] /= deviation(variance[f]);
  for (int64_t e = 0; e < features.elements; ++e) {
    const int64_t f = features.Of(e);
    const auto at = static_cast<size_t>(f);
    const double through_variance =
        (x[e] - mu[f]) * mean_weighted[at] / (variance[f] + attrs.epsilon);
    result[static_cast<size_t>(e)] =
        scale[f] / deviation(variance[f]) * (g[e] - mean_g[at] - through_variance);
  }
  results.push_back(Rounded(input, result));
  results.push_back(Rounded(feature, scale_gradient));
  results.push_back(Rounded(feature, features.Sums([&](int64_t e) { return g[e]; })));
  return results;
}

}  // namespace fusemark::reference
