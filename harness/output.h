// Where results and progress go: results to stdout or the file of -o, progress to stderr. A full
// disk or a closed pipe is an error, never silence.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/result.h"

namespace fusemark {

// Writes to stdout when `path` is empty. A file is replaced only when all of it could be written.
Result<void> WriteOutput(const std::string& path, std::string_view text);

// Progress for people. On a terminal one line that is rewritten; elsewhere only Line() prints.
class Progress {
 public:
  Progress();
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(const std::string& text);  // replaces the live line
  void Line(const std::string& text);    // stays
  void Clear();

 private:
  bool terminal_;
  bool live_ = false;
};

}  // namespace fusemark
