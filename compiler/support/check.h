// Assertions for our own bugs. Anything the outside world can cause is a Result (support/result.h),
// never a check.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace fusemark {

// Prints the failed condition with its place and aborts. Kept out of line of the macro so that
// checks stay cheap.
[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition,
                                     const std::string& context) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold%s%s\n", file, line, condition,
               context.empty() ? "" : ": ", context.c_str());
  std::abort();
}

}  // namespace fusemark

// Always on. The second argument (a std::string) is only evaluated on failure.
#define FM_CHECK(condition, ...)                                                         \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::fusemark::CheckFailed(__FILE__, __LINE__, #condition, std::string{__VA_ARGS__}); \
  } while (false)

// For hot loops: on in debug and sanitizer builds only.
#ifdef NDEBUG
#define FM_DCHECK(condition, ...) \
  do {                            \
  } while (false)
#else
#define FM_DCHECK(condition, ...) FM_CHECK(condition, __VA_ARGS__)
#endif
