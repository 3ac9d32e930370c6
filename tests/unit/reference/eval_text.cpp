#include "tests/unit/reference/eval_text.h"

#include "compiler/reference/evaluate.h"
#include "compiler/text/text.h"
#include "harness/golden_values.h"

namespace fusemark::testing {

std::string Eval(std::string_view body, std::string_view computations) {
  const auto describe = [](const Error& error) {
    return std::string(CodeName(error.code)) + ": " + error.message;
  };
  const std::string text = "HloModule test\n" + std::string(computations) + "\nENTRY main {\n" +
                           std::string(body) + "\n}\n";
  const auto module = ParseModule(text, "test");
  if (!module.ok()) return describe(module.error());
  const auto outputs = Evaluate(*module, {});
  if (!outputs.ok()) return describe(outputs.error());
  std::string result;
  for (const Tensor& leaf : *outputs) {
    if (!result.empty()) result += " | ";
    for (int64_t i = 0; i < ElementCount(leaf.shape); ++i) {
      if (i != 0) result += ' ';
      result += ElementText(leaf, i);
    }
  }
  return result;
}

}  // namespace fusemark::testing
