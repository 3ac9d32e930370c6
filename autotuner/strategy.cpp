#include "autotuner/strategy.h"

#include <algorithm>
#include <iterator>

namespace fusemark {
namespace {

constexpr StrategyInfo kStrategies[] = {
    {"random", "a few decisions of the default drawn anew, each time independently",
     MakeRandomSearch},
    {"climb", "a few decisions of the best so far drawn anew, now and then of the default",
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
