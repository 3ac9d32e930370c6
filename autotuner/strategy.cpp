#include "autotuner/strategy.h"

#include <algorithm>
#include <iterator>

namespace fusemark {
namespace {

constexpr StrategyInfo kStrategies[] = {
    {"random", "a few decisions of the default drawn anew, each time independently",
     MakeRandomSearch},
    {"climb", "each yes-or-no question by itself, what helped together, then steps from the best",
     MakeHillClimb},
};

}  // namespace

std::span<const StrategyInfo> Strategies() {
  return kStrategies;
}

std::unique_ptr<Strategy> MakeStrategy(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kStrategies), std::end(kStrategies),
                   [&](const StrategyInfo& info) { return info.name == name; });
  return found == std::end(kStrategies) ? nullptr : found->make();
}

}  // namespace fusemark
