// The LAPACK routines that custom calls name: how a target's name leads to one, what it takes and
// gives, and how one problem of a batch is run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/calls/signature.h"

namespace fusemark {

// One array of one problem, column-major; `data` of a result is LAPACK's to overwrite.
struct CallArray {
  std::byte* data = nullptr;
  int32_t rows = 1, columns = 1;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  int32_t stride() const { return rows > 1 ? rows : 1; }  // LAPACK's leading dimension
};

// The attributes of a call, e.g. uplo = 76; characters are their codes.
using CallAttributes = std::map<std::string, int64_t, std::less<>>;

struct CallProblem {
  std::array<CallArray, 4> in;
  std::array<CallArray, 6> out;
  const CallAttributes* attributes = nullptr;
  const std::byte* factor = nullptr;  // of the element type: multiplies the right-hand side of trsm
};

// What differs between real and complex types, or is the same for both.
class RealAndComplex {
 public:
  constexpr RealAndComplex(const char* both) : RealAndComplex(both, both) {}
  constexpr RealAndComplex(const char* real, const char* complex)
      : real_(real), complex_(complex) {}
  std::string_view Of(DType element) const { return IsComplex(element) ? complex_ : real_; }

 private:
  std::string_view real_, complex_;
};

struct LapackRoutine {
  RealAndComplex name;
  RealAndComplex signature;     // see signature.h
  std::string_view attributes;  // the names it cannot do without
  // What the signature cannot say: "" or what is wrong with the sizes.
  std::string (*check)(const BoundSignature&, const CallAttributes&);
  std::array<int32_t (*)(const CallProblem&), 4> run;  // float, double, complex; LAPACK's info
};

struct LapackCall {
  const LapackRoutine* routine = nullptr;
  DType element = DType::kF32;
  std::string_view signature() const { return routine->signature.Of(element); }
};

// By its element type's letter and its name, e.g. "sgetrf".
std::optional<LapackCall> FindLapackRoutine(std::string_view typed_name);

// Once before the first run.
void PrepareLapack();

// Of the info that a run returned: the routine found no memory for its work arrays.
bool IsOutOfMemory(int32_t info);

// `first` is the type of the first operand: targets of XLA's own (Qr, Eigh) do not name it.
std::optional<LapackCall> FindLapackCall(std::string_view target, DType first);

// The backend_config of a call: `{uplo = 76 : ui8, left = true}`, or the number list of XLA's Eigh.
CallAttributes ParseCallAttributes(std::string_view text);

}  // namespace fusemark
