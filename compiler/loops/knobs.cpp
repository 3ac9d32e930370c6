#include "compiler/loops/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "compiler/support/strings.h"

namespace fusemark::loops {
namespace {

constexpr uint32_t Bit(KernelClass klass) {
  return 1U << static_cast<int>(klass);
}
constexpr uint32_t kLoopBit = Bit(KernelClass::kLoop), kReduceBit = Bit(KernelClass::kReduce),
                   kRowBit = Bit(KernelClass::kRow),
                   kContractionBit = Bit(KernelClass::kContraction),
                   kAttentionBit = Bit(KernelClass::kAttention),
                   kWindowBit = Bit(KernelClass::kWindow), kUpdateBit = Bit(KernelClass::kUpdate);
constexpr uint32_t kEvery =
    kLoopBit | kReduceBit | kRowBit | kContractionBit | kAttentionBit | kWindowBit | kUpdateBit;

// Classes whose reductions may run over vector accumulators.
constexpr uint32_t kSummingBits =
    kReduceBit | kRowBit | kContractionBit | kAttentionBit | kWindowBit;
// Classes with register tiles.
constexpr uint32_t kTileBits = kContractionBit | kAttentionBit;

constexpr int64_t kFlag[] = {0, 1};
constexpr int64_t kVectorBytes[] = {0, 16, 32, 64};
constexpr int64_t kUnroll[] = {1, 2, 4, 8};
constexpr int64_t kGrain[] = {0, 1024, 4096, 16384, 65536, 262144, 1048576};
constexpr int64_t kRows[] = {1, 2, 4, 8};
constexpr int64_t kTileM[] = {0, 1, 2, 4, 6, 8, 12, 14};
constexpr int64_t kTileN[] = {1, 2, 3, 4};
constexpr int64_t kTileK[] = {0, 64, 128, 256, 512, 1024};

// name, field, domain, classes, classes in which it reassociates, cpu, gpu, effect. A knob that a
// target's schedule does not read is not offered to the search there.
constexpr Knob kKnobs[] = {
    {"vector_bytes", &Schedule::vector_bytes, kVectorBytes, kEvery, kSummingBits, true, false,
     "SIMD width of the innermost loop in bytes; 0 = the target's native width"},
    {"unroll", &Schedule::unroll, kUnroll, kLoopBit | kWindowBit | kUpdateBit, 0, true, true,
     "vectors per iteration of the innermost loop"},
    {"parallel_grain", &Schedule::parallel_grain, kGrain, kEvery, 0, true, false,
     "least elements per parallel range; 0 = from the target's fork-join cost"},
    {"reduce_lanes", &Schedule::reduce_lanes, kUnroll, kSummingBits, kSummingBits, true, true,
     "independent vector accumulators of a reduction"},
    {"row_block", &Schedule::row_block, kRows, kRowBit, 0, false, true,
     "rows handled together in a row kernel"},
    {"keep_row", &Schedule::keep_row, kFlag, kRowBit, 0, false, true,
     "keep shared row values in a buffer instead of computing them again"},
    {"tile_m", &Schedule::tile_m, kTileM, kTileBits, 0, true, true,
     "rows of a register tile; 0 = as many as the registers allow"},
    {"tile_n", &Schedule::tile_n, kTileN, kTileBits, 0, true, true,
     "vectors per row of a register tile"},
    {"tile_k", &Schedule::tile_k, kTileK, kContractionBit, kContractionBit, true, true,
     "most of a contraction's sum in one cache block; thrice as much in a register; 0 = not cut"},
    {"use_library", &Schedule::use_library, kFlag, kContractionBit, kContractionBit, true, false,
     "library code instead of own code for a contraction, where it applies"},
};

const Knob* Find(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kKnobs), std::end(kKnobs),
                                         [&](const Knob& knob) { return knob.name == name; });
  return found == std::end(kKnobs) ? nullptr : found;
}

std::string Suggestion(std::string_view name, KernelClass klass) {
  const Knob* nearest = nullptr;
  std::vector<std::string> all;
  for (const Knob& knob : kKnobs) {
    if (!knob.AppliesTo(klass)) continue;
    all.emplace_back(knob.name);
    if (nearest == nullptr || EditDistance(name, knob.name) < EditDistance(name, nearest->name))
      nearest = &knob;
  }
  if (nearest != nullptr && EditDistance(name, nearest->name) <= 3)
    return fmt::format("did you mean {}?", nearest->name);
  return fmt::format("knobs of class {} are {}", KernelClassName(klass), Join(all, ", "));
}

std::string DomainText(const Knob& knob) {
  const std::vector<int64_t> values(knob.domain.begin(), knob.domain.end());
  return JoinInts(values, ", ");
}

