#include "compiler/ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/infer.h"
#include "compiler/support/name_table.h"

namespace fusemark {
namespace {

// "12:3: add %r: ...": the place first, if the instruction came from a text.
Error WithPlace(Error error) {
  if (error.where.line != 0) {
    error.message = fmt::format("{}:{}: {}", error.where.line, error.where.column, error.message);
  }
  return error;
}

std::string PlaceText(const Instr& instr) {
  if (instr.loc.line == 0) return "";
  return fmt::format(" at {}:{}", instr.loc.line, instr.loc.column);
}

// A layout lists every dim once; an empty list (only a suffix) stands for descending.
Result<void> CheckShape(const InferContext& context, const Shape& shape) {
  for (const Shape& element : shape.elements) FM_RETURN_IF_ERROR(CheckShape(context, element));
  if (!shape.layout || shape.layout->minor_to_major.empty()) return Ok();
  if (static_cast<int64_t>(shape.layout->minor_to_major.size()) != shape.rank()) {
    return context.Fail(fmt::format("the layout of {} has {} entries, expected {}",
                                    ToString(shape, true), shape.layout->minor_to_major.size(),
                                    shape.rank()));
  }
  return context.ExpectDims("the layout", shape.layout->minor_to_major, shape.rank());
}

bool HasUnboundedDim(const Shape& shape) {
  return std::any_of(shape.dims.begin(), shape.dims.end(), [](int64_t dim) { return dim < 0; }) ||
         std::any_of(shape.elements.begin(), shape.elements.end(), HasUnboundedDim);
}

bool LiteralFits(const Literal& literal, const Shape& shape) {
  if (!SameType(literal.shape, shape)) return false;
  if (!shape.is_tuple) return static_cast<int64_t>(literal.bytes().size()) == ByteSizeOf(shape);
  if (literal.elements.size() != shape.elements.size()) return false;
  for (size_t i = 0; i < shape.elements.size(); ++i) {
    if (!LiteralFits(literal.elements[i], shape.elements[i])) return false;
  }
  return true;
}

// The element type of a contraction's result is free; everything else must be what the operands
// give.
bool ResultFits(Op op, const Shape& written, const Shape& inferred) {
  const bool free_type = op == Op::kDot || op == Op::kConvolution;
  return free_type ? written.is_array() && DimsMatch(written, inferred)
                   : Compatible(written, inferred);
}

Result<void> VerifyInstr(const Module& module, const Computation& computation, uint32_t index,
                         uint32_t computation_index) {
  const Instr& instr = computation.instrs[index];
  const InferContext context{module, computation, instr};
  for (InstrId operand : instr.operands) {
    if (operand.index >= index) {
      return context.Fail(fmt::format("operand {} does not precede its user, instruction {}",
                                      operand.index, index));
    }
  }
  for (ComputationId callee : instr.called) {
    if (callee.index >= computation_index) {
      return context.Fail(fmt::format("called computation {} does not precede its caller, {}",
                                      callee.index, computation_index));
    }
  }
  FM_RETURN_IF_ERROR(CheckShape(context, instr.shape));
  if (!HasUnboundedDim(instr.shape) && !CheckedByteSize(instr.shape)) {
    return context.Fail(
        fmt::format("{} takes more bytes than 64 bits can count", ToString(instr.shape)));
  }
  FM_TRY(const std::optional<Shape> inferred, InferShape(module, computation, instr));
  if (inferred && !ResultFits(instr.op, instr.shape, *inferred)) {
    return context.Fail(fmt::format("the result is written as {}, but the operands give {}",
                                    ToString(instr.shape), ToString(*inferred)));
  }
  if (instr.op == Op::kConstant && !instr.As<ConstantAttrs>().elided &&
      !LiteralFits(instr.As<ConstantAttrs>().literal, instr.shape)) {
    return context.Fail(fmt::format("the literal is {}, expected {}",
                                    ToString(instr.As<ConstantAttrs>().literal.shape),
                                    ToString(instr.shape)));
  }
  return Ok();
}

Result<void> VerifyParameters(const Module& module, const Computation& computation) {
  size_t count = 0;
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (instr.op != Op::kParameter) continue;
    ++count;
    const InferContext context{module, computation, instr};
    const int64_t number = instr.As<ParameterAttrs>().number;
    if (number < 0 || number >= static_cast<int64_t>(computation.parameters.size()) ||
        computation.parameters[static_cast<size_t>(number)] != InstrId{i}) {
      return context.Fail(fmt::format("number {} is not where the parameter list of %{} has it",
                                      number, computation.name));
    }
  }
  if (count == computation.parameters.size()) return Ok();
  return Invalid(fmt::format("%{} lists {} parameters, but has {} parameter instructions",
                             computation.name, computation.parameters.size(), count));
}

Result<void> VerifyNames(const Module& module, const Computation& computation, NameTable& names) {
  names.Clear();
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    const Instr& instr = computation.instrs[i];
    if (!instr.name.empty() && names.Insert(instr.name, i)) continue;
    const InferContext context{module, computation, instr};
    if (instr.name.empty()) return context.Fail("has no name");
    const Instr& earlier = computation.instrs[*names.Lookup(instr.name)];
    return context.Fail(fmt::format("the name is taken in %{}, by {}{}", computation.name,
                                    OpName(earlier.op), PlaceText(earlier)));
  }
  return Ok();
}

