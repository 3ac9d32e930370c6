#include "tests/golden/directives.h"

#include "compiler/ir/verify.h"
#include "compiler/text/text.h"

namespace fusemark::golden {
namespace {

// Messages name the text of a case "input".
constexpr std::string_view kSource = "input";

// roundtrip: the canonical text, which must also parse back to the same module.
Result<std::string> RunRoundtrip(const Case& test) {
  FM_TRY(const Module module, ParseModule(test.input, kSource));
  FM_TRY(const Module again, ParseModule(PrintModule(module), "printed"));
  if (!(again == module)) return Error{Code::kWrongResult, "the printed text parses differently"};
  return PrintLikeInput(module);
}

// parse: how much came out, for inputs whose text is of no interest.
Result<std::string> RunParse(const Case& test) {
  FM_TRY(const Module module, ParseModule(test.input, kSource));
  size_t instructions = 0;
  for (const Computation& computation : module.computations)
    instructions += computation.instrs.size();
  return module.name + ": " + std::to_string(module.computations.size()) + " computations, " +
         std::to_string(instructions) + " instructions, entry " + module.Entry().name + "\n";
}

// canonical: the text that names a module independent of its names.
Result<std::string> RunCanonical(const Case& test) {
  FM_TRY(const Module module, ParseModule(test.input, kSource));
  PrintOptions options;
  options.canonical_names = true;
  return PrintModule(module, options);
}

// verify: "ok", or the violation.
Result<std::string> RunVerify(const Case& test) {
  FM_TRY(const Module module, ParseModule(test.input, kSource));
  FM_RETURN_IF_ERROR(VerifyModule(module));
  return std::string("ok\n");
}

constexpr Directive kDirectives[] = {
    {"canonical", RunCanonical}, {"loops", RunLoops},           {"parse", RunParse},
    {"pass", RunPass},           {"pipeline", RunPipelineCase}, {"plan", RunPlan},
    {"roundtrip", RunRoundtrip}, {"verify", RunVerify},
};

}  // namespace

std::string PrintLikeInput(const Module& module) {
  std::string text = PrintModule(module);
  if (module.name != "module_entry" || module.computations.size() != 1) return text;
  const size_t first = text.find("{\n") + 2;
  return text.substr(first, text.rfind('}') - first);
}

const Directive* FindDirective(std::string_view name) {
  for (const Directive& directive : kDirectives) {
    if (directive.name == name) return &directive;
  }
  return nullptr;
}

std::string DirectiveNames() {
  std::string names;
  for (const Directive& directive : kDirectives) {
    if (!names.empty()) names += ", ";
    names += directive.name;
  }
  return names;
}

}  // namespace fusemark::golden
