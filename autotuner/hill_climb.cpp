// Hill climbing: first every yes-or-no question by itself, then all answers that helped together,
// then small steps from the best so far, with restarts.
#include <algorithm>
#include <cmath>
#include <map>

#include "autotuner/strategy.h"

namespace fusemark {
namespace {

// One proposal in so many starts again from the default.
constexpr uint64_t kRestart = 8;
constexpr int kMaxChanges = 4;
// An answer helped if it brought at least so much.
constexpr double kHelped = 0.995;

class HillClimb final : public Strategy {
 public:
  Result<Candidate> Propose(const SearchSpace& space, std::span<const Evaluated> history,
                            Random& random) override {
    if (asked_.size() < space.questions()) {
      const size_t question = asked_.size();
      FM_TRY(Candidate candidate, space.Answered({&question, 1}));
      asked_.push_back(candidate.id);
      return candidate;
    }
    if (!combined_) {
      combined_ = true;
      return space.Answered(Helpful(history));
    }
    const auto time = [](const Evaluated& one) { return one.ratio.value_or(HUGE_VAL); };
    const auto best =
        std::min_element(history.begin(), history.end(),
                         [&](const Evaluated& a, const Evaluated& b) { return time(a) < time(b); });
    int changes = 1;
    while (changes < kMaxChanges && random.Below(2) == 0) ++changes;
    const bool restart = best == history.end() || random.Below(kRestart) == 0;
    return space.Mutate(restart ? space.Default() : best->candidate, changes, random);
  }

 private:
  std::vector<size_t> Helpful(std::span<const Evaluated> history) const {
    std::map<Hash128, double> ratios;
    for (const Evaluated& one : history) {
      if (one.ratio) ratios[one.candidate.id] = *one.ratio;
    }
    std::vector<size_t> helpful;
    for (size_t question = 0; question < asked_.size(); ++question) {
      const auto ratio = ratios.find(asked_[question]);
      if (ratio != ratios.end() && ratio->second < kHelped) helpful.push_back(question);
    }
    return helpful;
  }

  std::vector<Hash128> asked_;  // ids of the candidates, by question
  bool combined_ = false;
};

}  // namespace

std::unique_ptr<Strategy> MakeHillClimb() {
  return std::make_unique<HillClimb>();
}

}  // namespace fusemark
