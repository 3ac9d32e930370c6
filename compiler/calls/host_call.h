// Custom calls that this program can answer: linear algebra as JAX (lapack_*_ffi, and lapack_* and
// blas_* of old dumps) and TensorFlow and PyTorch/XLA (Qr, Eigh, ...) emit it for the CPU, by
// LAPACK. The reference interpreter, off and on run the same code: what such a call computes is
// LAPACK's business, ours is that the right routine gets the right matrices.
//
// Every other target is unknown: programs with one can be planned and explained (the call stands
// between compiled clusters), not run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace fusemark {

class HostCall {
 public:
  virtual ~HostCall() = default;
  // One pointer per leaf of operands and result, dense row-major. `scratch` holds scratch_bytes(),
  // 64-byte aligned. A matrix that LAPACK cannot solve is no error: its info output says so.
  virtual Result<void> Run(const void* const* operands, void* const* results,
                           std::byte* scratch) const = 0;
  virtual int64_t scratch_bytes() const = 0;
};

// kUnsupported, naming instruction, line and target, if nothing here answers the custom call;
// kInvalidInput if it is a known one with other operands or results than it has.
Result<std::unique_ptr<HostCall>> MakeHostCall(const Computation& computation, InstrId call);

// Stands for a call that cannot be run: Run() answers with the error.
std::unique_ptr<HostCall> MakeRefusedCall(Error error);

// The same answer without making anything.
Result<void> CheckHostCall(const Computation& computation, InstrId call);

}  // namespace fusemark
