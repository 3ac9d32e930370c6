// loops: verify               "ok", or the violation
// loops: print | canonical    the text as it is, or without names
// loops: simplify
// loops: apply P; Q; ...      schedule primitives, then simplify
// loops: schedule LINE        a schedule line (knobs.h) for a two-thread AVX2 host
#include "compiler/loops/knobs.h"
#include "compiler/loops/parse.h"
#include "compiler/loops/primitives.h"
#include "compiler/loops/print.h"
#include "compiler/loops/schedule_cpu.h"
#include "compiler/loops/simplify.h"
#include "compiler/loops/verify.h"
#include "compiler/support/strings.h"
#include "tests/golden/directives.h"

namespace fusemark::golden {

Result<std::string> RunLoops(const Case& test) {
  FM_TRY(const loops::Kernel kernel, loops::Parse(test.input));
  const std::string_view argument = Trim(test.argument);
  const std::string_view word = argument.substr(0, argument.find(' '));
  const std::string_view rest = Trim(argument.substr(word.size()));
  if (word == "print") return loops::Print(kernel);
  if (word == "canonical") return loops::Print(kernel, {.canonical = true});
  FM_RETURN_IF_ERROR(loops::Verify(kernel));
  if (word == "verify") return std::string("ok\n");
  if (word == "simplify") return loops::Print(loops::Simplify(kernel));
  loops::Kernel result;
  std::string heading;
  if (word == "apply") {
    FM_TRY(const auto list, loops::ParsePrimitives(rest));
    FM_TRY(result, loops::Replay(kernel, list));
    result = loops::Simplify(result);
  } else if (word == "schedule") {
    FM_TRY(const auto line, loops::ParseSchedule(rest));
    loops::Target target;
    target.threads = 2;
    FM_TRY(const auto list, loops::ScheduleToPrimitives(kernel, line.schedule, target));
    FM_TRY(result, loops::ApplySchedule(kernel, line.schedule, target));
    heading = loops::PrintPrimitives(list) + "\n";
  } else {
    return Invalid("found 'loops: " + std::string(argument) +
                   "', expected print, canonical, verify, simplify, apply or schedule");
  }
  FM_RETURN_IF_ERROR(loops::Verify(result));
  return heading + loops::Print(result);
}

}  // namespace fusemark::golden
