#include "compiler/text/printer.h"

#include "compiler/support/strings.h"
#include "compiler/text/print_literal.h"

namespace fusemark {

void Printer::PrintAll() {
  Header();
  for (uint32_t c = 0; c < module_.computations.size(); ++c) {
    text_ += '\n';
    if (ComputationId{c} == module_.entry) text_ += "ENTRY ";
    ComputationName({c});
    text_ += " {\n";
    Body(module_.computations[c]);
    text_ += "}\n";
  }
}

void Printer::Header() {
  text_ += "HloModule ";
  text_ += options_.canonical_names ? "m" : module_.name;
  for (const auto& [name, value] : module_.extra) text_ += ", " + name + "=" + value;
  if (!module_.aliases.empty()) {
    text_ += ", input_output_alias={";
    for (size_t i = 0; i < module_.aliases.size(); ++i) {
      const Alias& alias = module_.aliases[i];
      if (i != 0) text_ += ", ";
      text_ += "{" + JoinInts(alias.output_index) + "}: (" + std::to_string(alias.parameter) +
               ", {" + JoinInts(alias.parameter_index) + "}, " +
               (alias.must ? "must-alias" : "may-alias") + ")";
    }
    text_ += '}';
  }
  if (module_.entry_layout) {
    text_ += ", entry_computation_layout={(";
    for (size_t i = 0; i < module_.entry_layout->parameters.size(); ++i) {
      if (i != 0) text_ += ", ";
      text_ += ToString(module_.entry_layout->parameters[i], true);
    }
    text_ += ")->" + ToString(module_.entry_layout->result, true) + "}";
  }
  text_ += '\n';
}

void Printer::Body(const Computation& computation) {
  for (uint32_t i = 0; i < computation.instrs.size(); ++i) {
    text_ += "  ";
    PrintOne(computation, {i});
    text_ += '\n';
  }
}

void Printer::PrintOne(const Computation& computation, InstrId id) {
  const Instr& instr = computation[id];
  if (computation.root == id) text_ += "ROOT ";
  InstrName(computation, id);
  text_ += " = " + ToString(instr.shape, true) + ' ';
  text_ += OpName(instr.op);
  text_ += '(';
  if (instr.op == Op::kParameter) {
    text_ += std::to_string(instr.As<ParameterAttrs>().number);
  } else if (instr.op == Op::kConstant) {
    const auto& constant = instr.As<ConstantAttrs>();
    if (constant.elided) {
      text_ += "{...}";
    } else {
      AppendLiteral(constant.literal, options_.elide_large_constants, text_);
    }
  } else {
    Operands(computation, instr);
  }
  text_ += ')';
  AppendAttributes(instr, text_);
  Called(computation, instr);
  for (const auto& [name, value] : instr.extra) text_ += ", " + name + '=' + value;
}

void Printer::InstrName(const Computation& computation, InstrId id) {
  text_ += '%';
  text_ += options_.canonical_names ? std::to_string(id.index) : computation[id].name;
}

void Printer::ComputationName(ComputationId id) {
  text_ += '%';
  text_ += options_.canonical_names ? "c" + std::to_string(id.index) : module_[id].name;
}

void Printer::Operands(const Computation& computation, const Instr& instr) {
  for (size_t i = 0; i < instr.operands.size(); ++i) {
    if (i != 0) text_ += ", ";
    InstrName(computation, instr.operands[i]);
  }
}

void Printer::CalledOne(std::string_view name, const Instr& instr, size_t index) {
  text_ += ", ";
  text_ += name;
  text_ += '=';
  ComputationName(instr.called[index]);
}

void Printer::CalledList(std::string_view name, const Instr& instr) {
  text_ += ", ";
  text_ += name;
  text_ += "={";
  for (size_t i = 0; i < instr.called.size(); ++i) {
    if (i != 0) text_ += ", ";
    ComputationName(instr.called[i]);
  }
  text_ += '}';
}

void Printer::Called(const Computation& computation, const Instr& instr) {
  if (instr.called.empty()) return;
  switch (instr.op) {
    case Op::kWhile:
      CalledOne("condition", instr, 0);
      CalledOne("body", instr, 1);
      return;
    case Op::kSelectAndScatter:
      CalledOne("select", instr, 0);
      CalledOne("scatter", instr, 1);
      return;
    case Op::kConditional:
      if (computation[instr.operands[0]].shape.dtype == DType::kPred) {
        CalledOne("true_computation", instr, 0);
        CalledOne("false_computation", instr, 1);
      } else {
        CalledList("branch_computations", instr);
      }
      return;
    case Op::kFusion:
    case Op::kAsyncStart: CalledOne("calls", instr, 0); return;
    case Op::kCustomCall: CalledList("called_computations", instr); return;
    default: CalledOne("to_apply", instr, 0); return;
  }
}

std::string PrintModule(const Module& module, const PrintOptions& options) {
  Printer printer(module, options);
  printer.PrintAll();
  return printer.Take();
}

std::string PrintInstr(const Module& module, const Computation& computation, InstrId id) {
  PrintOptions options;
  options.elide_large_constants = true;
  Printer printer(module, options);
  printer.PrintOne(computation, id);
  return printer.Take();
}

}  // namespace fusemark
