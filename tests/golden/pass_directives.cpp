// pass: a,b            the named passes, once each, in that order
// pipeline:            the whole pipeline; "stop-after=X" and "skip=a,b" as arguments
// Constants are folded by the reference interpreter, and every pass is followed by the verifier.
#include "compiler/pipeline.h"
#include "compiler/reference/evaluate.h"
#include "compiler/support/strings.h"
#include "compiler/text/text.h"
#include "tests/golden/directives.h"

namespace fusemark::golden {
namespace {

std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view name : Split(text, ',')) names.emplace_back(Trim(name));
  return names;
}

Result<std::string> Run(const Case& test, PipelineOptions options) {
  FM_TRY(Module module, ParseModule(test.input, "input"));
  options.context.evaluate = EvaluateInstr;
  options.verify = true;
  FM_TRY([[maybe_unused]] const auto reports, RunPipeline(module, options));
  return PrintLikeInput(module);
}

}  // namespace

Result<std::string> RunPass(const Case& test) {
  PipelineOptions options;
  options.only = SplitNames(test.argument);
  return Run(test, std::move(options));
}

Result<std::string> RunPipelineCase(const Case& test) {
  PipelineOptions options;
  for (std::string_view word : Split(test.argument, ' ')) {
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (key == "stop-after") {
      options.stop_after = value;
    } else if (key == "skip") {
      options.disabled = SplitNames(value);
    } else {
      return Invalid("found '" + std::string(word) + "', expected stop-after=X or skip=a,b");
    }
  }
  return Run(test, std::move(options));
}

}  // namespace fusemark::golden
