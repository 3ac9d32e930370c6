// How the search goes through the space: a strategy proposes the next candidate from what was tried
// so far. It never measures. The strategies are listed once, in strategy.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "autotuner/search_space.h"

namespace fusemark {

struct Evaluated {
  Candidate candidate;
  std::optional<double> ratio;  // see Trial; none: it failed
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // history[0] is the default. A proposal may repeat an earlier one; the tuner then asks again.
  virtual Result<Candidate> Propose(const SearchSpace& space, std::span<const Evaluated> history,
                                    Random& random) = 0;
};

struct StrategyInfo {
  std::string_view name, description;
  std::unique_ptr<Strategy> (*make)();
};
std::span<const StrategyInfo> Strategies();

// Null for an unknown name.
std::unique_ptr<Strategy> MakeStrategy(std::string_view name);

std::unique_ptr<Strategy> MakeRandomSearch();
std::unique_ptr<Strategy> MakeHillClimb();

}  // namespace fusemark
