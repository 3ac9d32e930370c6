#include "autotuner/search_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fusemark {

namespace {

// One decision in so many is about the plan, the others about schedules.
constexpr uint64_t kPlanShare = 4;

template <class Field>
bool Sets(const loops::Knob& knob, Field field) {
  const auto* found = std::get_if<Field>(&knob.field);
  return found != nullptr && *found == field;
}

}  // namespace

Result<SearchSpace> SearchSpace::Create(OnProblem problem, loops::Numerics limit,
                                        const loops::Target& target) {
  SearchSpace space(std::move(problem), limit, target);
  FM_TRY(space.default_, space.Make({}, {}));
  for (Decision& decision : space.Decisions(space.default_, {})) {
    const bool flag = decision.knob == nullptr ||
                      std::holds_alternative<bool loops::Schedule::*>(decision.knob->field);
    if (flag) space.questions_.push_back(std::move(decision));
  }
  std::stable_partition(space.questions_.begin(), space.questions_.end(),
                        [](const Decision& decision) { return decision.knob != nullptr; });
  return space;
}

Result<Candidate> SearchSpace::Answered(std::span<const size_t> questions) const {
  PlanChoices choices;
  Schedules schedules;
  for (const size_t question : questions) {
    const Decision& decision = questions_[question];
    if (decision.knob == nullptr) {
      choices[decision.choice] = default_.flips.at(decision.choice);
      continue;
    }
    loops::Schedule schedule = ScheduleOf(default_, schedules, decision.task);
    decision.knob->Set(schedule, 1 - decision.knob->Get(schedule));
    schedules[decision.task] = {decision.klass, schedule};
  }
  return Make(std::move(choices), std::move(schedules));
}

Result<Candidate> SearchSpace::Make(PlanChoices choices,
                                    std::map<Hash128, loops::ScheduleLine> schedules) const {
  Candidate candidate;
  FM_TRY(PlannedModule planned, MakePlan(problem_.module, choices));
  FM_TRY(candidate.tasks, TasksOf(problem_.module, planned.plan));
  candidate.flips = FlippableChoices(problem_.module, planned);
  for (const auto& [place, value] : choices) candidate.flips.emplace(place, !value);
  candidate.config.module_hash = problem_.module_hash;
  candidate.config.plan = std::move(planned.plan);
  for (const Task& task : candidate.tasks) {
    const auto changed = schedules.find(task.id);
    candidate.config.schedules[task.id] =
        changed != schedules.end() ? changed->second
                                   : loops::ScheduleLine{task.klass, task.default_schedule};
  }
  candidate.choices = std::move(choices);
  candidate.schedules = std::move(schedules);
  candidate.text = PrintConfig(candidate.config);
  candidate.id = HashText(candidate.text);
  return candidate;
}

loops::Schedule SearchSpace::ScheduleOf(const Candidate& from, const Schedules& changed,
                                        const Hash128& task) {
  const auto it = changed.find(task);
  return it != changed.end() ? it->second.schedule : from.config.schedules.at(task).schedule;
}

std::vector<int64_t> SearchSpace::ValuesOf(const loops::Knob& knob) const {
  std::vector<int64_t> values(knob.domain.begin(), knob.domain.end());
  // 0 is the native width.
  if (Sets(knob, &loops::Schedule::vector_bytes)) std::erase(values, target_.vector_bytes);
  if (Sets(knob, &loops::Schedule::parallel_grain) && target_.threads < 2) values.clear();
  return values;
}

std::vector<SearchSpace::Decision> SearchSpace::Decisions(const Candidate& from,
                                                          const Schedules& changed) const {
  std::vector<Decision> decisions;
  for (const auto& [choice, value] : from.flips) {
    Decision decision;
    decision.choice = choice;
    decisions.push_back(decision);
  }
  for (const Task& task : from.tasks) {
    const bool by_library = task.library && ScheduleOf(from, changed, task.id).use_library;
    for (const loops::Knob* knob : loops::KnobsOf(task.klass, limit_)) {
      // A library kernel has no other knob, and without one the question does not arise.
      const bool selects_library = Sets(*knob, &loops::Schedule::use_library);
      if (selects_library ? !task.library : by_library) continue;
      std::vector<int64_t> values = ValuesOf(*knob);
      if (values.size() < 2) continue;
      decisions.push_back({{}, task.id, knob, task.klass, std::move(values)});
    }
  }
  return decisions;
}

double SearchSpace::log2_size() const {
  double bits = static_cast<double>(default_.flips.size());
  for (const Decision& decision : Decisions(default_, {})) {
    if (decision.knob != nullptr) bits += std::log2(decision.values.size());
  }
  return bits;
}

std::map<std::string, std::string> SearchSpace::Differences(const Candidate& candidate) const {
  constexpr size_t kDigits = 12;
  std::map<std::string, std::string> differences;
  for (const auto& [choice, materialise] : candidate.choices) {
    const Computation& computation = problem_.module.computations[choice.first];
    differences["plan." + computation.name + "." + computation.instrs[choice.second].name] =
        materialise ? "kernel" : "inline";
  }
  for (const Task& task : candidate.tasks) {
    const auto changed = candidate.schedules.find(task.id);
    if (changed == candidate.schedules.end()) continue;
    for (const loops::Knob* knob : loops::KnobsOf(task.klass, loops::Numerics::kApproximates)) {
      const int64_t value = knob->Get(changed->second.schedule);
      if (value == knob->Get(task.default_schedule)) continue;
      differences[ToHex(task.id).substr(0, kDigits) + "." + std::string(knob->name)] =
          std::to_string(value);
    }
  }
  return differences;
}

Result<Candidate> SearchSpace::Mutate(const Candidate& from, int changes, Random& random) const {
  const size_t choices = from.flips.size();
  PlanChoices plan = from.choices;
  Schedules schedules = from.schedules;
  for (int change = 0; change < changes; ++change) {
    // Anew each time: own code in place of the library's opens its knobs.
    const std::vector<Decision> decisions = Decisions(from, schedules);
    if (decisions.empty()) return from;
    const bool only_choices = choices == decisions.size();
    const bool of_plan = choices > 0 && (only_choices || random.Below(kPlanShare) == 0);
    if (of_plan) {
      const auto& choice = decisions[random.Below(choices)].choice;
      // A choice made before is taken back, so that the planner's own opinion returns.
      if (plan.erase(choice) == 0) plan[choice] = from.flips.at(choice);
      continue;
    }
    const Decision& decision = decisions[choices + random.Below(decisions.size() - choices)];
    loops::Schedule schedule = ScheduleOf(from, schedules, decision.task);
    const std::vector<int64_t>& values = decision.values;
    // Drawn from the other values: position of the present one, moved on.
    const auto present = static_cast<uint64_t>(
        std::find(values.begin(), values.end(), decision.knob->Get(schedule)) - values.begin());
    const uint64_t next = (present + 1 + random.Below(values.size() - 1)) % values.size();
    decision.knob->Set(schedule, values[next]);
    schedules[decision.task] = {decision.klass, schedule};
  }
  return Make(std::move(plan), std::move(schedules));
}

}  // namespace fusemark
