// The exit codes of the program and their precedence. A command collects what went wrong while it
// goes on with the rest; the process ends with the most serious code and every reason is reported.
#pragma once

#include <string>
#include <vector>

namespace fusemark {

enum class ExitCode : int {
  kOk = 0,
  kUsage = 2,          // wrong arguments or configuration: nothing was started
  kNumerics = 3,       // a result differs from its reference
  kFailed = 4,         // a workload failed, nothing was measured, or a file or database is unusable
  kInterrupted = 130,  // partial results are kept
};

class Outcome {
 public:
  void Add(ExitCode code, std::string reason) {
    if (Rank(code) < Rank(code_)) code_ = code;
    reasons_.push_back(std::move(reason));
  }
  ExitCode code() const { return code_; }
  int value() const { return static_cast<int>(code_); }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  static int Rank(ExitCode code) {
    switch (code) {
      case ExitCode::kUsage: return 0;
      case ExitCode::kInterrupted: return 1;
      case ExitCode::kFailed: return 2;
      case ExitCode::kNumerics: return 3;
      case ExitCode::kOk: return 4;
    }
    return 4;
  }

  ExitCode code_ = ExitCode::kOk;
  std::vector<std::string> reasons_;
};

}  // namespace fusemark
