// Executes loop nest IR on raw buffers: the test of every lowering and transformation, without
// LLVM.
//
// Vector loops run their lanes in order, which equals lockstep for kernels that pass the verifier's
// race check. Block and thread loops follow GPU semantics: code between two barriers runs for all
// threads of the block before the barrier is passed; registers and stack tiles are per thread,
// shared buffers per block. Fresh local buffers are filled with 0xff bytes (NaN), so that a read of
// something never written shows. Indices are checked: an access out of bounds is an error.
#pragma once

#include <memory>
#include <span>

#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::loops {

namespace interpreter {
struct Program;  // interpret_program.h
}

class Interpreter {
 public:
  // kUnsupported names an operation that has no scalar function.
  static Result<Interpreter> Prepare(const Kernel& kernel);
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  // The ABI of compiled kernels (program/abi.h): iterations [begin, end) of one phase.
  Result<void> RunPhase(size_t phase, std::span<const void* const> operands,
                        std::span<void* const> results, void* scratch, int64_t begin,
                        int64_t end) const;
  // All phases in order; scratch is allocated here.
  Result<void> Run(std::span<const void* const> operands, std::span<void* const> results) const;

 private:
  explicit Interpreter(std::unique_ptr<interpreter::Program> program);
  std::unique_ptr<interpreter::Program> program_;
};

// Prepare and Run in one.
Result<void> Interpret(const Kernel& kernel, std::span<const void* const> operands,
                       std::span<void* const> results);

}  // namespace fusemark::loops
