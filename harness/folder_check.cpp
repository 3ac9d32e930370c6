#include "harness/folder_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "compiler/ir/op.h"
#include "compiler/text/text.h"
#include "harness/interrupt.h"

namespace fusemark {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kStatusNames[] = {"pass",      "fail",    "unsupported",   "invalid",
                                             "error",     "timeout", "out-of-memory", "crash",
                                             "no-golden", "not-run"};
static_assert(std::size(kStatusNames) == kCaseStatuses);

// Beyond the child's own limit: it ends by itself and says so, unless it cannot.
constexpr std::chrono::seconds kGrace{5};
constexpr std::chrono::milliseconds kPoll{2};

struct Child {
  pid_t pid = -1;
  size_t index = 0;  // of its result
  int out = -1, err = -1;
  Clock::time_point begin;
  bool killed = false;
};

std::string ReadAll(int fd) {
  std::string text;
  char block[1 << 14];
  for (off_t at = 0;;) {
    const ssize_t n = pread(fd, block, sizeof block, at);
    if (n <= 0) return text;
    text.append(block, static_cast<size_t>(n));
    at += n;
  }
}

// A file without a name.
int TemporaryFile() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return -1;
  const int fd = dup(fileno(file));
  std::fclose(file);
  return fd;
}

// The last line that the child wrote for people.
std::string LastLine(const std::string& text) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? -1 : static_cast<ptrdiff_t>(begin)));
}

class Runner {
 public:
  Runner(const FolderRequest& request, std::vector<CaseResult>& results)
      : request_(request), results_(results) {}

  void Run(void (*progress)(void*, size_t, size_t), void* context) {
    size_t next = 0, done = 0;
    while (next < results_.size() || !children_.empty()) {
      if (Interrupted()) next = results_.size();
      while (next < results_.size() && children_.size() < static_cast<size_t>(request_.jobs))
        Start(next++);
      const size_t ended = Reap();
      done += ended;
      if (ended > 0) progress(context, done, results_.size());
      if (ended == 0) std::this_thread::sleep_for(kPoll);
    }
  }

 private:
  std::string GoldenOf(const std::string& module) const {
    const fs::path path = fs::path(request_.golden) / (fs::path(module).stem().string() + ".json");
    std::error_code ignored;
    return !request_.golden.empty() && fs::is_regular_file(path, ignored) ? path.string() : "";
  }

  std::vector<std::string> Command(size_t index) const {
    const std::string& module = request_.modules[index / request_.engines.size()];
    const std::string& engine = request_.engines[index % request_.engines.size()];
    std::vector<std::string> words = {request_.program,
                                      "check",
                                      module,
                                      "--engine",
                                      engine,
                                      "--threads",
                                      std::to_string(request_.threads),
                                      "--format",
                                      "json"};
    if (const std::string golden = GoldenOf(module); !golden.empty())
      words.insert(words.end(), {"--golden", golden});
    if (!request_.input_spec.empty())
      words.insert(words.end(), {"--input-spec", request_.input_spec});
    if (request_.timeout_ns > 0)
      words.insert(words.end(), {"--timeout", std::to_string(request_.timeout_ns) + "ns"});
    if (request_.max_memory > 0)
      words.insert(words.end(), {"--max-memory", std::to_string(request_.max_memory) + "B"});
    return words;
  }

  void Start(size_t index) {
    CaseResult& result = results_[index];
    const bool golden = !GoldenOf(request_.modules[index / request_.engines.size()]).empty();
    if (!golden && result.engine == "reference") {
      result.status = CaseStatus::kNoGolden;
      result.message = "no expected values for the reference itself";
      return;
    }
    Child child;
    child.index = index;
    child.out = TemporaryFile();
    child.err = TemporaryFile();
    child.begin = Clock::now();
    std::vector<std::string> words = Command(index);
    child.pid = child.out < 0 || child.err < 0 ? -1 : fork();
    if (child.pid == 0) Exec(words, child);
    if (child.pid < 0) {
      result.status = CaseStatus::kError;
      result.message = std::string("cannot start a process: ") + std::strerror(errno);
      Close(child);
      return;
    }
    children_.push_back(child);
  }

  // In the child, between fork and exec.
  [[noreturn]] void Exec(std::vector<std::string>& words, const Child& child) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    dup2(child.out, STDOUT_FILENO);
    dup2(child.err, STDERR_FILENO);
    // Its own group: Ctrl-C on the terminal reaches the parent, which ends its children.
    setpgid(0, 0);
    if (request_.max_memory > 0) {
      // What the program's own sum does not see: compilation, the interpreter's temporaries.
      constexpr rlim_t kOverhead = rlim_t{1} << 30;
      const rlim_t limit = static_cast<rlim_t>(request_.max_memory) + kOverhead;
      const rlimit data{limit, limit};
      setrlimit(RLIMIT_DATA, &data);
    }
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  size_t Reap() {
    size_t ended = 0;
    for (size_t i = 0; i < children_.size();) {
      Child& child = children_[i];
      int status = 0;
      const pid_t pid = waitpid(child.pid, &status, WNOHANG);
      if (pid == 0) {
        EndIfLate(child);
        ++i;
        continue;
      }
      Finish(child, status);
      Close(child);
      children_.erase(children_.begin() + static_cast<ptrdiff_t>(i));
      ++ended;
    }
    return ended;
  }

  void EndIfLate(Child& child) {
    const bool late =
        request_.timeout_ns > 0 &&
        Clock::now() - child.begin > std::chrono::nanoseconds(request_.timeout_ns) + kGrace;
    if (child.killed || !(late || Interrupted())) return;
    child.killed = true;
    kill(-child.pid, SIGKILL);
    kill(child.pid, SIGKILL);
  }

