#include "compiler/fusion/config.h"

#include <charconv>

#include "compiler/support/strings.h"

namespace fusemark {
namespace {

constexpr std::string_view kHeader = "fusemark-config 1";

std::string Numbers(const std::vector<InstrId>& ids) {
  std::string text;
  for (const InstrId id : ids) {
    if (!text.empty()) text += ',';
    text += std::to_string(id.index);
  }
  return text;
}

std::optional<std::vector<InstrId>> ParseNumbers(std::string_view text) {
  std::vector<InstrId> ids;
  if (text.empty()) return ids;
  for (const std::string_view part : Split(text, ',')) {
    const auto value = ParseInt(part);
    if (!value || *value < 0 || *value >= UINT32_MAX) return std::nullopt;
    ids.push_back({static_cast<uint32_t>(*value)});
  }
  return ids;
}

std::optional<Hash128> ParseHash(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Hash128 hash;
  const auto half = [](std::string_view digits, uint64_t& value) {
    const auto end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value, 16);
    return parsed.ec == std::errc() && parsed.ptr == end;
  };
  if (!half(text.substr(0, 16), hash.high) || !half(text.substr(16), hash.low)) return std::nullopt;
  return hash;
}

std::optional<loops::KernelClass> ClassFromName(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(loops::KernelClass::kUpdate); ++i) {
    const auto klass = static_cast<loops::KernelClass>(i);
    if (loops::KernelClassName(klass) == name) return klass;
  }
  return std::nullopt;
}

// The text after "name=" of the word, if it is that word.
std::optional<std::string_view> Field(std::string_view word, std::string_view name) {
  if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=') {
    return std::nullopt;
  }
  return word.substr(name.size() + 1);
}

class ConfigParser {
 public:
  Result<Config> Run(std::string_view text) {
    const auto lines = Split(text, '\n');
    if (lines.empty() || Trim(lines[0]) != kHeader) {
      return Invalid("config: the first line must be `" + std::string(kHeader) + "`");
    }
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::string_view line = Trim(lines[i]);
      if (line.empty()) continue;
      if (auto result = Line(line); !result.ok()) {
        return Invalid("config line " + std::to_string(i + 1) + ": " + result.error().message);
      }
    }
    if (!has_knobs_) return Invalid("config: no `knobs` line");
    if (!has_module_) return Invalid("config: no `module` line");
    return std::move(config_);
  }

 private:
  Result<void> Line(std::string_view line) {
    const size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    const std::string_view rest =
        space == std::string_view::npos ? std::string_view() : Trim(line.substr(space));
    if (word == "module") return ModuleLine(rest);
    if (word == "knobs") return KnobsLine(rest);
    if (word == "computation") return ComputationLine(rest);
    if (word == "kernel") return KernelLine(rest);
    if (word == "schedule") return ScheduleEntry(rest);
    return Invalid("unknown word `" + std::string(word) +
                   "`; expected module, knobs, computation, kernel or schedule");
  }

  Result<void> ModuleLine(std::string_view rest) {
    const auto hash = ParseHash(rest);
    if (!hash) return Invalid("expected 32 hex digits, found `" + std::string(rest) + "`");
    if (has_module_) return Invalid("a second `module` line");
    has_module_ = true;
    config_.module_hash = *hash;
    return Ok();
  }

  Result<void> KnobsLine(std::string_view rest) {
    has_knobs_ = true;
    if (ParseInt(rest) == loops::kKnobTableVersion) return Ok();
    return Invalid("made with knob table " + std::string(rest) + ", this version has " +
                   std::to_string(loops::kKnobTableVersion));
  }

  Result<void> ComputationLine(std::string_view rest) {
    constexpr int64_t kMost = 1 << 20;
    const auto index = ParseInt(rest);
    if (!index || *index < 0 || *index > kMost) return Invalid("expected a computation number");
    auto& computations = config_.plan.computations;
    const auto number = static_cast<size_t>(*index);
    if (number < computations.size()) {
      return Invalid("computations stand once each, in increasing order; found " +
                     std::string(rest) + " again or late");
    }
    computations.resize(number + 1);
    current_ = number;
    return Ok();
  }

  Result<void> KernelLine(std::string_view rest) {
    if (current_ >= config_.plan.computations.size()) {
      return Invalid("`kernel` before the first `computation`");
    }
    const auto words = Split(rest, ' ');
    const auto klass = ClassFromName(words[0]);
    if (!klass) return Invalid("unknown kernel class `" + std::string(words[0]) + "`");
    KernelPlan kernel;
    kernel.klass = *klass;
    for (size_t i = 1; i < words.size(); ++i) {
      const auto roots = Field(words[i], "roots");
      const auto members = Field(words[i], "members");
      const auto ids = ParseNumbers(roots ? *roots : members.value_or("?"));
      if (!ids)
        return Invalid("expected roots=N,... members=N,..., found `" + std::string(words[i]) + "`");
      std::vector<InstrId>& field = roots ? kernel.roots : kernel.members;
      if (!field.empty()) return Invalid("`" + std::string(words[i]) + "` comes a second time");
      field = *ids;
    }
    if (kernel.roots.empty()) return Invalid("a kernel needs roots=N,...");
    config_.plan.computations[current_].kernels.push_back(std::move(kernel));
    return Ok();
  }

  Result<void> ScheduleEntry(std::string_view rest) {
    const auto hash = ParseHash(rest.substr(0, rest.find(' ')));
    if (!hash || rest.size() < 33) return Invalid("expected a task hash and a schedule");
    FM_TRY(const loops::ScheduleLine line, loops::ParseSchedule(Trim(rest.substr(33))));
    if (!config_.schedules.emplace(*hash, line).second) {
      return Invalid("a second schedule for task " + ToHex(*hash));
    }
    return Ok();
  }

  Config config_;
  bool has_module_ = false, has_knobs_ = false;
  size_t current_ = SIZE_MAX;
};

}  // namespace

std::string PrintConfig(const Config& config) {
  std::string text(kHeader);
  text += "\nknobs " + std::to_string(loops::kKnobTableVersion);
  text += "\nmodule " + ToHex(config.module_hash) + "\n";
  for (size_t c = 0; c < config.plan.computations.size(); ++c) {
    const auto& kernels = config.plan.computations[c].kernels;
    if (kernels.empty()) continue;
    text += "computation " + std::to_string(c) + "\n";
    for (const KernelPlan& kernel : kernels) {
      text += "kernel " + std::string(loops::KernelClassName(kernel.klass));
      text += " roots=" + Numbers(kernel.roots);
      if (!kernel.members.empty()) text += " members=" + Numbers(kernel.members);
      text += "\n";
    }
  }
  for (const auto& [task, line] : config.schedules) {
    text +=
        "schedule " + ToHex(task) + " " + loops::PrintSchedule(line.klass, line.schedule) + "\n";
  }
  return text;
}

Result<Config> ParseConfig(std::string_view text) {
  return ConfigParser().Run(text);
}

}  // namespace fusemark
