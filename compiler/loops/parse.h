// Parser of the text form of loop nest IR (print.h). Checks syntax, names and operand types as far
// as they decide the form; structure rules and bounds are verify.h.
#pragma once

#include <string_view>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

// One kernel. `//` starts a comment. Errors say line:column, what was found and what was expected.
Result<Kernel> Parse(std::string_view text);

}  // namespace fusemark::loops
