// libFuzzer target of the text reader (CMake preset `fuzz`, clang): any bytes give a module or a
// clear error, and what parses survives printing. What it finds becomes a file in tests/fuzz/cases.
//   build-fuzz/tests/fuzz/fusemark_text_fuzzer -max_total_time=600 tests/fuzz/cases
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/text_mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fusemark::TextVerdict verdict = fusemark::CheckText(text);
  if (!verdict.broken.empty()) {
    std::fprintf(stderr, "%s\n", verdict.broken.c_str());
    std::abort();
  }
  return 0;
}
