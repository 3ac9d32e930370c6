// Reading whole files: the texts, tables and archives that users bring.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/result.h"

namespace fusemark {

// The bytes of a file, a pipe or a device; kIo names the path and the system's reason (a directory,
// no such file, ...). `expected` says in the message what belongs there, e.g. "a file of HLO text".
Result<std::string> ReadFile(const std::string& path, std::string_view expected);

}  // namespace fusemark
