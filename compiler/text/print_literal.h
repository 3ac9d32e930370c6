// Literals as text: `{{1, 2}, {3, 4}}`, `(1, {2, 3})`, exact to the bit.
#pragma once

#include <string>

#include "compiler/ir/literal.h"

namespace fusemark {

// `elide`: arrays of more than ten elements become {...}.
void AppendLiteral(const Literal& literal, bool elide, std::string& text);

}  // namespace fusemark
