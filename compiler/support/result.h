// Result<T>: the one way to report what the outside world got wrong (bad input, unsupported op,
// failed compile, failed launch, wrong result, timeout, I/O). Our own bugs abort through FM_CHECK
// instead.
//
// Codes are stored in the database, so the enum is closed and its values never change meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "compiler/support/check.h"

namespace fusemark {

enum class Code : uint8_t {
  kInvalidInput = 1,   // the text, file, option or value is wrong: the user can fix it
  kUnsupported = 2,    // legal input that this version cannot run: names the instruction
  kCompileFailed = 3,  // LLVM or a resource limit refused the kernel
  kLaunchFailed = 4,   // running failed: out of memory, library error
  kWrongResult = 5,    // numerics differ from the reference
  kTimeout = 6,
  kIo = 7,         // file or database unreadable, unwritable, full, locked, corrupt or newer
  kCancelled = 8,  // interrupted by the user
};

std::string_view CodeName(Code code);

// A place in a text; line and column count from 1, 0 means unknown.
struct SourceLoc {
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const SourceLoc&) const = default;
};

struct Error {
  Code code = Code::kInvalidInput;
  std::string message;  // what was found, what was expected, how to fix it; starts with the place
                        // if there is one
  SourceLoc where = {};
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    FM_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  T& value() & {
    FM_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  T&& value() && {
    FM_CHECK(ok(), error().message);
    return std::get<0>(std::move(state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success carries no value. `return Ok();`
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}
  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

inline Result<void> Ok() {
  return {};
}

inline Error Invalid(std::string message, SourceLoc where = {}) {
  return {Code::kInvalidInput, std::move(message), where};
}
inline Error Unsupported(std::string message, SourceLoc where = {}) {
  return {Code::kUnsupported, std::move(message), where};
}

}  // namespace fusemark

#define FM_CONCAT_INNER(a, b) a##b
#define FM_CONCAT(a, b) FM_CONCAT_INNER(a, b)

// FM_TRY(auto module, Parse(text)): on error returns it from the enclosing function, else declares
// `module`.
#define FM_TRY(declaration, expression)                        \
  auto FM_CONCAT(fm_result_, __LINE__) = (expression);         \
  if (!FM_CONCAT(fm_result_, __LINE__).ok())                   \
    return std::move(FM_CONCAT(fm_result_, __LINE__)).error(); \
  declaration = std::move(FM_CONCAT(fm_result_, __LINE__)).value()

// FM_RETURN_IF_ERROR(Verify(module)): for Result<void>.
#define FM_RETURN_IF_ERROR(expression)                        \
  do {                                                        \
    auto fm_status = (expression);                            \
    if (!fm_status.ok()) return std::move(fm_status).error(); \
  } while (false)
