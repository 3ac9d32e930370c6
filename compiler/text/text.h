// HLO text <-> module. Law: Parse(Print(m)) == m. The grammar is in GRAMMAR.md.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace fusemark {

// Parses and verifies (ir/verify.h). `source_name` appears in messages: "file:line:column: found
// ..., expected ..." followed by the source line and a caret. Linear in the size of the text,
// bounded recursion.
Result<Module> ParseModule(std::string_view text, std::string_view source_name);

// Canonical text, one instruction per line, names as given. `canonical_names` renames instructions
// to their numbers
// (%0, %1, ...) and computations to c0, c1, ...: the text whose hash identifies a module.
struct PrintOptions {
  bool canonical_names = false;
  bool elide_large_constants =
      false;  // for people; such text does not parse back to an equal module
};
std::string PrintModule(const Module& module, const PrintOptions& options = {});
std::string PrintInstr(const Module& module, const Computation& computation, InstrId id);

// kIo with the reason for a missing file, a directory, an unreadable or binary file; otherwise as
// ParseModule.
Result<Module> ParseModuleFile(const std::string& path);

}  // namespace fusemark
