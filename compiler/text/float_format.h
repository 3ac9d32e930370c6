// What literal text needs to know about float formats beyond ir/number.h: NaN payloads, and the
// shortest decimal text that reads back to the same bits.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/dtype.h"

namespace fusemark {

// The NaN with that mantissa. False if the format has no such NaN.
bool MakeNan(DType dtype, bool negative, uint64_t payload, uint64_t& bits);
// True for a finite value that is too large although its encoding is finite (f4 saturates).
bool OverflowsSilently(DType dtype, double value);
// "1.5", "-inf", "nan", "nan(0x1)": reads back to exactly `bits`.
void AppendFloat(DType dtype, uint64_t bits, std::string& text);

}  // namespace fusemark
