#include "harness/op_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/ir/number.h"
#include "harness/golden_values.h"

namespace fusemark {
namespace {

using Json = nlohmann::json;

Result<OpTolerance> ReadTolerance(const Json& json, const std::string& place) {
  const std::string kind = json.is_object() ? json.value("class", std::string()) : std::string();
  OpTolerance tolerance;
  if (kind == "ulp") {
    tolerance.kind = ToleranceClass::kUlp;
    tolerance.max_ulp = json.value("max_ulp", int64_t{0});
  } else if (kind == "rel") {
    tolerance.kind = ToleranceClass::kRelative;
    tolerance.relative = json.value("rel", 0.0);
    tolerance.absolute = json.value("abs", 0.0);
  } else if (kind == "rms") {
    tolerance.kind = ToleranceClass::kRms;
    tolerance.max_over_rms = json.value("max_over_rms", 0.0);
  } else if (kind != "exact") {
    return Invalid(place + ": unknown tolerance " + json.dump());
  }
  return tolerance;
}

// -0 and +0 are told apart where only data moves or signs change.
bool SignOfZeroCounts(const std::vector<std::string>& ops) {
  static const std::set<std::string, std::less<>> kKeepsSign = {
      "abs",   "negate",  "sign",       "broadcast", "reshape",       "transpose",
      "slice", "reverse", "gather",     "pad",       "dynamic-slice", "dynamic-update-slice",
      "copy",  "tuple",   "concatenate"};
  return std::all_of(ops.begin(), ops.end(),
                     [](const std::string& op) { return kKeepsSign.count(op) != 0; });
}

// Component c (0 real, 1 imaginary) of an element.
double Component(const Tensor& tensor, int64_t index, int component) {
  const std::complex<double> value = ElementAt(tensor, index);
  return component == 0 ? value.real() : value.imag();
}

// Numbers in the order of the values of a float type, so that neighbours differ by one.
int64_t OrderOf(DType dtype, double value) {
  const uint64_t bits = FloatToBits(dtype, value);
  const int width = BitWidth(dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  return (bits & sign) != 0 ? -static_cast<int64_t>(bits & (sign - 1)) : static_cast<int64_t>(bits);
}

bool Near(const OpTolerance& tolerance, DType component, double got, double want, double rms,
          bool sign_of_zero) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (tolerance.kind == ToleranceClass::kExact)
    return got == want && (!sign_of_zero || std::signbit(got) == std::signbit(want));
  if (std::isinf(want) || std::isinf(got)) {
    if (got == want) return true;
    if (tolerance.kind != ToleranceClass::kUlp) return false;
  }
  const double error = std::fabs(got - want);
  switch (tolerance.kind) {
    case ToleranceClass::kUlp:
      return std::llabs(OrderOf(component, got) - OrderOf(component, want)) <= tolerance.max_ulp;
    case ToleranceClass::kRelative:
      return error <= std::max(tolerance.absolute, tolerance.relative * std::fabs(want));
    default: return error <= tolerance.max_over_rms * (rms > 0 ? rms : 1);
  }
}

double RmsOf(const Tensor& tensor) {
  const int64_t count = ElementCount(tensor.shape);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double norm = std::norm(ElementAt(tensor, i));
    if (std::isfinite(norm)) sum += norm;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

// The first element that is wrong, or -1.
int64_t FindMismatch(const OpExpectation& expected, const Tensor& output, bool sign_of_zero) {
  const DType dtype = expected.values.shape.dtype;
  const bool is_complex = IsComplex(dtype);
  const double rms = expected.tolerance.kind == ToleranceClass::kRms ? RmsOf(expected.values) : 0;
  for (int64_t i = 0; i < ElementCount(expected.values.shape); ++i) {
    if (!IsFloat(dtype) && !is_complex) {
      if (ElementText(output, i) != ElementText(expected.values, i)) return i;
      continue;
    }
    for (int c = 0; c <= (is_complex ? 1 : 0); ++c) {
      const DType component = is_complex ? ComponentOf(dtype) : dtype;
      if (!Near(expected.tolerance, component, Component(output, i, c),
                Component(expected.values, i, c), rms, sign_of_zero))
        return i;
    }
  }
  return -1;
}

}  // namespace

bool IsOpCaseFile(const std::string& path) {
  const auto json = LoadJson(path);
  return json.ok() && json->is_object() && json->contains("expected");
}

Result<OpCase> LoadOpCase(const std::string& path) {
  FM_TRY(const Json json, LoadJson(path));
  OpCase result;
  result.name = json.value("name", std::string());
  result.ops = json.value("hlo_ops", std::vector<std::string>());
  for (const Json& input : json.value("inputs", Json::array())) {
    const std::string place = path + ": input " + std::to_string(result.inputs.size());
    FM_TRY(Shape shape, ReadJsonShape(input, place));
    FM_TRY(Tensor tensor, ReadJsonValues(input.value("values", Json()), std::move(shape), place));
    result.inputs.push_back(std::move(tensor));
  }
  for (const Json& expected : json.value("expected", Json::array())) {
    const std::string place = path + ": result " + std::to_string(result.expected.size());
    FM_TRY(Shape shape, ReadJsonShape(expected, place));
    FM_TRY(Tensor values,
           ReadJsonValues(expected.value("values", Json()), std::move(shape), place));
    FM_TRY(const OpTolerance tolerance, ReadTolerance(expected.value("tolerance", Json()), place));
    result.expected.push_back({std::move(values), tolerance});
  }
  return result;
}

std::string CompareWithOpCase(const OpCase& op_case, std::span<const Tensor> outputs) {
  if (outputs.size() != op_case.expected.size())
    return "found " + std::to_string(outputs.size()) + " results, expected " +
           std::to_string(op_case.expected.size());
  const bool sign_of_zero = SignOfZeroCounts(op_case.ops);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& want = op_case.expected[k].values;
    const std::string place = "result " + std::to_string(k) + ": ";
    if (!SameType(outputs[k].shape, want.shape))
      return place + "found " + ToString(outputs[k].shape) + ", expected " + ToString(want.shape);
    const int64_t wrong = FindMismatch(op_case.expected[k], outputs[k], sign_of_zero);
    if (wrong >= 0)
      return place + "element " + std::to_string(wrong) + " of " + ToString(want.shape) +
             ": found " + ElementText(outputs[k], wrong) + ", expected " + ElementText(want, wrong);
  }
  return "";
}

}  // namespace fusemark
