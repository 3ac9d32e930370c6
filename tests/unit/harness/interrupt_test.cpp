#include "harness/interrupt.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace fusemark {
namespace {

// The first signal raises the flag, the second one ends the process.
TEST(InterruptTest, TheSecondSignalKills) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    InstallSignalHandlers();
    (void)!write(told[1], "r", 1);  // ready
    while (!Interrupted()) usleep(1000);
    (void)!write(told[1], "f", 1);  // flag seen, still alive
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  kill(child, SIGINT);
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'f');
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(InterruptTest, AClosedPipeIsAnErrorNotTheEnd) {
  const pid_t child = fork();
  if (child == 0) {
    InstallSignalHandlers();
    int ends[2];
    if (pipe(ends) != 0) _exit(2);
    close(ends[0]);
    _exit(write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fusemark