std::string ClassNames(uint32_t classes, std::string_view separator = ", ") {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(KernelClass::kUpdate); ++i) {
    if (((classes >> i) & 1) != 0) names.emplace_back(KernelClassName(static_cast<KernelClass>(i)));
  }
  return Join(names, separator);
}

std::string ClassesText(uint32_t classes) {
  return classes == kEvery ? "all" : ClassNames(classes, ",");
}

}  // namespace

std::string_view NumericsName(Numerics numerics) {
  switch (numerics) {
    case Numerics::kBitwise: return "bitwise";
    case Numerics::kReassociates: return "reassociates";
    case Numerics::kApproximates: return "approximates";
  }
  return "?";
}

int64_t Knob::Get(const Schedule& schedule) const {
  if (const auto* number = std::get_if<int64_t Schedule::*>(&field)) return schedule.*(*number);
  return schedule.*std::get<bool Schedule::*>(field) ? 1 : 0;
}

void Knob::Set(Schedule& schedule, int64_t value) const {
  if (const auto* number = std::get_if<int64_t Schedule::*>(&field)) {
    schedule.*(*number) = value;
  } else {
    schedule.*std::get<bool Schedule::*>(field) = value != 0;
  }
}

bool Knob::InDomain(int64_t value) const {
  return std::find(domain.begin(), domain.end(), value) != domain.end();
}

std::span<const Knob> Knobs() {
  return kKnobs;
}

std::vector<const Knob*> KnobsOf(KernelClass klass, Numerics limit, bool gpu) {
  std::vector<const Knob*> knobs;
  for (const Knob& knob : kKnobs) {
    if (knob.AppliesTo(klass) && (gpu ? knob.gpu : knob.cpu) && knob.NumericsIn(klass) <= limit)
      knobs.push_back(&knob);
  }
  return knobs;
}

std::string PrintSchedule(KernelClass klass, const Schedule& schedule) {
  std::string text(KernelClassName(klass));
  for (const Knob& knob : kKnobs) {
    if (knob.AppliesTo(klass)) text += fmt::format(" {}={}", knob.name, knob.Get(schedule));
  }
  return text;
}

Result<void> SetKnob(Schedule& schedule, KernelClass klass, std::string_view name,
                     std::string_view value) {
  const Knob* const knob = Find(name);
  if (knob == nullptr)
    return Invalid(fmt::format("unknown knob '{}': {}", name, Suggestion(name, klass)));
  if (!knob->AppliesTo(klass))
    return Invalid(fmt::format("knob {} does not apply to kernels of class {} (it applies to: {})",
                               name, KernelClassName(klass), ClassesText(knob->classes)));
  const auto number = ParseInt(value);
  if (!number || !knob->InDomain(*number))
    return Invalid(fmt::format("knob {}={}: expected one of {}", name, value, DomainText(*knob)));
  knob->Set(schedule, *number);
  return Ok();
}

Result<ScheduleLine> ParseSchedule(std::string_view text) {
  ScheduleLine line;
  const std::vector<std::string_view> words = Words(text);
  if (words.empty()) return Invalid("empty schedule, expected a kernel class and knobs");
  const auto klass = KernelClassFromName(words[0]);
  if (!klass)
    return Invalid(
        fmt::format("unknown kernel class '{}', expected one of {}", words[0], ClassNames(kEvery)));
  line.klass = *klass;
  std::vector<std::string_view> seen;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string_view::npos)
      return Invalid(fmt::format("expected knob=value, found '{}'", words[i]));
    const std::string_view name = words[i].substr(0, equals);
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return Invalid(fmt::format("knob {} is set twice", name));
    seen.push_back(name);
    FM_RETURN_IF_ERROR(SetKnob(line.schedule, line.klass, name, words[i].substr(equals + 1)));
  }
  return line;
}

std::string ListKnobs() {
  const Schedule defaults;
  std::string text;
  for (const Knob& knob : kKnobs) {
    std::string numerics = "bitwise";
    if (knob.reassociates != 0)
      numerics = knob.reassociates == knob.classes
                     ? "reassociates"
                     : fmt::format("reassociates in {}", ClassesText(knob.reassociates));
    text += fmt::format("{:<15} default {:<4} of {{{}}}; {}; {}; {}\n{:16}{}\n", knob.name,
                        knob.Get(defaults), DomainText(knob), ClassesText(knob.classes), numerics,
                        knob.cpu ? (knob.gpu ? "cpu, gpu" : "cpu") : "gpu", "", knob.effect);
  }
  return text;
}

}  // namespace fusemark::loops
