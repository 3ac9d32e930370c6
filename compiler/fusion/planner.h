// Makes plans: which instructions share a kernel. Legality (what the lowerings accept, what must be
// materialised) is separate from profit (recompute against memory traffic): choices override
// profit, never legality, so the tuner can explore any plan this file can build and every plan it
// builds is correct.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/fusion/plan.h"
#include "compiler/loops/lower.h"

namespace fusemark {

// Why an instruction is a kernel of its own rather than part of its consumer's (or the other way
// round).
enum class Placement : uint8_t {
  kStructural,  // parameter, constant, tuple, control flow
  kInlined,     // computed inside its consumers
  kOutput,      // materialised: result of the computation or read by control flow
  kAnchor,  // materialised: contraction, reduction or update; other instructions gather around it
  kMemory,  // materialised: a library call or an update reads it
  kShared,  // materialised: several kernels read it and it costs more than a load to recompute
  kRecompute,  // materialised: its consumers would compute it several times per element
  kFull,       // materialised: its consumer's kernel holds as many instructions as it may
  kChosen,     // materialised or inlined because a choice said so
  kInGroup,    // part of a row kernel, of attention or of a contraction with its epilogue
};
std::string_view PlacementText(Placement placement);

// Overrides by (computation, instruction): true = materialise, false = inline where legal. For the
// first reduce of a row kernel and the dot of an epilogue, `true` takes the kernel apart.
using PlanChoices = std::map<std::pair<uint32_t, uint32_t>, bool>;

struct PlannedModule {
  Plan plan;
  std::vector<std::vector<Placement>> placement;  // by computation and instruction
};

// Plans every computation that runs as a whole: the entry, loop conditions and bodies, branches.
// kUnsupported names an instruction that no lowering takes.
Result<PlannedModule> MakePlan(const Module& module, const PlanChoices& choices = {});

// The overrides worth trying: instructions whose placement is a question of profit.
PlanChoices FlippableChoices(const Module& module, const PlannedModule& planned);

// A plan from outside (database, file): every needed instruction has a place, kernels come in a
// possible order and the lowerings take them. kInvalidInput says what is wrong.
Result<void> CheckPlan(const Module& module, const Plan& plan);

// Computations that run as a whole, in module order.
std::vector<ComputationId> WholeComputations(const Module& module);

// Handled by the host program, not by a kernel.
bool IsStructural(Op op);

// A kernel that only reshapes a value in memory is none: the value is read under its other shape.
// Not where the host program hands it on, which owns its memory. `users` as of Users().
bool IsView(const Computation& computation, const KernelPlan& kernel,
            const std::vector<std::vector<InstrId>>& users);

}  // namespace fusemark
