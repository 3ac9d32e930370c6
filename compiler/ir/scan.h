// What a scan instruction means, read from its operands and attributes: which of them are scanned,
// which are carried, and how long it is. Valid for instructions that have passed the verifier.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ir/module.h"

namespace fusemark {

// for t in 0..length-1 (length-1..0 if reverse):
//   (out_0[t], ..., carry_0, ...) = region(in_0[t], ..., carry_0, ...)
// where in[t] is the slice of the input at position t of dimension `dim`, without that dimension.
// The result is the outputs, then the last carries.
struct ScanForm {
  int64_t dim = 0, length = 0;
  size_t inputs = 0, outputs = 0, carries = 0;
  bool reverse = false;
};

// `region` is what the instruction calls, `first` the shape of its first operand.
ScanForm FormOfScan(const Computation& region, const Instr& instr, const Shape& first);
// The number in an attribute kept as text; `absent` if it is not there, -1 if it is no number.
int64_t ExtraNumber(const Instr& instr, std::string_view name, int64_t absent);

}  // namespace fusemark
