#include "tests/fuzz/shrink.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/rewrite.h"
#include "compiler/ir/verify.h"
#include "tests/fuzz/judge.h"

namespace fusemark {
namespace {

// Which instruction an edit is about.
struct Place {
  uint32_t computation, instr;
};

// Drops parameters of the entry that nothing reads, with their inputs.
void DropUnusedParameters(FuzzCase& fuzz_case) {
  Computation& entry = fuzz_case.module.Entry();
  std::vector<bool> used(entry.instrs.size(), false);
  used[entry.root.index] = true;
  for (const Instr& instr : entry.instrs)
    for (const InstrId operand : instr.operands) used[operand.index] = true;
  std::vector<uint32_t> renumber(entry.instrs.size());
  std::vector<Instr> instrs;
  std::vector<InstrId> parameters;
  std::vector<Tensor> inputs;
  size_t leaf = 0;
  std::vector<std::vector<Tensor>> by_parameter;
  for (const InstrId id : entry.parameters) {
    by_parameter.emplace_back();
    for (int64_t i = LeafCount(entry[id].shape); i > 0; --i)
      by_parameter.back().push_back(std::move(fuzz_case.inputs[leaf++]));
  }
  for (size_t i = 0; i < entry.instrs.size(); ++i) {
    Instr& instr = entry.instrs[i];
    renumber[i] = static_cast<uint32_t>(instrs.size());
    if (instr.op == Op::kParameter && !used[i]) continue;
    for (InstrId& operand : instr.operands) operand.index = renumber[operand.index];
    instrs.push_back(std::move(instr));
  }
  entry.root.index = renumber[entry.root.index];
  entry.instrs = std::move(instrs);
  for (size_t old = 0; old < entry.parameters.size(); ++old) {
    if (!used[entry.parameters[old].index]) continue;
    const InstrId id{renumber[entry.parameters[old].index]};
    entry[id].As<ParameterAttrs>().number = static_cast<int64_t>(parameters.size());
    parameters.push_back(id);
    for (Tensor& tensor : by_parameter[old]) inputs.push_back(std::move(tensor));
  }
  entry.parameters = std::move(parameters);
  fuzz_case.inputs = std::move(inputs);
}

// Removes what is dead and checks that the case is still one.
std::optional<FuzzCase> Cleaned(FuzzCase fuzz_case) {
  Module& module = fuzz_case.module;
  module.entry_layout.reset();
  module.aliases.clear();
  RewriteModule(module,
                [](Builder& builder, Instr&& instr) { return builder.Keep(std::move(instr)); });
  DropUnusedParameters(fuzz_case);
  CollectComputations(module);
  if (!VerifyModule(module).ok()) return std::nullopt;
  return fuzz_case;
}

// Another instruction of a computation becomes its root.
std::optional<FuzzCase> WithRoot(const FuzzCase& from, InstrId root) {
  FuzzCase edited = CopyCase(from);
  edited.module.Entry().root = root;
  return Cleaned(std::move(edited));
}

std::optional<FuzzCase> WithOneResult(const FuzzCase& from, size_t keep_or_drop, bool keep) {
  FuzzCase edited = CopyCase(from);
  Computation& entry = edited.module.Entry();
  Instr root = entry.Root();
  std::vector<InstrId> kept;
  for (size_t i = 0; i < root.operands.size(); ++i)
    if ((i == keep_or_drop) == keep) kept.push_back(root.operands[i]);
  root.operands = kept;
  std::vector<Shape> shapes;
  for (const InstrId id : kept) shapes.push_back(entry[id].shape);
  root.shape = TupleShape(std::move(shapes));
  root.name = "result";
  entry.instrs.push_back(std::move(root));
  entry.root = {static_cast<uint32_t>(entry.instrs.size() - 1)};
  return Cleaned(std::move(edited));
}

// Replaces one instruction by what `make` emits.
std::optional<FuzzCase> Replaced(const FuzzCase& from, Place place,
                                 const std::function<InstrId(Builder&, Instr&&)>& make) {
  FuzzCase edited = CopyCase(from);
  Module& module = edited.module;
  const Effects effects = FindEffects(module);
  const std::string name = module.computations[place.computation].instrs[place.instr].name;
  Rewrite(module.computations[place.computation], effects, [&](Builder& builder, Instr&& instr) {
    return instr.name == name ? make(builder, std::move(instr)) : builder.Keep(std::move(instr));
  });
  return Cleaned(std::move(edited));
}

std::optional<std::vector<Tensor>> ValueOf(const FuzzCase& from, InstrId id) {
  Module module = from.module;
  module.Entry().root = id;
  module.entry_layout.reset();
  module.aliases.clear();
  auto value = EvaluateTensors(module, from.inputs);
  if (!value.ok()) return std::nullopt;
  return std::move(*value);
}

std::optional<FuzzCase> AsParameter(const FuzzCase& from, Place place) {
  const Computation& entry = from.module.Entry();
  const Shape shape = entry[{place.instr}].shape;
  if (!shape.is_array()) return std::nullopt;
  auto value = ValueOf(from, {place.instr});
  if (!value) return std::nullopt;
  FuzzCase grown = CopyCase(from);
  grown.inputs.push_back(std::move((*value)[0]));
  const auto number = static_cast<int64_t>(entry.parameters.size());
  return Replaced(grown, place, [&](Builder& builder, Instr&& instr) {
    Instr parameter;
    parameter.op = Op::kParameter;
    parameter.shape = shape;
    parameter.name = "v." + instr.name;
    parameter.attrs = ParameterAttrs{number};
    return builder.Emit(std::move(parameter));
  });
}

std::optional<FuzzCase> AsConstant(const FuzzCase& from, Place place) {
  const Computation& computation = from.module.computations[place.computation];
  const Shape shape = computation[{place.instr}].shape;
  if (!shape.is_array() || place.computation != from.module.entry.index) return std::nullopt;
  auto value = ValueOf(from, {place.instr});
  if (!value) return std::nullopt;
  const auto* bytes = (*value)[0].data.get();
  const Literal literal =
      MakeLiteral(ArrayShape(shape.dtype, shape.dims),
                  std::vector<std::byte>(bytes, bytes + (*value)[0].size_bytes()));
  // The rewriter does not offer parameters: their users read the constant instead.
  FuzzCase edited = CopyCase(from);
  const Effects effects = FindEffects(edited.module);
  const std::string name = computation[{place.instr}].name;
  Rewrite(edited.module.Entry(), effects, [&](Builder& builder, Instr&& instr) {
    for (InstrId& operand : instr.operands)
      if (builder[operand].name == name) operand = builder.Constant(literal);
    return builder.Keep(std::move(instr));
  });
  return Cleaned(std::move(edited));
}

std::optional<FuzzCase> AsZero(const FuzzCase& from, Place place) {
  return Replaced(from, place, [&](Builder& builder, Instr&& instr) {
    if (!instr.shape.is_array() || IsComplex(instr.shape.dtype))
      return builder.Keep(std::move(instr));
    const InstrId zero = builder.Constant(ScalarLiteralOf(instr.shape.dtype, 0));
    return builder.Broadcast(zero, instr.shape.dims, {});
  });
}

// The body of a loop once, one branch, or the callee in place.
std::optional<FuzzCase> Inlined(const FuzzCase& from, Place place, size_t branch) {
  return Replaced(from, place, [&](Builder& builder, Instr&& instr) {
    std::vector<InstrId> arguments = instr.operands;
    if (instr.op == Op::kConditional) arguments = {instr.operands[branch + 1]};
    const Computation& callee = from.module[instr.called[branch]];
    return builder.Inline(callee, arguments);
  });
}

class Shrinker {
 public:
  Shrinker(FuzzCase fuzz_case, const StillFails& still_fails, int checks)
      : best_(std::move(fuzz_case)), still_fails_(still_fails), checks_(checks) {}

