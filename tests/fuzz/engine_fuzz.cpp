#include "tests/fuzz/engine_fuzz.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>

#include "compiler/text/text.h"
#include "tests/fuzz/hlo_generator.h"
#include "tests/fuzz/judge.h"
#include "tests/fuzz/values.h"
#include "tests/unit/program/engine_run.h"

namespace fusemark {
namespace {

constexpr uint64_t kSeedsPerProcess = 25;
constexpr int kSecondsPerSeed = 20;
constexpr int kClockFactor = 10;

struct Run {
  std::string name;
  CompileOptions options;
};

Result<std::vector<Run>> RunsOf(const FuzzCase& fuzz_case) {
  const int threads = 1 + static_cast<int>(fuzz_case.config_seed % 2);
  std::vector<Run> runs{{"off", OptionsOf(Engine::kOff, threads)},
                        {"on", OptionsOf(Engine::kOn, threads)}};
  Run tuned{"on, random config", OptionsOf(Engine::kOn, threads)};
  std::mt19937_64 random(fuzz_case.config_seed);
  FM_TRY(const OnProblem problem, PrepareOn(fuzz_case.module, tuned.options));
  FM_TRY(tuned.options.config_text, RandomConfig(problem, random));
  runs.push_back(std::move(tuned));
  return runs;
}

// A verdict in one message: the kind, a newline, the detail.
std::string Pack(const Verdict& verdict) {
  return verdict.kind + "\n" + verdict.detail;
}

Verdict Unpack(const std::string& text) {
  const size_t end = text.find('\n');
  return {text.substr(0, end), end == std::string::npos ? "" : text.substr(end + 1)};
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0) _exit(9);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

// Of processor time, so that what else runs on the machine does not decide; and of the clock, for
// what waits for ever.
void LimitTime(int seconds) {
  const itimerval processor{{}, {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  alarm(static_cast<unsigned>(seconds * kClockFactor));
}

Verdict DeathOf(int status, int seconds) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF)
      return {"timeout", fmt::format("no answer within {} s of processor time", seconds)};
    if (signal == SIGALRM)
      return {"hang", fmt::format("no answer within {} s", seconds * kClockFactor)};
    return {"crash", fmt::format("signal {}", signal)};
  }
  if (WEXITSTATUS(status) == 0) return {};
  return {"crash", fmt::format("exit status {}", WEXITSTATUS(status))};
}

struct Child {
  std::string output;
  Verdict death;  // empty if it ended by itself
};

// `work` writes to the descriptor; the child must not run handlers of the parent's exit.
Child InChild(const std::function<void(int)>& work, int seconds) {
  int ends[2];
  FM_CHECK(pipe(ends) == 0, "no pipe for the child process");
  std::fflush(nullptr);
  const pid_t pid = fork();
  FM_CHECK(pid >= 0, "no child process");
  if (pid == 0) {
    close(ends[0]);
    LimitTime(seconds);
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  Child child{ReadAll(ends[0]), {}};
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  child.death = DeathOf(status, seconds);
  return child;
}

}  // namespace

FuzzCase CopyCase(const FuzzCase& from) {
  FuzzCase copy{from.module, {}, from.config_seed};
  for (const Tensor& input : from.inputs) copy.inputs.push_back(CopyTensor(input));
  return copy;
}

FuzzCase CaseOfSeed(uint64_t seed) {
  FuzzCase fuzz_case{HloGenerator(seed).Make(), {}, seed};
  const ValueKind kind = seed % 3 == 0 ? ValueKind::kSpecial : ValueKind::kPlain;
  fuzz_case.inputs = RandomInputs(fuzz_case.module, kind, seed);
  return fuzz_case;
}

Verdict CheckCase(const FuzzCase& fuzz_case) {
  const auto supported = CheckSupported(fuzz_case.module);
  if (!supported.ok()) return {"unsupported", supported.error().message};
  const auto want = EvaluateTensors(fuzz_case.module, fuzz_case.inputs);
  if (!want.ok()) return {"reference: error", want.error().message};
  const auto runs = RunsOf(fuzz_case);
  if (!runs.ok()) return {"plan: error", runs.error().message};
  for (const Run& run : *runs) {
    const auto got = CompileAndRun(fuzz_case.module, run.options, fuzz_case.inputs);
    if (!got.ok()) return {run.name + ": error", got.error().message};
    const std::string wrong = Judge(fuzz_case.module, fuzz_case.inputs, *want, *got);
    if (!wrong.empty()) return {run.name + ": mismatch", wrong + "\n" + run.options.config_text};
  }
  return {};
}

Verdict CheckCaseIsolated(const FuzzCase& fuzz_case, int seconds) {
  const Child child = InChild([&](int fd) { WriteAll(fd, Pack(CheckCase(fuzz_case))); }, seconds);
  return child.death.kind.empty() ? Unpack(child.output) : child.death;
}

// The child announces each seed and appends its verdict; records are separated by zero bytes, so
// what a dying child leaves behind tells the seed it died on.
void CheckSeeds(uint64_t first, uint64_t last,
                const std::function<void(uint64_t seed, const Verdict&)>& report,
                const std::function<bool()>& keep_going) {
  while (first < last && keep_going()) {
    const uint64_t end = std::min(last, first + kSeedsPerProcess);
    const Child child = InChild(
        [&](int fd) {
          for (uint64_t seed = first; seed < end; ++seed) {
            LimitTime(kSecondsPerSeed);
            std::string record = Pack(CheckCase(CaseOfSeed(seed)));
            std::replace(record.begin(), record.end(), '\0', ' ');
            WriteAll(fd, record + '\0');
          }
        },
        kSecondsPerSeed);
    size_t at = 0;
    for (size_t stop = 0; (stop = child.output.find('\0', at)) != std::string::npos; at = stop + 1)
      report(first++, Unpack(child.output.substr(at, stop - at)));
    if (first < end) report(first++, child.death);
  }
}

std::string CaseText(const FuzzCase& fuzz_case, const Verdict& verdict, uint64_t seed) {
  std::string text = fmt::format("// seed {}: {}\n", seed, verdict.kind);
  std::string line = verdict.detail;
  for (size_t at = 0; (at = line.find('\n', at)) != std::string::npos; at += 4)
    line.replace(at, 1, "\n// ");
  text += "// " + line + "\n";
  for (size_t i = 0; i < fuzz_case.inputs.size(); ++i) {
    const Tensor& input = fuzz_case.inputs[i];
    text += fmt::format("// input {} {}, bytes:", i, ToString(input.shape));
    const auto* bytes = reinterpret_cast<const unsigned char*>(input.data.get());
    for (int64_t b = 0; b < std::min<int64_t>(input.size_bytes(), 64); ++b)
      text += fmt::format(" {:02x}", bytes[b]);
    text += "\n";
  }
  return text + PrintModule(fuzz_case.module);
}

}  // namespace fusemark
