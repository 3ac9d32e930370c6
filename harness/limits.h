// Limits a user sets on one process: time and memory. Time is watched by a thread, because LLVM and
// library calls poll nothing; memory is added up before it is allocated.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace fusemark {

// "4GiB", "512MiB", "2GB", "1000000B"; greater than zero.
Result<int64_t> ParseBytes(std::string_view text);
// "1.50 GiB".
std::string BytesText(int64_t bytes);

// Raises Interrupted() when the time is over, so that loops which poll it end and rows that are
// done get reported; what does not end within a few seconds more ends with the process, exit
// code 4.
class TimeLimit {
 public:
  // 0: no limit. `what` names it in the message.
  TimeLimit(int64_t limit_ns, std::string what);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  bool over() const { return over_; }
  const std::string& message() const { return message_; }

 private:
  void Watch(int64_t limit_ns);

  std::string message_;
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread watcher_;
};

// kLaunchFailed if parameters and results alone, which are allocated first, are larger than `limit`
// (0: none); the message has the sizes.
Result<void> CheckMemory(const Module& module, int64_t limit);
// The same with what the compiled program needs beside them.
Result<void> CheckMemory(const Module& module, int64_t arena_bytes, int64_t limit);

}  // namespace fusemark
