#include "workloads/spec.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/support/file.h"
#include "compiler/support/strings.h"

namespace fusemark {
namespace {

using Json = nlohmann::json;

// Where an entry stands, for messages: "inputs.json: model/params/3".
using Place = const std::string&;

Error Wrong(Place place, const std::string& what) {
  return Invalid(place + ": " + what);
}

Result<void> CheckWords(const Json& object, const std::set<std::string>& known, Place place) {
  if (!object.is_object()) return Wrong(place, "found " + object.dump() + ", expected an object");
  for (const auto& [word, value] : object.items()) {
    if (known.count(word) != 0) continue;
    const std::vector<std::string> words(known.begin(), known.end());
    return Wrong(place, "unknown word \"" + word + "\", expected one of: " + Join(words, ", "));
  }
  return Ok();
}

Result<SpecNumber> ReadNumber(const Json& value, Place place) {
  if (value.is_number_unsigned())
    return SpecNumber{value.get<double>(), static_cast<int64_t>(value.get<uint64_t>())};
  if (value.is_number_integer()) return SpecNumber{value.get<double>(), value.get<int64_t>()};
  if (value.is_boolean()) return SpecNumber{value.get<bool>() ? 1.0 : 0.0, value.get<bool>()};
  double real = 0;
  if (value.is_number()) {
    real = value.get<double>();
  } else if (value.is_string()) {  // "nan", "inf", or full precision kept as text
    const std::string text = value.get<std::string>();
    char* end = nullptr;
    real = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return Wrong(place, "\"" + text + "\" is not a number");
  } else {
    return Wrong(place, "found " + value.dump() + ", expected a number");
  }
  // Truncates as an integer array would; out-of-range values stay 0 there.
  const bool fits = real > -0x1p63 && real < 0x1p63;
  return SpecNumber{real, fits ? static_cast<int64_t>(real) : 0};
}

Result<SpecNumber> ReadMember(const Json& object, const char* word, Place place) {
  if (!object.contains(word)) return Wrong(place, std::string("\"") + word + "\" is missing");
  return ReadNumber(object[word], place);
}

Result<void> ReadBounds(const Json& object, Place place, InputSpec::Entry& entry) {
  FM_TRY(entry.low, ReadMember(object, "low", place));
  FM_TRY(entry.high, ReadMember(object, "high", place));
  return Ok();
}

Result<void> ReadPlain(const Json& object, Place place, InputSpec::Entry& entry) {
  FM_RETURN_IF_ERROR(CheckWords(object, {"scale", "diag"}, place));
  if (object.contains("scale")) {
    FM_TRY(const SpecNumber scale, ReadNumber(object["scale"], place));
    entry.scale = scale.real;
  }
  return Ok();
}

Result<void> ReadValues(const Json& object, Place place, InputSpec::Entry& entry) {
  if (!object.contains("values") || !object["values"].is_array())
    return Wrong(place, "\"values\" must be a list");
  for (const Json& value : object["values"]) {
    FM_TRY(const SpecNumber number, ReadNumber(value, place));
    entry.values.push_back(number);
  }
  return Ok();
}

Result<std::shared_ptr<const InputSpec::Entry>> ReadEntry(const Json& object, Place place) {
  auto entry = std::make_shared<InputSpec::Entry>();
  if (!object.is_object()) return Wrong(place, "found " + object.dump() + ", expected an object");
  const std::string kind = object.contains("kind") && object["kind"].is_string()
                               ? object["kind"].get<std::string>()
                               : "";
  if (kind == "range" || kind == "int" || kind == "linspace") {
    entry->kind = kind == "range" ? SpecKind::kRange
                  : kind == "int" ? SpecKind::kInt
                                  : SpecKind::kLinspace;
    FM_RETURN_IF_ERROR(CheckWords(object, {"kind", "low", "high", "diag"}, place));
    FM_RETURN_IF_ERROR(ReadBounds(object, place, *entry));
  } else if (kind == "const") {
    entry->kind = SpecKind::kConst;
    FM_RETURN_IF_ERROR(CheckWords(object, {"kind", "value"}, place));
    FM_TRY(const SpecNumber value, ReadMember(object, "value", place));
    entry->values = {value};
  } else if (kind == "values") {
    entry->kind = SpecKind::kValues;
    FM_RETURN_IF_ERROR(CheckWords(object, {"kind", "values"}, place));
    FM_RETURN_IF_ERROR(ReadValues(object, place, *entry));
  } else if (object.contains("kind")) {
    return Wrong(place, "unknown kind " + object["kind"].dump() +
                            ", expected one of: const, int, linspace, range, values");
  } else {
    FM_RETURN_IF_ERROR(ReadPlain(object, place, *entry));
  }
  if (object.contains("diag")) {
    FM_TRY(const SpecNumber diag, ReadNumber(object["diag"], place));
    entry->diag = diag.real;
  }
  return std::shared_ptr<const InputSpec::Entry>(std::move(entry));
}

// "3" or "3/1".
bool IsParameterKey(std::string_view key) {
  const std::vector<std::string_view> parts = Split(key, '/');
  if (parts.empty() || parts.size() > 2) return false;
  for (std::string_view part : parts) {
    const auto number = ParseInt(part);
    if (!number || *number < 0) return false;
  }
  return true;
}

}  // namespace

Result<InputSpec> ParseInputSpec(std::string_view json, std::string_view stem,
                                 std::string_view source_name) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const std::string source(source_name);
  if (document.is_discarded() || !document.is_object())
    return Invalid(source + ": not a JSON object; the input rule is described in INPUTS.md");
  InputSpec spec;
  const auto found = document.find(std::string(stem));
  if (found == document.end()) return spec;
  const Json& entry = *found;
  const std::string place = source + ": " + std::string(stem);
  FM_RETURN_IF_ERROR(CheckWords(entry, {"scale", "params", "constants"}, place));
  if (entry.contains("scale")) {
    FM_TRY(const SpecNumber scale, ReadNumber(entry["scale"], place + "/scale"));
    spec.scale = scale.real;
  }
  for (const char* section : {"params", "constants"}) {
    if (!entry.contains(section)) continue;
    const std::string there = place + "/" + section;
    if (!entry[section].is_object()) return Wrong(there, "expected an object");
    const bool is_params = std::strcmp(section, "params") == 0;
    for (const auto& [key, value] : entry[section].items()) {
      if (is_params && !IsParameterKey(key))
        return Wrong(there, "\"" + key + "\" is no parameter number (\"3\") or leaf (\"3/1\")");
      FM_TRY(auto made, ReadEntry(value, there + "/" + key));
      (is_params ? spec.params : spec.constants)[key] = std::move(made);
    }
  }
  return spec;
}

Result<InputSpec> LoadInputSpec(const std::string& path, std::string_view stem) {
  FM_TRY(const std::string text, ReadFile(path, "an input spec"));
  return ParseInputSpec(text, stem, path);
}

}  // namespace fusemark
