// An engine for tests: doubles its only parameter, f32[4]. What it should do wrong is a field.
// Linked into tests only.
#pragma once

#include <memory>
#include <string>

#include "compiler/compile.h"
#include "harness/bench.h"

namespace fusemark {

struct FakeBehaviour {
  std::string refuses_config;       // compile fails with kInvalidInput when this is the config
  bool unsupported = false;         // compile fails with kUnsupported
  int64_t fail_at_launch = 0;       // 1: the first
  int64_t cancel_at_launch = 0;     // raises the flag and returns kCancelled
  bool throws_bad_alloc = false;    // at launch
  float factor = 2;                 // anything but 2 is a wrong result
  int64_t launches = 0, binds = 0;  // counted
};

class FakeExecutable : public Executable {
 public:
  FakeExecutable(FakeBehaviour& behaviour, std::string config)
      : behaviour_(behaviour), config_(std::move(config)) {}

  Result<void> Run(std::span<const void* const> params, std::span<void* const> outputs) override {
    ++behaviour_.launches;
    if (behaviour_.throws_bad_alloc) throw std::bad_alloc();
    if (behaviour_.launches == behaviour_.fail_at_launch) {
      return Error{Code::kLaunchFailed, "the fake engine was told to fail"};
    }
    if (behaviour_.launches == behaviour_.cancel_at_launch) {
      return Error{Code::kCancelled, "interrupted"};
    }
    const auto* in = static_cast<const float*>(params[0]);
    auto* out = static_cast<float*>(outputs[0]);
    for (int i = 0; i < 4; ++i) out[i] = behaviour_.factor * in[i];
    return Ok();
  }
  Result<void> Bind(std::span<const void* const>) override {
    ++behaviour_.binds;
    return Ok();
  }
  CompileStats Stats() const override {
    return {.compile_ns = 1000, .kernels = 1, .peak_arena_bytes = 64, .config_text = config_};
  }

 private:
  FakeBehaviour& behaviour_;
  std::string config_;
};

inline CompileFn FakeCompile(FakeBehaviour& behaviour) {
  return [&behaviour](const Module&,
                      const CompileOptions& options) -> Result<std::unique_ptr<Executable>> {
    if (behaviour.unsupported) return Unsupported("line 3: opcode 'infeed' is not supported");
    if (!behaviour.refuses_config.empty() && options.config_text == behaviour.refuses_config) {
      return Invalid("unknown knob 'warp'");
    }
    return std::unique_ptr<Executable>(std::make_unique<FakeExecutable>(
        behaviour, options.config_text.empty() ? "default" : options.config_text));
  };
}

}  // namespace fusemark