  static void Close(const Child& child) {
    if (child.out >= 0) close(child.out);
    if (child.err >= 0) close(child.err);
  }

  void Finish(const Child& child, int status) {
    CaseResult& result = results_[child.index];
    result.seconds = std::chrono::duration<double>(Clock::now() - child.begin).count();
    const std::string errors = ReadAll(child.err);
    if (child.killed) {
      result.status = Interrupted() ? CaseStatus::kNotRun : CaseStatus::kTimeout;
      result.message = Interrupted() ? "interrupted" : "killed after its time limit";
    } else if (WIFSIGNALED(status)) {
      result.status = CaseStatus::kCrash;
      result.message = fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
      if (const std::string line = LastLine(errors); !line.empty()) result.message += ": " + line;
    } else {
      Read(result, WEXITSTATUS(status), ReadAll(child.out), LastLine(errors));
    }
  }

  void Read(CaseResult& result, int code, const std::string& output, const std::string& line) {
    const auto json = nlohmann::json::parse(output, nullptr, false);
    if (json.is_discarded() || !json.contains("results") || json["results"].empty()) {
      const bool late = line.find("time limit") != std::string::npos;
      const bool usage = code == 2;
      result.status = late    ? CaseStatus::kTimeout
                      : usage ? CaseStatus::kInvalid
                              : CaseStatus::kError;
      result.message = line.empty() ? fmt::format("exit code {}", code) : line;
      return;
    }
    const auto& row = json["results"][0];
    if (row.contains("error")) {
      const std::string error = row["error"].value("code", "");
      result.message = row["error"].value("message", "");
      result.status = StatusOf(error, result.message);
      return;
    }
    const auto numerics = row.value("numerics", nlohmann::json::object());
    const std::string verdict = numerics.value("status", "");
    if (verdict == "pass") {
      const bool golden = !GoldenOf(request_.modules[IndexOf(result)]).empty();
      result.status = golden ? CaseStatus::kPass : CaseStatus::kNoGolden;
      if (!golden) result.message = "no expected values; agrees with the reference";
      return;
    }
    result.status = verdict == "fail" ? CaseStatus::kFail : CaseStatus::kError;
    for (const auto& message : numerics.value("messages", std::vector<std::string>()))
      result.message += (result.message.empty() ? "" : "; ") + message;
    if (result.message.empty()) result.message = line;
    if (result.status == CaseStatus::kError && line.find("time limit") != std::string::npos) {
      result.status = CaseStatus::kTimeout;
      result.message = line;
    }
  }

  size_t IndexOf(const CaseResult& result) const {
    return static_cast<size_t>(&result - results_.data()) / request_.engines.size();
  }

  static CaseStatus StatusOf(const std::string& code, const std::string& message) {
    if (code == CodeName(Code::kUnsupported)) return CaseStatus::kUnsupported;
    if (code == CodeName(Code::kInvalidInput) || code == CodeName(Code::kIo))
      return CaseStatus::kInvalid;
    if (code == CodeName(Code::kWrongResult)) return CaseStatus::kFail;
    if (code == CodeName(Code::kTimeout)) return CaseStatus::kTimeout;
    const bool memory = message.find("memory") != std::string::npos;
    return memory ? CaseStatus::kOutOfMemory : CaseStatus::kError;
  }

  const FolderRequest& request_;
  std::vector<CaseResult>& results_;
  std::vector<Child> children_;
};

// Opcodes and result type for the report's tables; nothing where the file does not parse.
void Describe(const std::string& path, CaseResult& result) {
  const auto module = ParseModuleFile(path);
  if (!module.ok()) return;
  std::set<std::string> ops;
  for (const Computation& computation : module->computations) {
    for (const Instr& instr : computation.instrs) {
      if (ClassOf(instr.op) != OpClass::Tuple) ops.insert(std::string(OpName(instr.op)));
    }
  }
  result.ops.assign(ops.begin(), ops.end());
  std::vector<Shape> leaves;
  FlattenLeaves(module->Entry().Root().shape, leaves);
  if (!leaves.empty()) result.dtype = DTypeName(leaves[0].dtype);
}

}  // namespace

std::string_view CaseStatusName(CaseStatus status) {
  return kStatusNames[static_cast<size_t>(status)];
}

Result<std::vector<std::string>> ModulesIn(const std::string& directory,
                                           const std::string& filter) {
  std::vector<std::string> modules;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".hlo" || entry.is_directory()) continue;
    if (!filter.empty() && fnmatch(filter.c_str(), name.c_str(), 0) != 0) continue;
    modules.push_back(entry.path().string());
  }
  if (error) return Invalid("cannot list '" + directory + "': " + error.message());
  if (modules.empty()) {
    const std::string which = filter.empty() ? "" : " that matches '" + filter + "'";
    return Invalid("there is no *.hlo file" + which + " in directory '" + directory + "'");
  }
  std::sort(modules.begin(), modules.end());
  return modules;
}

std::vector<CaseResult> CheckFolder(const FolderRequest& request,
                                    void (*progress)(void*, size_t, size_t), void* context) {
  std::vector<CaseResult> results;
  for (const std::string& module : request.modules) {
    for (const std::string& engine : request.engines) {
      CaseResult result;
      result.module = fs::path(module).stem().string();
      result.engine = engine;
      results.push_back(std::move(result));
    }
  }
  Runner(request, results).Run(progress, context);
  for (size_t i = 0; i < results.size(); ++i) {
    const CaseStatus status = results[i].status;
    if (status != CaseStatus::kPass && status != CaseStatus::kNotRun)
      Describe(request.modules[i / request.engines.size()], results[i]);
  }
  return results;
}

}  // namespace fusemark
