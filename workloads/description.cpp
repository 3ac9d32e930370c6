#include "workloads/description.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "compiler/support/strings.h"

namespace fusemark {
namespace {

using Json = nlohmann::json;

Error WrongAt(std::string_view source, const YAML::Mark& mark, const std::string& what) {
  const SourceLoc where{static_cast<uint32_t>(mark.line + 1),
                        static_cast<uint32_t>(mark.column + 1)};
  return Invalid(std::string(source) + ":" + std::to_string(where.line) + ":" +
                     std::to_string(where.column) + ": " + what,
                 where);
}

// A YAML node as JSON: plain scalars that read as numbers or booleans become such.
Json ToJson(const YAML::Node& node) {
  Json json;
  switch (node.Type()) {
    case YAML::NodeType::Map:
      json = Json::object();
      for (const auto& item : node) json[item.first.Scalar()] = ToJson(item.second);
      return json;
    case YAML::NodeType::Sequence:
      json = Json::array();
      for (const auto& item : node) json.push_back(ToJson(item));
      return json;
    case YAML::NodeType::Scalar: break;
    default: return json;
  }
  if (node.Tag() == "!") return node.Scalar();  // quoted
  if (const auto number = ParseInt(node.Scalar())) return *number;
  double real = 0;
  if (YAML::convert<double>::decode(node, real) && std::isfinite(real)) return real;
  bool flag = false;
  if (YAML::convert<bool>::decode(node, flag)) return flag;
  return node.Scalar();
}

// Reads the keys of one document; each known key has a reader that returns what is wrong, or "".
class KeyReader {
 public:
  explicit KeyReader(std::string_view source) : source_(source) {}

  template <class F>
  void Key(const std::string& key, F read) {
    keys_.push_back(key);
    readers_.emplace_back(read);
  }

  Result<void> Read(std::string_view text) const {
    try {
      const YAML::Node document = YAML::Load(std::string(text));
      if (!document.IsMap())
        return WrongAt(source_, document.Mark(), "expected a map of keys: " + Join(keys_, ", "));
      for (const auto& item : document) {
        const std::string& key = item.first.Scalar();
        const auto found = std::find(keys_.begin(), keys_.end(), key);
        if (found == keys_.end())
          return WrongAt(source_, item.first.Mark(),
                         "unknown key \"" + key + "\", expected one of: " + Join(keys_, ", "));
        const auto index = static_cast<size_t>(found - keys_.begin());
        const std::string problem = readers_[index](item.second);
        if (!problem.empty()) return WrongAt(source_, item.second.Mark(), key + ": " + problem);
      }
    } catch (const YAML::Exception& error) {
      return WrongAt(source_, error.mark, error.msg);
    }
    return Ok();
  }

 private:
  std::string source_;
  std::vector<std::string> keys_;
  std::vector<std::function<std::string(const YAML::Node&)>> readers_;
};

auto ReadText(std::string& target) {
  return [&target](const YAML::Node& node) -> std::string {
    if (!node.IsScalar()) return "expected text";
    target = node.Scalar();
    return "";
  };
}

auto ReadPositive(double& target) {
  return [&target](const YAML::Node& node) -> std::string {
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, target) || !(target > 0))
      return "expected a number above 0";
    return "";
  };
}

auto ReadTexts(std::vector<std::string>& target) {
  return [&target](const YAML::Node& node) -> std::string {
    if (!node.IsSequence()) return "expected a list";
    for (const auto& item : node) {
      if (!item.IsScalar()) return "expected a list of words";
      target.push_back(item.Scalar());
    }
    return "";
  };
}

// "5" or "2-7".
std::string ReadRange(const std::string& text, std::vector<int64_t>& numbers) {
  const std::vector<std::string_view> ends = Split(text, '-');
  const auto first = ParseInt(Trim(ends.front())), last = ParseInt(Trim(ends.back()));
  if (ends.size() > 2 || !first || !last || *first < 0 || *last < *first || *last > 1 << 20)
    return "expected a parameter number or a range like 2-7, found \"" + text + "\"";
  for (int64_t number = *first; number <= *last; ++number) numbers.push_back(number);
  return "";
}

std::string ReadResident(const YAML::Node& node, WorkloadDescription& target) {
  if (node.IsScalar() && node.Scalar() == "all") {
    target.all_resident = true;
    return "";
  }
  if (node.IsScalar() && node.Scalar() == "none") return "";
  std::vector<std::string> parts;
  if (node.IsSequence()) {
    for (const auto& item : node) parts.push_back(item.IsScalar() ? item.Scalar() : "a list");
  } else if (node.IsScalar()) {
    for (std::string_view part : Split(node.Scalar(), ',')) parts.emplace_back(Trim(part));
  } else {
    return "expected all, none, or a list of parameter numbers";
  }
  for (const std::string& part : parts) {
    std::string problem = ReadRange(part, target.resident);
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace

Result<WorkloadDescription> ParseDescription(std::string_view yaml, std::string_view source_name) {
  WorkloadDescription result;
  KeyReader reader(source_name);
  Json inputs;
  reader.Key("name", ReadText(result.name));
  reader.Key("description", ReadText(result.description));
  reader.Key("graph", ReadText(result.graph));
  reader.Key("items", ReadPositive(result.items));
  reader.Key("unit", ReadText(result.unit));
  reader.Key("tolerance", ReadPositive(result.tolerance));
  reader.Key("tags", ReadTexts(result.tags));
  reader.Key("resident", [&](const YAML::Node& node) { return ReadResident(node, result); });
  reader.Key("inputs", [&](const YAML::Node& node) -> std::string {
    if (!node.IsMap()) return "expected a map with scale, params, constants";
    inputs = ToJson(node);
    return "";
  });
  FM_RETURN_IF_ERROR(reader.Read(yaml));
  if (result.name.empty() || result.graph.empty())
    return Invalid(std::string(source_name) + ": the keys \"name\" and \"graph\" are required");
  if (!inputs.is_null()) result.inputs_json = Json{{result.name, inputs}}.dump();
  return result;
}

Result<SuiteDescription> ParseSuite(std::string_view yaml, std::string_view source_name) {
  SuiteDescription result;
  KeyReader reader(source_name);
  reader.Key("name", ReadText(result.name));
  reader.Key("description", ReadText(result.description));
  reader.Key("workloads", ReadTexts(result.workloads));
  FM_RETURN_IF_ERROR(reader.Read(yaml));
  return result;
}

}  // namespace fusemark
