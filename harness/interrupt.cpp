#include "harness/interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace fusemark {
namespace {

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "the handler may only touch lock-free atomics");

void OnInterrupt(int signal_number) {
  if (g_interrupted.exchange(true)) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  constexpr char kMessage[] =
      "\ninterrupted: finishing with what is done (again to stop at once)\n";
  (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
}

}  // namespace

void InstallSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

std::atomic<bool>& Interrupted() {
  return g_interrupted;
}

}  // namespace fusemark
