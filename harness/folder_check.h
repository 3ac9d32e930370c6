// Conformance of a folder: every module on every engine, each in a process of its own with limits
// on time and memory, so that a crash is a row. The processes are `fusemark check` on one file;
// what a row says is what that command reported.
//
// Not here: options (commands/check.cpp), text and files of the report (report_folder.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace fusemark {

enum class CaseStatus : uint8_t {
  kPass,
  kFail,         // numbers differ
  kUnsupported,  // refused by name
  kInvalid,      // module or expectations do not read
  kError,        // compiled or launched with an error
  kTimeout,
  kOutOfMemory,
  kCrash,     // ended by a signal
  kNoGolden,  // no expected values; ran and agreed with the reference
  kNotRun,    // interrupted before its turn
};
std::string_view CaseStatusName(CaseStatus status);
constexpr int kCaseStatuses = static_cast<int>(CaseStatus::kNotRun) + 1;

struct FolderRequest {
  std::string program;  // the binary to start
  std::vector<std::string> modules;
  std::string golden;      // directory of <stem>.json
  std::string input_spec;  // "" if none
  std::vector<std::string> engines;
  int jobs = 1;
  int threads = 1;
  int64_t timeout_ns = 0;
  int64_t max_memory = 0;  // 0: unlimited
};

struct CaseResult {
  std::string module;  // file stem
  std::string engine;
  CaseStatus status = CaseStatus::kNotRun;
  std::string message;
  std::vector<std::string> ops;  // distinct opcodes of the module
  std::string dtype;             // of the case's first result
  double seconds = 0;
};

// In order of modules and engines. `progress(done, total)` is called as they end.
std::vector<CaseResult> CheckFolder(const FolderRequest& request,
                                    void (*progress)(void*, size_t, size_t), void* context);

// The *.hlo files of a directory in order of their names, those that match `filter` (a shell
// pattern on the file name; "" all). kInvalidInput if there is none.
Result<std::vector<std::string>> ModulesIn(const std::string& directory, const std::string& filter);

}  // namespace fusemark
