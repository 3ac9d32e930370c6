#include "compiler/support/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace fusemark {

Result<std::string> ReadFile(const std::string& path, std::string_view expected) {
  const auto error = [&](const std::string& reason) {
    return Error{Code::kIo, path + ": " + reason + ", expected " + std::string(expected)};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return error("is a directory");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return error(std::strerror(errno));
  std::string bytes;
  // Grow by what arrives: a pipe or a file that is being written has no reliable size.
  constexpr size_t kChunk = 1 << 16;
  while (true) {
    const size_t size = bytes.size();
    bytes.resize(size + kChunk);
    const size_t got = std::fread(bytes.data() + size, 1, kChunk, file.get());
    bytes.resize(size + got);
    if (got < kChunk) break;
  }
  if (std::ferror(file.get()) != 0) return error(std::strerror(errno));
  return bytes;
}

}  // namespace fusemark
