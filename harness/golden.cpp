#include "harness/golden.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/golden_values.h"
#include "workloads/inputs.h"

namespace fusemark {
namespace {

using Json = nlohmann::json;

double NumberOr(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->is_number()) return found->get<double>();
  return found->is_string() ? std::strtod(found->get<std::string>().c_str(), nullptr) : otherwise;
}

std::optional<GoldenError> ReadError(const Json& leaf, const char* key) {
  const auto found = leaf.find(key);
  if (found == leaf.end() || !found->is_object()) return std::nullopt;
  return GoldenError{NumberOr(*found, "max_over_rms", 0), NumberOr(*found, "nrmse", 0)};
}

Result<GoldenLeaf> ReadLeaf(const Json& json, const std::string& stem, int64_t index,
                            const std::string& place) {
  GoldenLeaf leaf;
  FM_TRY(leaf.shape, ReadJsonShape(json, place));
  leaf.nan = static_cast<int64_t>(NumberOr(json, "nan", 0));
  leaf.inf = static_cast<int64_t>(NumberOr(json, "inf", 0));
  leaf.l2 = NumberOr(json, "l2", 0);
  leaf.error = ReadError(json, "xla_error");
  leaf.perturbed = ReadError(json, "perturbed");
  const auto samples = SamplePositions(stem, index, ElementCount(leaf.shape)).size();
  // The truth of a float leaf is wider than the leaf's type.
  const DType dtype = IsFloat(leaf.shape.dtype)     ? DType::kF64
                      : IsComplex(leaf.shape.dtype) ? DType::kC128
                                                    : leaf.shape.dtype;
  FM_TRY(leaf.values, ReadJsonValues(json.value("values", Json()),
                                     ArrayShape(dtype, {static_cast<int64_t>(samples)}), place));
  return leaf;
}

// What the leaf must keep: bounds on the error over the leaf's scale.
struct Bounds {
  double max_over_rms = 0;
  double nrmse = 0;
  double relative = 0;  // where set, |got - want| <= relative * |want| will do too
};

bool IsF8(DType dtype) {
  return IsFloat(dtype) && BitWidth(dtype) <= 8;
}

Bounds BoundsOf(const Golden& golden, const GoldenLeaf& leaf) {
  const double epsilon = GoldenEpsilon(leaf.shape.dtype);
  if (leaf.perturbed) {
    const double tolerance = std::max(4 * leaf.perturbed->max_over_rms, 1e-3);
    return {tolerance, std::max(4 * leaf.perturbed->nrmse, 1e-3), 0};
  }
  if (golden.truth == GoldenTruth::kNative &&
      (leaf.shape.dtype == DType::kF64 || leaf.shape.dtype == DType::kC128 ||
       IsF8(leaf.shape.dtype)))
    return {IsF8(leaf.shape.dtype) ? 0 : 16 * epsilon, 4 * epsilon, 4 * epsilon};
  const GoldenError error = leaf.error.value_or(golden.error);
  return {std::max(4 * error.max_over_rms, 16 * epsilon), std::max(3 * error.nrmse, 4 * epsilon),
          0};
}

// NaN matches NaN, inf matches inf of the same sign, per component.
bool SameSpecial(double got, double want) {
  return std::isnan(want) ? std::isnan(got) : got == want;
}

std::string Describe(const Tensor& output, int64_t position, const GoldenLeaf& leaf,
                     int64_t sample) {
  return "element " + std::to_string(position) + " of " + ToString(leaf.shape) + ": found " +
         ElementText(output, position) + ", expected " + ElementText(leaf.values, sample);
}

void CompareIntegers(const GoldenLeaf& leaf, const std::vector<int64_t>& positions,
                     const Tensor& output, GoldenLeafReport& report) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto sample = static_cast<int64_t>(i);
    if (ElementText(output, positions[i]) == ElementText(leaf.values, sample)) continue;
    report.pass = false;
    report.max_over_rms = std::numeric_limits<double>::infinity();
    report.message = Describe(output, positions[i], leaf, sample);
    return;
  }
}

double ScaleOf(const GoldenLeaf& leaf) {
  const int64_t finite = ElementCount(leaf.shape) - leaf.nan - leaf.inf;
  return finite > 0 ? leaf.l2 / std::sqrt(static_cast<double>(finite)) : 0;
}

