// The knob table: every schedule decision declared once (name, field of Schedule, domain, kernel
// classes, targets, effect on numerics, effect in words). Everything that lists, prints, parses,
// searches or stores knobs iterates this table; nothing else names a knob.
//
// A new knob is one field in schedule.h and one row in knobs.cpp. A changed default or a renamed
// knob raises kKnobTableVersion, so that stored schedules are recognised as stale.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/loops/schedule.h"

namespace fusemark::loops {

inline constexpr int kKnobTableVersion = 1;

// What a knob may change in the results. Ordered: each allows more than the one before.
enum class Numerics : uint8_t { kBitwise, kReassociates, kApproximates };
std::string_view NumericsName(Numerics numerics);

struct Knob {
  std::string_view name;
  std::variant<int64_t Schedule::*, bool Schedule::*> field;
  std::span<const int64_t> domain;  // ascending; {0, 1} of a flag
  uint32_t classes = 0;             // bit per KernelClass
  uint32_t reassociates = 0;        // the classes in which it changes the order of sums
  bool cpu = true, gpu = true;
  std::string_view effect;

  bool AppliesTo(KernelClass klass) const {
    return ((classes >> static_cast<int>(klass)) & 1) != 0;
  }
  Numerics NumericsIn(KernelClass klass) const {
    const bool bit = ((reassociates >> static_cast<int>(klass)) & 1) != 0;
    return bit ? Numerics::kReassociates : Numerics::kBitwise;
  }
  int64_t Get(const Schedule& schedule) const;
  void Set(Schedule& schedule, int64_t value) const;
  bool InDomain(int64_t value) const;
};

std::span<const Knob> Knobs();

// The search space of one kernel: the knobs that mean something for its class on the CPU or GPU and
// change results no more than `limit` allows.
std::vector<const Knob*> KnobsOf(KernelClass klass, Numerics limit, bool gpu = false);

// Canonical text, e.g. "reduce vector_bytes=0 parallel_grain=0 reduce_lanes=4": the class, then the
// knobs that apply to it in table order.
std::string PrintSchedule(KernelClass klass, const Schedule& schedule);

struct ScheduleLine {
  KernelClass klass = KernelClass::kLoop;
  Schedule schedule;
  bool operator==(const ScheduleLine&) const = default;
};
// Knobs may be left out (then they have their default) and come in any order. An unknown knob, one
// of another class, a duplicate or a value outside the domain is an error that says what is legal.
Result<ScheduleLine> ParseSchedule(std::string_view text);

// One `name=value` of --set or of a schedule line.
Result<void> SetKnob(Schedule& schedule, KernelClass klass, std::string_view name,
                     std::string_view value);

// A table for people: name, default, domain, classes, numerics, effect.
std::string ListKnobs();

}  // namespace fusemark::loops
