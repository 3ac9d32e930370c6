#include "compiler/support/result.h"

namespace fusemark {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidInput: return "invalid-input";
    case Code::kUnsupported: return "unsupported";
    case Code::kCompileFailed: return "compile-failed";
    case Code::kLaunchFailed: return "launch-failed";
    case Code::kWrongResult: return "wrong-result";
    case Code::kTimeout: return "timeout";
    case Code::kIo: return "io";
    case Code::kCancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace fusemark
