// Plans one computation (internal to fusion/). Three steps: find groups (a reduction and the
// elementwise work around it over one row; two dots with such rows between them; a contraction and
// its epilogue), place every instruction
// in reverse order (which kernels would compute it, how often, at what cost), and assemble kernels
// in an executable order. A group that the lowering refuses, or that waits for itself through
// another kernel, is dissolved and the computation planned again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "compiler/fusion/planner.h"
#include "compiler/ir/users.h"

namespace fusemark {

// Flags of the instructions from `first` on, as far as a group may reach.
class Marks {
 public:
  Marks(uint32_t first, size_t count)
      : first_(first), bits_(std::min<size_t>(count - first, kReach), false) {}
  bool operator[](InstrId id) const { return (*this)[id.index]; }
  bool operator[](uint32_t index) const {
    return index >= first_ && index < end() && bits_[index - first_];
  }
  void Set(uint32_t index) { bits_[index - first_] = true; }
  uint32_t end() const { return first_ + static_cast<uint32_t>(bits_.size()); }

 private:
  // Groups end near where they begin; without a bound, finding them all would be quadratic.
  static constexpr size_t kReach = 4096;
  uint32_t first_;
  std::vector<bool> bits_;
};

class ComputePlanner {
 public:
  ComputePlanner(const Module& module, ComputationId id, const PlanChoices& choices);

  Result<ComputationPlan> Run();
  const std::vector<Placement>& placement() const { return placement_; }

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;

  // Steps.
  void FindRowGroups();
  void FindAttention();
  void FindEpilogues();
  std::vector<uint32_t> GrowEpilogue(uint32_t contraction) const;
  std::vector<uint32_t> ReadersInTile(uint32_t contraction) const;
  std::vector<uint32_t> GrowRowGroup(uint32_t reduce) const;
  bool JoinsRow(uint32_t index, const Shape& full, const Dims& reduced, const Marks& inside) const;
  void Cost(uint32_t index);
  void PlaceAll();
  void Place(uint32_t index);
  Result<ComputationPlan> Assemble();
  Result<void> LowerGroups(std::vector<KernelPlan>& kernels, bool* dissolved);
  ComputationPlan InOrder(std::vector<KernelPlan> kernels);
  std::vector<std::set<uint32_t>> Needs(const std::vector<KernelPlan>& kernels) const;
  void DissolveCycle(const std::vector<KernelPlan>& kernels,
                     const std::vector<std::vector<uint32_t>>& after);

  // Questions.
  const Instr& At(uint32_t index) const { return computation_.instrs[index]; }
  bool Choice(uint32_t index, bool otherwise) const;
  bool HasChoice(uint32_t index) const;
  bool CanInline(const Instr& instr) const;
  // May the value of `operand_position` be computed inside the kernel that computes `user`?
  bool TakesInline(const Instr& user, size_t operand_position, const Instr& operand) const;
  bool MustMaterialise(uint32_t index, Placement* why) const;
  bool ShouldMaterialise(uint32_t index, Placement* why) const;
  double ArraysRead(uint32_t index) const;
  bool ReadsWhatIsUpdated(uint32_t index, const std::set<uint32_t>& kernels) const;
  bool IsBetterLate(const std::vector<KernelPlan>& kernels, uint32_t update) const;
  void Materialise(uint32_t index, Placement why);

  const Module& module_;
  ComputationId id_;
  const Computation& computation_;
  const PlanChoices& choices_;
  std::vector<std::vector<InstrId>> users_;
  std::vector<bool> live_;
  std::vector<Placement> placement_;
  std::vector<uint32_t> group_;               // named by its first reduce or its contraction
  std::set<uint32_t> attention_;              // names of groups of that kind
  std::set<uint32_t> dissolved_;              // names of groups that were refused
  std::vector<std::vector<uint32_t>> where_;  // kernels (root index or group) that compute it
  std::vector<double> cost_;                  // flops to compute one element where it is inlined
  std::vector<std::vector<uint32_t>> reads_;  // arrays in memory that an inlined value reads
  std::vector<size_t> members_;               // instructions inlined so far, by kernel
  std::vector<double> copies_;                // times one element is computed per kernel element
};

}  // namespace fusemark
