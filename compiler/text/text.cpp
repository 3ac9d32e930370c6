#include "compiler/text/text.h"

#include "compiler/ir/verify.h"
#include "compiler/support/file.h"
#include "compiler/text/parser.h"

namespace fusemark {
Result<Module> ParseModule(std::string_view text, std::string_view source_name) {
  return Parser(text, source_name).Run();
}

Result<Module> ParseModuleFile(const std::string& path) {
  FM_TRY(const std::string text, ReadFile(path, "a file of HLO text"));
  if (text.find('\0') != std::string::npos) {
    return Error{Code::kIo, path + ": holds NUL bytes, expected HLO text (is this a binary file?)"};
  }
  return ParseModule(text, path);
}

}  // namespace fusemark
