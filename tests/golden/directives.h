// What the second line of a golden case can say. A new directive is one function and one row in
// directives.cpp.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/result.h"
#include "tests/golden/case_file.h"

namespace fusemark::golden {

// Turns a case's input (and argument) into the text that is compared.
using DirectiveFn = Result<std::string> (*)(const Case&);

struct Directive {
  std::string_view name;
  DirectiveFn run;
};

// Null if there is none with that name.
const Directive* FindDirective(std::string_view name);
std::string DirectiveNames();

}  // namespace fusemark::golden
