#include "compiler/passes/expand_numerics.h"

#include <cstring>
#include <string>

#include "compiler/ir/random.h"
#include "compiler/passes/passes.h"

namespace fusemark {
namespace {

class Expander {
 public:
  explicit Expander(Module& module)
      : module_(module), effects_(FindEffects(module)), regions_(module) {}

  Result<bool> Run() {
    FM_RETURN_IF_ERROR(CheckRandomStates());
    const auto count = static_cast<uint32_t>(module_.computations.size());
    for (uint32_t c = 0; c < count; ++c) {
      if (!Concerns(module_.computations[c])) continue;
      changed_ = true;
      const std::string name = module_.computations[c].name;
      Rewrite(module_.computations[c], effects_, [&](Builder& builder, Instr&& instr) {
        Emitter emit(builder);
        const std::optional<InstrId> expanded = Expand({emit, regions_, effects_}, name, instr);
        return expanded ? *expanded : builder.Keep(std::move(instr));
      });
    }
    regions_.AppendTo(module_);
    if (changed_) CollectComputations(module_);
    return changed_;
  }

 private:
  // An instruction whose types Expand knows.
  bool IsExpanded(const Computation& computation, const Instr& instr) const {
    const auto operand = [&](size_t i) -> const Shape& {
      return computation[instr.operands[i]].shape;
    };
    switch (instr.op) {
      case Op::kScan: return instr.shape.dynamic_dims == 0;
      case Op::kCholesky:
      case Op::kTriangularSolve:
      case Op::kFft: return instr.shape.dynamic_dims == 0 && operand(0).dynamic_dims == 0;
      case Op::kRng: return IsSupportedRng(instr);
      case Op::kRngBitGenerator: return AlgorithmOf(instr, operand(0)).has_value();
      case Op::kRngGetAndUpdateState: return IsRandomState(instr);
      default: return false;
    }
  }
  bool Concerns(const Computation& computation) const {
    for (const Instr& instr : computation.instrs) {
      if (IsExpanded(computation, instr)) return true;
    }
    return false;
  }

  // The state is a constant where the instruction runs exactly once.
  Result<void> CheckRandomStates() const {
    for (uint32_t c = 0; c < module_.computations.size(); ++c) {
      if (c == module_.entry.index) continue;
      const Computation& computation = module_.computations[c];
      for (const Instr& instr : computation.instrs) {
        if (instr.op != Op::kRngGetAndUpdateState) continue;
        return Unsupported(
            "rng-get-and-update-state %" + instr.name + " in %" + computation.name +
                ": compiled programs keep no state between instructions, so it is supported in "
                "the entry computation only, where its value is known; pass the state along as "
                "a value and use rng-bit-generator",
            instr.loc);
      }
    }
    return Ok();
  }

  std::optional<InstrId> Expand(const ExpandContext& context, const std::string& computation,
                                const Instr& instr) {
    switch (instr.op) {
      case Op::kCholesky: return ExpandCholesky(context, instr);
      case Op::kTriangularSolve: return ExpandTriangularSolve(context, instr);
      case Op::kFft: return ExpandFft(context, instr);
      case Op::kRngBitGenerator: return ExpandRngBitGenerator(context, instr);
      case Op::kRng: return ExpandRng(context, instr, SeedOf(computation, instr.name));
      case Op::kRngGetAndUpdateState: return RandomState(context, instr);
      case Op::kScan: {
        const Computation& region = module_[instr.called[0]];
        const Shape& first = context.emit.shape(instr.operands[0]);
        return ExpandScan(context, instr, region, FormOfScan(region, instr, first));
      }
      default: return std::nullopt;
    }
  }

  std::optional<InstrId> RandomState(const ExpandContext& context, const Instr& instr) {
    if (!IsRandomState(instr)) return std::nullopt;
    std::vector<std::byte> bytes(sizeof random_state_);
    std::memcpy(bytes.data(), random_state_, sizeof random_state_);
    const auto delta = static_cast<uint64_t>(instr.As<RngAttrs>().delta);
    random_state_[0] += delta;
    if (random_state_[0] < delta) ++random_state_[1];
    return context.emit.builder().Constant(
        MakeLiteral(ArrayShape(DType::kU64, {2}), std::move(bytes)));
  }

  Module& module_;
  const Effects effects_;
  NewRegions regions_;
  uint64_t random_state_[2] = {0, 0};  // low word first
  bool changed_ = false;
};

}  // namespace

Result<bool> ExpandNumerics(Module& module, const PassContext&) {
  return Expander(module).Run();
}

}  // namespace fusemark
