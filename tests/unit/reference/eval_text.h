// Runs a few lines of HLO through the reference interpreter and gives the result as text: the tests
// of this directory are pairs of a program and the values it must give.
#pragma once

#include <string>
#include <string_view>

namespace fusemark::testing {

// `body`: the instructions of the entry computation (no parameters), `computations`: what they
// call. The result's leaves, elements separated by blanks, leaves by " | ". An error gives
// "CODE: message".
std::string Eval(std::string_view body, std::string_view computations = "");

}  // namespace fusemark::testing