  FuzzCase Run() {
    bool better = true;
    while (better && checks_ > 0) better = Results() || Roots() || Values();
    Constants();
    return std::move(best_);
  }

 private:
  bool Try(std::optional<FuzzCase> edited) {
    if (!edited || checks_ <= 0 || edited->module == best_.module) return false;
    --checks_;
    if (!still_fails_(*edited)) return false;
    best_ = std::move(*edited);
    return true;
  }

  bool Results() {
    const Computation& entry = best_.module.Entry();
    if (entry.Root().op != Op::kTuple) return false;
    const std::vector<InstrId> results = entry.Root().operands;
    for (const InstrId id : results)
      if (Try(WithRoot(best_, id))) return true;
    for (size_t i = 0; results.size() > 1 && i < results.size(); ++i)
      if (Try(WithOneResult(best_, i, true)) || Try(WithOneResult(best_, i, false))) return true;
    return false;
  }

  bool Roots() {
    const Computation& entry = best_.module.Entry();
    const std::vector<InstrId> operands = entry.Root().operands;
    for (const InstrId id : operands) {
      if (entry[id].op != Op::kParameter && Try(WithRoot(best_, id))) return true;
    }
    return false;
  }

  bool Operands(Place place) {
    const Instr instr = best_.module.computations[place.computation].instrs[place.instr];
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      const auto& computation = best_.module.computations[place.computation];
      if (!SameType(computation[instr.operands[i]].shape, instr.shape)) continue;
      if (Try(Replaced(best_, place,
                       [i](Builder&, Instr&& replaced) { return replaced.operands[i]; })))
        return true;
    }
    return false;
  }

  bool Values() {
    for (auto c = static_cast<uint32_t>(best_.module.computations.size()); c-- > 0;) {
      const bool is_entry = c == best_.module.entry.index;
      for (auto i = static_cast<uint32_t>(best_.module.computations[c].instrs.size()); i-- > 0;) {
        const Instr instr = best_.module.computations[c].instrs[i];
        const Place place{c, i};
        if (instr.op == Op::kParameter || instr.op == Op::kConstant) continue;
        if (is_entry && InstrId{i} != best_.module.Entry().root && Try(AsParameter(best_, place)))
          return true;
        if (Operands(place)) return true;
        const bool broadcast_zero = instr.op == Op::kBroadcast;
        if (!is_entry && !broadcast_zero && Try(AsZero(best_, place))) return true;
        const bool whole =
            instr.op == Op::kCall || instr.op == Op::kWhile || instr.op == Op::kConditional;
        for (size_t branch = 0; whole && branch < instr.called.size(); ++branch)
          if (Try(Inlined(best_, place, branch))) return true;
      }
    }
    return false;
  }

  void Constants() {
    for (size_t i = best_.module.Entry().parameters.size(); i-- > 0;) {
      const Computation& entry = best_.module.Entry();
      if (i < entry.parameters.size())
        Try(AsConstant(best_, {best_.module.entry.index, entry.parameters[i].index}));
    }
  }

  FuzzCase best_;
  const StillFails& still_fails_;
  int checks_;
};

}  // namespace

FuzzCase Shrink(FuzzCase fuzz_case, const StillFails& still_fails, int most_checks) {
  return Shrinker(std::move(fuzz_case), still_fails, most_checks).Run();
}

}  // namespace fusemark
