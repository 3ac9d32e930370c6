#include "harness/golden_values.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "compiler/ir/number.h"
#include "compiler/support/file.h"

namespace fusemark {
namespace {

using Json = nlohmann::json;

bool ReadDouble(const std::string& text, double& value) {
  // A NaN's sign matters to sorting and total order.
  if (text == "-nan" || text == "nan") {
    value = std::copysign(std::numeric_limits<double>::quiet_NaN(), text[0] == '-' ? -1.0 : 1.0);
    return true;
  }
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

bool ReadInteger(const std::string& text, uint64_t& bits) {
  const char *begin = text.data(), *end = begin + text.size();
  if (text.starts_with('-')) {
    int64_t value = 0;
    const auto parsed = std::from_chars(begin, end, value);
    bits = static_cast<uint64_t>(value);
    return parsed.ec == std::errc() && parsed.ptr == end;
  }
  const auto parsed = std::from_chars(begin, end, bits);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

void StoreFloat(DType dtype, double value, std::byte* target) {
  // f32 once; narrower types through f32, as the texts were made.
  if (BitWidth(dtype) < 32) value = static_cast<double>(static_cast<float>(value));
  const uint64_t bits = FloatToBits(dtype, value);
  std::memcpy(target, &bits, static_cast<size_t>(ByteSize(dtype)));
}

bool StoreElement(const Json& element, DType dtype, std::byte* target) {
  const auto text_of = [](const Json& json) {
    return json.is_string() ? json.get<std::string>() : json.dump();
  };
  double real = 0, imag = 0;
  if (IsComplex(dtype)) {
    if (!element.is_array() || element.size() != 2) return false;
    if (!ReadDouble(text_of(element[0]), real) || !ReadDouble(text_of(element[1]), imag))
      return false;
    const DType part = ComponentOf(dtype);
    StoreFloat(part, real, target);
    StoreFloat(part, imag, target + ByteSize(part));
    return true;
  }
  const std::string text = text_of(element);
  if (IsFloat(dtype)) {
    if (!ReadDouble(text, real)) return false;
    StoreFloat(dtype, real, target);
    return true;
  }
  uint64_t bits = 0;
  if (text == "true" || text == "false")
    bits = text == "true" ? 1 : 0;
  else if (!ReadInteger(text, bits))
    return false;
  std::memcpy(target, &bits, static_cast<size_t>(ByteSize(dtype)));
  return true;
}

uint64_t BitsAt(const Tensor& tensor, int64_t index) {
  uint64_t bits = 0;
  const int64_t size = ByteSize(tensor.shape.dtype);
  std::memcpy(&bits, tensor.data.get() + index * size, static_cast<size_t>(size));
  return bits;
}

int64_t SignedAt(const Tensor& tensor, int64_t index) {
  const auto unused = static_cast<unsigned>(64 - 8 * ByteSize(tensor.shape.dtype));
  return static_cast<int64_t>(BitsAt(tensor, index) << unused) >> unused;
}

}  // namespace

Result<Tensor> ReadJsonValues(const Json& values, Shape shape, const std::string& place) {
  if (!values.is_array()) return Invalid(place + ": \"values\" must be a list");
  const int64_t count = ElementCount(shape);
  if (static_cast<int64_t>(values.size()) != count)
    return Invalid(place + ": found " + std::to_string(values.size()) + " values, expected " +
                   std::to_string(count));
  const DType dtype = shape.dtype;
  Tensor tensor = MakeTensor(std::move(shape));
  for (int64_t i = 0; i < count; ++i) {
    const Json& element = values[static_cast<size_t>(i)];
    if (!StoreElement(element, dtype, tensor.data.get() + i * ByteSize(dtype)))
      return Invalid(place + ": " + element.dump() + " is no value of type " +
                     std::string(DTypeName(dtype)));
  }
  return tensor;
}

Result<Shape> ReadJsonShape(const Json& object, const std::string& place) {
  if (!object.is_object() || !object.contains("dtype") || !object["dtype"].is_string() ||
      !object.contains("shape") || !object["shape"].is_array())
    return Invalid(place + ": expected an object with \"dtype\" and \"shape\"");
  const auto dtype = DTypeFromName(object["dtype"].get<std::string>());
  if (!dtype || ClassOf(*dtype) == DTypeClass::Opaque)
    return Invalid(place + ": unknown element type " + object["dtype"].dump());
  Shape shape = ArrayShape(*dtype, {});
  for (const Json& dim : object["shape"]) {
    if (!dim.is_number_integer() || dim.get<int64_t>() < 0)
      return Invalid(place + ": bad dimension " + dim.dump());
    shape.dims.push_back(dim.get<int64_t>());
  }
  if (!CheckedByteSize(shape)) return Invalid(place + ": the size overflows 64 bits");
  return shape;
}

Result<Json> LoadJson(const std::string& path) {
  FM_TRY(const std::string text, ReadFile(path, "a golden file"));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return Invalid(path + ": not a JSON object");
  return json;
}

std::complex<double> ElementAt(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.shape.dtype;
  switch (ClassOf(dtype)) {
    case DTypeClass::Float: return FloatFromBits(dtype, BitsAt(tensor, index));
    case DTypeClass::Complex:
      if (dtype == DType::kC64)
        return std::complex<double>(tensor.as<std::complex<float>>()[index]);
      return tensor.as<std::complex<double>>()[index];
    case DTypeClass::Signed: return static_cast<double>(SignedAt(tensor, index));
    default: return static_cast<double>(BitsAt(tensor, index));
  }
}

std::string ElementText(const Tensor& tensor, int64_t index) {
  const DType dtype = tensor.shape.dtype;
  if (IsSigned(dtype)) return std::to_string(SignedAt(tensor, index));
  if (!IsFloat(dtype) && !IsComplex(dtype)) return std::to_string(BitsAt(tensor, index));
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return std::string(text);
  };
  const std::complex<double> value = ElementAt(tensor, index);
  if (!IsComplex(dtype)) return number(value.real());
  return "(" + number(value.real()) + ", " + number(value.imag()) + ")";
}

}  // namespace fusemark
