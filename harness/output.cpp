#include "harness/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fusemark {
namespace {

Error WriteError(const std::string& what, int error) {
  return {Code::kIo, "cannot write " + what + ": " + std::strerror(error)};
}

Result<void> WriteAll(int file, std::string_view text, const std::string& what) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(what, errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

// Devices and pipes (/dev/stdout, /dev/full) cannot be replaced, only written.
bool IsSpecial(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

Result<void> WriteFile(const std::string& path, const std::string& target, std::string_view text) {
  const std::string what = "'" + path + "'";
  const int file = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return WriteError(what, errno);
  Result<void> written = WriteAll(file, text, what);
  if (close(file) != 0 && written.ok()) written = WriteError(what, errno);
  return written;
}

}  // namespace

Result<void> WriteOutput(const std::string& path, std::string_view text) {
  if (path.empty() || path == "-") return WriteAll(STDOUT_FILENO, text, "standard output");
  if (IsSpecial(path)) return WriteFile(path, path, text);
  const std::string partial = path + ".partial";
  Result<void> written = WriteFile(path, partial, text);
  if (written.ok() && rename(partial.c_str(), path.c_str()) != 0) {
    written = WriteError("'" + path + "'", errno);
  }
  if (!written.ok()) unlink(partial.c_str());
  return written;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Update(const std::string& text) {
  if (!terminal_) return;
  winsize size{};
  size_t width = 80;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) width = size.ws_col;
  // A line that wraps could not be rewritten.
  std::fprintf(stderr, "\r\033[K%s", text.substr(0, width - 1).c_str());
  std::fflush(stderr);
  live_ = true;
}

void Progress::Line(const std::string& text) {
  Clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::Clear() {
  if (live_) std::fprintf(stderr, "\r\033[K");
  live_ = false;
}

}  // namespace fusemark