void CompareFloats(const GoldenLeaf& leaf, const std::vector<int64_t>& positions,
                   const Tensor& output, const Bounds& bounds, GoldenLeafReport& report) {
  const double rms = ScaleOf(leaf), scale = rms > 0 ? rms : 1;
  double errors = 0, finite = 0, worst = -1;
  const auto fail = [&](const std::string& message) {
    if (report.pass) report.message = message;
    report.pass = false;
  };
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto sample = static_cast<int64_t>(i);
    const std::complex<double> got = ElementAt(output, positions[i]);
    const std::complex<double> want = ElementAt(leaf.values, sample);
    const double error = std::abs(got - want);
    if (!std::isfinite(error)) {
      if (!SameSpecial(got.real(), want.real()) || !SameSpecial(got.imag(), want.imag()))
        fail(Describe(output, positions[i], leaf, sample));
      continue;
    }
    errors += error * error;
    ++finite;
    report.max_over_rms = std::max(report.max_over_rms, error / scale);
    const double allowed = std::max(bounds.relative * std::abs(want), bounds.max_over_rms * scale);
    if (error > allowed && error > worst) {
      worst = error;
      report.pass = true;  // the message of the largest error
      fail(Describe(output, positions[i], leaf, sample) + ", error is " +
           std::to_string(error / allowed) + " times the bound");
    }
  }
  // Over the RMS of the whole leaf, which the golden states: among the samples of a leaf that is
  // mostly small (a cache with one new row) few or none may be of its usual size.
  report.nrmse = finite > 0 ? std::sqrt(errors / finite) / scale : 0;
  if (bounds.relative == 0 && report.nrmse > bounds.nrmse && rms > 0)
    fail("NRMSE of " + ToString(leaf.shape) + " is " + std::to_string(report.nrmse / bounds.nrmse) +
         " times the bound");
}

GoldenLeafReport CompareLeaf(const Golden& golden, size_t index, const Tensor& output) {
  const GoldenLeaf& leaf = golden.leaves[index];
  GoldenLeafReport report;
  const Bounds bounds = BoundsOf(golden, leaf);
  report.tolerance = bounds.max_over_rms;
  if (leaf.perturbed && leaf.perturbed->nrmse > 0.1) {
    report.skipped = true;
    return report;
  }
  if (!SameType(output.shape, ArrayShape(leaf.shape.dtype, leaf.shape.dims))) {
    report.pass = false;
    report.message = "found " + ToString(output.shape) + ", expected " + ToString(leaf.shape);
    return report;
  }
  const std::vector<int64_t> positions =
      SamplePositions(golden.module, static_cast<int64_t>(index), ElementCount(leaf.shape));
  if (IsFloat(leaf.shape.dtype) || IsComplex(leaf.shape.dtype))
    CompareFloats(leaf, positions, output, bounds, report);
  else
    CompareIntegers(leaf, positions, output, report);
  return report;
}

}  // namespace

double GoldenEpsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128: return 0x1p-53;
    case DType::kF32:
    case DType::kC64: return 0x1p-24;
    case DType::kF16: return 0x1p-11;
    case DType::kBF16: return 0x1p-8;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ: return 0x1p-3;
    case DType::kF8E3M4: return 0x1p-5;
    case DType::kF4E2M1FN: return 0x1p-2;
    case DType::kF8E8M0FNU: return 0x1p-1;
    default: return IsFloat(dtype) ? 0x1p-4 : 0;
  }
}

namespace {

Result<Golden> ReadGolden(const Json& document, const std::string& source) {
  if (!document.contains("module") || !document["module"].is_string() ||
      !document.contains("outputs") || !document["outputs"].is_array())
    return Invalid(source + ": no golden: \"module\" and \"outputs\" are required");
  Golden golden;
  golden.module = document["module"].get<std::string>();
  const Json truth = document.value("truth", Json("f64"));
  if (truth != "f64" && truth != "xla_native" && truth != "xla_f32")
    return Invalid(source + ": unknown truth " + truth.dump());
  golden.truth = truth == "f64"          ? GoldenTruth::kF64
                 : truth == "xla_native" ? GoldenTruth::kNative
                                         : GoldenTruth::kF32;
  golden.error = {NumberOr(document, "xla_f32_max_err_over_rms", 0),
                  NumberOr(document, "xla_f32_nrmse", 0)};
  for (const Json& output : document["outputs"]) {
    const auto index = static_cast<int64_t>(golden.leaves.size());
    const std::string place = source + ": output " + std::to_string(index);
    FM_TRY(GoldenLeaf leaf, ReadLeaf(output, golden.module, index, place));
    golden.leaves.push_back(std::move(leaf));
  }
  return golden;
}

}  // namespace

Result<Golden> ParseGolden(std::string_view json, std::string_view source_name) {
  const std::string source(source_name);
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded() || !document.is_object())
    return Invalid(source + ": not a JSON object");
  return ReadGolden(document, source);
}

Result<Golden> LoadGolden(const std::string& path) {
  FM_TRY(const Json json, LoadJson(path));
  return ReadGolden(json, path);
}

GoldenReport CompareWithGolden(const Golden& golden, std::span<const Tensor> outputs) {
  GoldenReport report;
  if (outputs.size() != golden.leaves.size()) {
    report.pass = false;
    report.message = "the result has " + std::to_string(outputs.size()) + " leaves, the golden " +
                     std::to_string(golden.leaves.size());
    return report;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    GoldenLeafReport leaf = CompareLeaf(golden, i, outputs[i]);
    if (!leaf.skipped) {
      report.max_over_rms = std::max(report.max_over_rms, leaf.max_over_rms);
      report.nrmse = std::max(report.nrmse, leaf.nrmse);
    }
    if (!leaf.pass && report.pass) {
      report.pass = false;
      report.message = "leaf " + std::to_string(i) + ": " + leaf.message;
    }
    report.leaves.push_back(std::move(leaf));
  }
  return report;
}

}  // namespace fusemark