Result<void> VerifyComputation(const Module& module, uint32_t index, NameTable& names) {
  const Computation& computation = module.computations[index];
  if (computation.instrs.empty())
    return Invalid(fmt::format("%{} has no instructions", computation.name));
  if (computation.root.index >= computation.instrs.size())
    return Invalid(fmt::format("the root of %{} is out of range", computation.name));
  FM_RETURN_IF_ERROR(VerifyNames(module, computation, names));
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    FM_RETURN_IF_ERROR(VerifyInstr(module, computation, i, index));
  }
  return VerifyParameters(module, computation);
}

Result<void> VerifyEntryLayout(const Module& module) {
  if (!module.entry_layout) return Ok();
  const Computation& entry = module.Entry();
  const EntryLayout& layout = *module.entry_layout;
  if (layout.parameters.size() != entry.parameters.size()) {
    return Invalid(fmt::format("entry_computation_layout has {} parameters, but %{} has {}",
                               layout.parameters.size(), entry.name, entry.parameters.size()));
  }
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    const Instr& parameter = entry[entry.parameters[i]];
    if (!Compatible(layout.parameters[i], parameter.shape)) {
      return Invalid(
          fmt::format("entry_computation_layout has {} as parameter {}, but %{} is {}",
                      ToString(layout.parameters[i]), i, parameter.name, ToString(parameter.shape)),
          parameter.loc);
    }
    FM_RETURN_IF_ERROR(CheckShape({module, entry, parameter}, layout.parameters[i]));
  }
  if (!Compatible(layout.result, entry.Root().shape)) {
    return Invalid(
        fmt::format("entry_computation_layout has {} as result, but the root %{} is {}",
                    ToString(layout.result), entry.Root().name, ToString(entry.Root().shape)),
        entry.Root().loc);
  }
  return CheckShape({module, entry, entry.Root()}, layout.result);
}

// The element of a (nested) tuple; null if the path leaves it.
const Shape* ElementAt(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* at = &shape;
  for (int64_t index : path) {
    if (!at->is_tuple || index < 0 || index >= static_cast<int64_t>(at->elements.size()))
      return nullptr;
    at = &at->elements[static_cast<size_t>(index)];
  }
  return at;
}

Result<void> VerifyAliases(const Module& module) {
  const Computation& entry = module.Entry();
  std::set<std::vector<int64_t>> outputs;
  for (const Alias& alias : module.aliases) {
    const auto text =
        fmt::format("input_output_alias {{{}}}: ({}, {{{}}})", fmt::join(alias.output_index, ","),
                    alias.parameter, fmt::join(alias.parameter_index, ","));
    if (alias.parameter < 0 || alias.parameter >= static_cast<int64_t>(entry.parameters.size())) {
      return Invalid(fmt::format("{} names parameter {}, but %{} has {}", text, alias.parameter,
                                 entry.name, entry.parameters.size()));
    }
    const InstrId parameter = entry.parameters[static_cast<size_t>(alias.parameter)];
    const Shape* output = ElementAt(entry.Root().shape, alias.output_index);
    const Shape* input = ElementAt(entry[parameter].shape, alias.parameter_index);
    if (output == nullptr || input == nullptr) {
      return Invalid(fmt::format("{}: {} has no such element", text,
                                 output == nullptr ? "the result" : "the parameter"));
    }
    if (!Compatible(*output, *input)) {
      return Invalid(fmt::format("{} pairs the output {} with the parameter {}", text,
                                 ToString(*output), ToString(*input)));
    }
    if (!outputs.insert(alias.output_index).second)
      return Invalid(fmt::format("{}: the output is aliased twice", text));
  }
  return Ok();
}

// Everything that follows calls recurses at most this deep; programs stay far below.
constexpr int kDeepestCalls = 2048;

Result<void> VerifyCallDepth(const Module& module) {
  std::vector<int> depth(module.computations.size(), 0);
  for (size_t c = 0; c < module.computations.size(); ++c) {
    for (const Instr& instr : module.computations[c].instrs) {
      for (const ComputationId callee : instr.called)
        depth[c] = std::max(depth[c], depth[callee.index] + 1);
      if (depth[c] <= kDeepestCalls) continue;
      return Invalid(fmt::format("{} %{}: its calls nest deeper than {} computations",
                                 OpName(instr.op), instr.name, kDeepestCalls),
                     instr.loc);
    }
  }
  return Ok();
}

Result<void> VerifyAll(const Module& module) {
  if (module.entry.index >= module.computations.size()) {
    return Invalid("the module has no entry computation");
  }
  NameTable names;
  for (uint32_t i = 0; i < module.computations.size(); ++i) {
    const Computation& computation = module.computations[i];
    if (!names.Insert(computation.name, i))
      return Invalid(fmt::format("two computations are called %{}", computation.name));
  }
  for (uint32_t i = 0; i < module.computations.size(); ++i) {
    FM_RETURN_IF_ERROR(VerifyComputation(module, i, names));
  }
  FM_RETURN_IF_ERROR(VerifyCallDepth(module));
  FM_RETURN_IF_ERROR(VerifyEntryLayout(module));
  return VerifyAliases(module);
}

}  // namespace

Result<void> VerifyModule(const Module& module) {
  auto result = VerifyAll(module);
  if (result.ok()) return Ok();
  return WithPlace(std::move(result).error());
}

}  // namespace fusemark
