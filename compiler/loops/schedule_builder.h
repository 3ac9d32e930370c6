// A schedule in the making: loop primitives are tried on a copy of the kernel one after the other,
// and those that are legal there are kept. Every step returns whether it was done. Here are the
// steps and idioms that the kernel classes (schedule_cpu.cpp) and products (schedule_product.cpp)
// share; what to do with them is decided there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/loops/primitives.h"
#include "compiler/loops/schedule.h"

namespace fusemark::loops {

// Bodies times unrolled iterations beyond this make the code grow for nothing.
inline constexpr int64_t kUnrolledStatements = 96;

int64_t StatementsIn(const Block& block);

class ScheduleBuilder {
 public:
  // `lasting`: see ScheduleToPrimitives() in schedule_cpu.h. The references have to outlive this.
  ScheduleBuilder(const Kernel& kernel, const Schedule& schedule, const Target& target,
                  const std::vector<bool>& lasting)
      : kernel_(kernel), schedule_(schedule), target_(target), lasting_(lasting) {}

  // As the steps so far have made it. Every step replaces it: references into it do not last.
  const Kernel& kernel() const { return kernel_; }
  const Schedule& schedule() const { return schedule_; }
  const Target& target() const { return target_; }
  std::vector<Primitive> Take() && { return std::move(list_); }

  // ---- steps ----
  bool Try(Primitive primitive) { return Keep(std::move(primitive), false); }
  // Also refused when the proof fails: concurrent iterations that write one element.
  bool TryVerified(Primitive primitive) { return Keep(std::move(primitive), true); }
  // Steps of which all apply, or none: false takes back what was done.
  template <class Steps>
  bool AllOrNothing(const Steps& steps) {
    const Kernel before = kernel_;
    const size_t applied = list_.size();
    if (steps()) return true;
    kernel_ = before;
    list_.resize(applied);
    return false;
  }
  bool Tile(const std::string& loop, int64_t factor, const std::string& outer,
            const std::string& inner);
  bool Reorder(const std::string& outer, const std::string& inner);
  bool Unroll(const std::string& loop);
  bool Vectorise(const std::string& loop);
  bool DistributeOnce(const std::string& loop);
  // Past every reduction that stands inside, one after the other.
  bool Distribute(const std::string& loop);
  // The sums of `loop` go to places of their own, `lanes` side by side: loop + "s" fills them, loop
  // + "l" adds them up.
  bool Privatise(const std::string& loop, int64_t lanes = 1);
  // Copies what `loop` needs of the operand, in runs of `run`, with vectors along the columns.
  bool Pack(const std::string& operand, const std::string& loop, int64_t run);

  // ---- idioms ----
  // The innermost loop after all contiguous neighbours joined it.
  std::string FuseInner(const std::vector<std::string>& loops, const std::string& prefix = "f");
  // The same where no neighbour joined: buffers are dense, so the loops may walk them as arrays of
  // one dimension.
  std::string FuseFlat(const std::vector<std::string>& loops, const std::string& prefix);
  // inner -> io { iu unroll { iv vector } }
  bool VectorLoop(const std::string& inner);
  // The loop of a register tile over columns, its name ending in a letter of its own: unrolled into
  // `vectors`.
  bool VectoriseTile(const std::string& loop, int64_t vectors, int64_t lanes);

  // ---- the nest ----
  // Names of LoopChain().
  std::vector<std::string> Chain(char prefix) const;
  std::vector<const Stmt*> LoopsNamed(const std::string& name) const;
  int64_t LargestExtent(const std::string& name) const;
  // Names of loops with this prefix that hold no other loop, wherever they stand.
  std::set<std::string> Innermost(char prefix) const;
  // Does the operand keep its values from run to run?
  bool Lasts(BufferId operand) const;

  // SIMD lanes for the widest element that the kernel's buffers hold.
  int64_t Lanes() const;
  // In bytes; at least 4: narrow floats are computed in f32.
  int64_t WidestElement() const;

 private:
  bool Keep(Primitive primitive, bool verified);
  bool FuseIfContiguous(const std::string& a, const std::string& b, const std::string& name);
  int64_t DefaultBytes() const;
  std::vector<std::string> CopiesIn(const std::string& loop) const;

  Kernel kernel_;
  const Schedule& schedule_;
  const Target& target_;
  const std::vector<bool>& lasting_;
  std::vector<Primitive> list_;
};

}  // namespace fusemark::loops
