// Ctrl-C: the first one raises a flag that every long loop checks, so finished results are kept and
// reported; the second one ends the process at once.
#pragma once

#include <atomic>

namespace fusemark {

// SIGINT and SIGTERM raise the flag. SIGPIPE and SIGXFSZ become write errors, which are reported
// like any other full disk.
void InstallSignalHandlers();

std::atomic<bool>& Interrupted();

}  // namespace fusemark
