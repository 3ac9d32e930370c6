// Helpers of the codegen tests: buffers by dtype, one compiled run, one interpreted run.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "compiler/codegen/target.h"
#include "compiler/jit/jit.h"
#include "compiler/loops/builder.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/kernel.h"

namespace fusemark {

// 64-byte aligned bytes with a guard zone behind them that must stay untouched.
class TestBuffer {
 public:
  explicit TestBuffer(size_t bytes) : bytes_(bytes) {
    data_ = static_cast<uint8_t*>(::operator new(bytes + kGuard, std::align_val_t{64}));
    std::memset(data_, 0xA5, bytes + kGuard);
  }
  TestBuffer(const TestBuffer& other) : TestBuffer(other.bytes_) {
    std::memcpy(data_, other.data_, bytes_);
  }
  TestBuffer(TestBuffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  TestBuffer& operator=(const TestBuffer&) = delete;
  ~TestBuffer() { ::operator delete(data_, std::align_val_t{64}); }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }
  bool GuardIntact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (data_[bytes_ + i] != 0xA5) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 128;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

inline size_t BytesOf(const loops::Buffer& buffer) {
  size_t bytes = static_cast<size_t>(ByteSize(buffer.dtype));
  for (const int64_t dim : buffer.dims) bytes *= static_cast<size_t>(dim);
  return bytes;
}

template <class T>
TestBuffer BufferOf(const std::vector<T>& values) {
  TestBuffer buffer(values.size() * sizeof(T));
  std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

inline std::vector<TestBuffer> ResultsOf(const loops::Kernel& kernel) {
  std::vector<TestBuffer> results;
  for (const loops::BufferId id : kernel.results) results.emplace_back(BytesOf(kernel[id]));
  return results;
}

struct Pointers {
  std::vector<const void*> operands;
  std::vector<void*> results;
};

inline Pointers PointersOf(const std::vector<TestBuffer>& operands,
                           const std::vector<TestBuffer>& results) {
  Pointers pointers;
  for (const TestBuffer& operand : operands) pointers.operands.push_back(operand.data());
  for (const TestBuffer& result : results) pointers.results.push_back(result.data());
  return pointers;
}

// Runs all phases of a compiled kernel, each in two ranges where it has two iterations.
inline void RunCompiled(const CompiledKernel& compiled, const Pointers& pointers) {
  TestBuffer scratch(static_cast<size_t>(compiled.scratch_bytes));
  for (size_t p = 0; p < compiled.phases.size(); ++p) {
    const int64_t extent = compiled.extents[p], middle = extent / 2;
    const auto run = [&](int64_t begin, int64_t end) {
      ASSERT_EQ(compiled.phases[p](pointers.operands.data(), pointers.results.data(),
                                   scratch.data(), begin, end),
                0);
    };
    if (middle > 0) run(0, middle);
    run(middle, extent);
  }
  EXPECT_TRUE(scratch.GuardIntact());
}

inline Jit& TestJit() {
  static std::unique_ptr<Jit> jit = [] {
    auto created = Jit::Create(HostTarget());
    return std::move(created).value();
  }();
  return *jit;
}

inline std::vector<TestBuffer> RunJit(const loops::Kernel& kernel,
                                      const std::vector<TestBuffer>& operands, Jit& jit) {
  std::vector<TestBuffer> results = ResultsOf(kernel);
  auto compiled = jit.Compile({&kernel}, 1);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  if (compiled.ok()) RunCompiled((*compiled)[0], PointersOf(operands, results));
  for (const TestBuffer& result : results) EXPECT_TRUE(result.GuardIntact());
  return results;
}

inline std::vector<TestBuffer> RunJit(const loops::Kernel& kernel,
                                      const std::vector<TestBuffer>& operands) {
  return RunJit(kernel, operands, TestJit());
}

inline std::vector<TestBuffer> RunInterpreter(const loops::Kernel& kernel,
                                              const std::vector<TestBuffer>& operands) {
  std::vector<TestBuffer> results = ResultsOf(kernel);
  const Pointers pointers = PointersOf(operands, results);
  const auto status = loops::Interpret(kernel, pointers.operands, pointers.results);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return results;
}

// result[i] = f(operands[0][i], ...) over `count` elements in vectors of `lanes` (0: scalar), with
// a vector tail; `f` builds the value from the loads.
template <class Function>
loops::Kernel ElementwiseKernel(const std::vector<DType>& operands, DType result, int64_t count,
                                int64_t lanes, const Function& f) {
  loops::Kernel kernel;
  kernel.name = "elementwise";
  loops::Builder b(kernel);
  std::vector<loops::BufferId> sources;
  for (size_t i = 0; i < operands.size(); ++i)
    sources.push_back(b.AddOperand("p" + std::to_string(i), operands[i], {count}));
  const loops::BufferId out = b.AddResult("out", result, {count});
  const auto store = [&](const std::function<loops::ExprId()>& index) {
    std::vector<loops::ExprId> loads;
    for (const loops::BufferId source : sources) loads.push_back(b.Load(source, {index()}));
    return b.Store(out, {index()}, f(b, loads));
  };
  const loops::VarId i = b.AddVar("i");
  if (lanes == 0) {
    kernel.body = {b.For(i, count, {store([&] { return b.Use(i); })}, loops::LoopKind::kParallel)};
    return kernel;
  }
  const int64_t whole = count / lanes, tail = count % lanes;
  const loops::VarId v = b.AddVar("v"), w = b.AddVar("w");
  if (whole > 0) {
    const auto index = [&] { return b.Add(b.Mul(b.Use(i), lanes), b.Use(v)); };
    kernel.body.push_back(b.For(i, whole,
                                {b.For(v, lanes, {store(index)}, loops::LoopKind::kVector)},
                                loops::LoopKind::kParallel));
  }
  if (tail > 0) {
    const auto index = [&] { return b.Add(b.Index(whole * lanes), b.Use(w)); };
    kernel.body.push_back(b.For(w, tail, {store(index)}, loops::LoopKind::kVector));
  }
  return kernel;
}

}  // namespace fusemark
