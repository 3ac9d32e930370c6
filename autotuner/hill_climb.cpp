// Hill climbing with restarts: small steps from the best so far.
#include <algorithm>
#include <cmath>

#include "autotuner/strategy.h"

namespace fusemark {
namespace {

// One proposal in so many starts again from the default.
constexpr uint64_t kRestart = 8;
constexpr int kMaxChanges = 4;

class HillClimb final : public Strategy {
 public:
  Result<Candidate> Propose(const SearchSpace& space, std::span<const Evaluated> history,
                            Random& random) override {
    const auto time = [](const Evaluated& one) { return one.ratio.value_or(HUGE_VAL); };
    const auto best =
        std::min_element(history.begin(), history.end(),
                         [&](const Evaluated& a, const Evaluated& b) { return time(a) < time(b); });
    int changes = 1;
    while (changes < kMaxChanges && random.Below(2) == 0) ++changes;
    const bool restart = best == history.end() || random.Below(kRestart) == 0;
    return space.Mutate(restart ? space.Default() : best->candidate, changes, random);
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeHillClimb() {
  return std::make_unique<HillClimb>();
}

}  // namespace fusemark
