// What the second line of a golden case can say. A new directive is one function and one row in
// directives.cpp.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"
#include "tests/golden/case_file.h"

namespace fusemark::golden {

// Turns a case's input (and argument) into the text that is compared.
using DirectiveFn = Result<std::string> (*)(const Case&);

struct Directive {
  std::string_view name;
  DirectiveFn run;
};

Result<std::string> RunPass(const Case& test);          // pass_directives.cpp
Result<std::string> RunPipelineCase(const Case& test);  // pass_directives.cpp
Result<std::string> RunLoops(const Case& test);         // loop_directives.cpp
Result<std::string> RunPlan(const Case& test);          // plan_directives.cpp

// Bare instructions come back as bare instructions, whole modules as whole modules.
std::string PrintLikeInput(const Module& module);

// Null if there is none with that name.
const Directive* FindDirective(std::string_view name);
std::string DirectiveNames();

}  // namespace fusemark::golden
