// Random search: independent of what was found, so its result is an honest base line for every
// other strategy.
#include "autotuner/strategy.h"

namespace fusemark {
namespace {

constexpr int kMaxChanges = 16;

class RandomSearch final : public Strategy {
 public:
  // 1, 2, 4 ... 16 decisions, each number half as often as the one before: single changes tell what
  // helps, many at once reach the far corners.
  Result<Candidate> Propose(const SearchSpace& space, std::span<const Evaluated>,
                            Random& random) override {
    int changes = 1;
    while (changes < kMaxChanges && random.Below(2) == 0) changes *= 2;
    return space.Mutate(space.Default(), changes, random);
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeRandomSearch() {
  return std::make_unique<RandomSearch>();
}

}  // namespace fusemark
