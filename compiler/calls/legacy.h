// Calls as jaxlib made them before 2024, when its targets still had no `_ffi` at their end
// (lapack_sgetrf, blas_strsm): sizes and options are scalar operands, so known only when the
// program runs, and work arrays are results. How such a call becomes one of lapack.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/calls/lapack.h"

namespace fusemark {

// One word per array says what it is. A number: that operand or result of the routine. Else
//   operands  b: the batch, one letter: a size of the routine's signature, `alpha`: what the
//             right-hand side is multiplied by, a name of SetOption(), _: nothing that matters here
//   results   info: LAPACK's info of every problem, _: a work array, which is filled with zeros
struct LegacyCall {
  LapackCall lapack;
  std::vector<std::string_view> operands, results;
};

inline bool IsNumber(std::string_view word) {
  return word[0] >= '0' && word[0] <= '9';
}

// Nothing if there is no such target, or not with so many operands.
std::optional<LegacyCall> FindLegacyCall(std::string_view target, size_t operands);

// What holds unless an operand says otherwise.
CallAttributes LegacyDefaults();
// The attributes of the routine that a scalar operand of this name and value stands for.
void SetOption(std::string_view name, int64_t value, CallAttributes& attributes);

}  // namespace fusemark
