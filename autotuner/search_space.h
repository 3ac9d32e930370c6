// What the tuner may decide for one module: the planner's open choices (which instructions share a
// kernel) and the knobs of every kernel task. Built from what the compiler offers, never from a
// list of its own: a new knob or a new choice of the planner is searched without a change here.
//
// Every candidate is legal: choices override profit, never legality, and knob values come from
// their domains. Knobs whose effect on results is above the limit are left at their default.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autotuner/random.h"
#include "compiler/on.h"

namespace fusemark {

struct Candidate {
  PlanChoices choices;                               // overrides of the planner
  std::map<Hash128, loops::ScheduleLine> schedules;  // that differ from the task's default
  Config config;                                     // plan and every schedule, spelled out
  std::string text;                                  // PrintConfig(config): what is stored
  Hash128 id;                                        // of the text
  PlanChoices flips;                                 // open in this plan, or made and reversible
  std::vector<Task> tasks;                           // of this plan
};

class SearchSpace {
 public:
  // Values that mean the same as another one on `target` are left out.
  static Result<SearchSpace> Create(OnProblem problem, loops::Numerics limit,
                                    const loops::Target& target);

  // What the compiler does without a config.
  const Candidate& Default() const { return default_; }

  // Nothing to decide: no knob and no open choice.
  bool empty() const { return Decisions(default_, {}).empty(); }

  // Of the default plan, for the report.
  int64_t open_choices() const { return static_cast<int64_t>(default_.flips.size()); }
  int64_t tasks() const { return static_cast<int64_t>(default_.tasks.size()); }
  // Binary logarithm of the number of configs of the default plan and its single choices.
  double log2_size() const;

  // What differs from the default, in words: "<first digits of the task>.unroll" -> "8",
  // "plan.<computation>.<instruction>" -> "kernel" or "inline".
  std::map<std::string, std::string> Differences(const Candidate& candidate) const;

  // The yes-or-no questions about the default: flags of its tasks (own code or the library's), then
  // the planner's open choices.
  size_t questions() const { return questions_.size(); }
  // The default with these questions answered the other way.
  Result<Candidate> Answered(std::span<const size_t> questions) const;

  // `from` with up to `changes` decisions drawn anew. Equal to `from` only when nothing is open.
  Result<Candidate> Mutate(const Candidate& from, int changes, Random& random) const;

 private:
  // Either a choice of the planner (knob null) or a knob of a task.
  struct Decision {
    std::pair<uint32_t, uint32_t> choice;
    Hash128 task;
    const loops::Knob* knob = nullptr;
    loops::KernelClass klass = loops::KernelClass::kLoop;
    std::vector<int64_t> values;  // of the knob; at least two
  };

  SearchSpace(OnProblem problem, loops::Numerics limit, loops::Target target)
      : problem_(std::move(problem)), limit_(limit), target_(std::move(target)) {}

  Result<Candidate> Make(PlanChoices choices,
                         std::map<Hash128, loops::ScheduleLine> schedules) const;
  using Schedules = std::map<Hash128, loops::ScheduleLine>;
  // Open in the plan of `from` once its schedules are changed to `changed`; choices come first.
  std::vector<Decision> Decisions(const Candidate& from, const Schedules& changed) const;
  std::vector<int64_t> ValuesOf(const loops::Knob& knob) const;
  static loops::Schedule ScheduleOf(const Candidate& from, const Schedules& changed,
                                    const Hash128& task);

  OnProblem problem_;
  loops::Numerics limit_;
  loops::Target target_;
  Candidate default_;
  std::vector<Decision> questions_;
};

}  // namespace fusemark
