#include "compiler/text/text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "compiler/ir/verify.h"
#include "compiler/text/parser.h"

namespace fusemark {
namespace {

Error FileError(const std::string& path, std::string_view reason) {
  return {Code::kIo, fmt::format("{}: {}", path, reason)};
}

Result<std::string> ReadFile(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return FileError(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) {
    return FileError(path, "is a directory, expected a file of HLO text");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return FileError(path, std::strerror(errno));
  std::string text;
  // Grow by what arrives: a pipe or a file that is being written has no reliable size.
  if (status.st_size > 0) text.reserve(static_cast<size_t>(status.st_size) + 1);
  constexpr size_t kChunk = 1 << 16;
  while (true) {
    const size_t size = text.size();
    text.resize(size + kChunk);
    const size_t got = std::fread(text.data() + size, 1, kChunk, file.get());
    text.resize(size + got);
    if (got < kChunk) break;
  }
  if (std::ferror(file.get()) != 0) return FileError(path, std::strerror(errno));
  return text;
}

}  // namespace

Result<Module> ParseModule(std::string_view text, std::string_view source_name) {
  return Parser(text, source_name).Run();
}

Result<Module> ParseModuleFile(const std::string& path) {
  FM_TRY(const std::string text, ReadFile(path));
  if (text.find('\0') != std::string::npos) {
    return FileError(path, "holds NUL bytes, expected HLO text (is this a binary file?)");
  }
  return ParseModule(text, path);
}

}  // namespace fusemark
