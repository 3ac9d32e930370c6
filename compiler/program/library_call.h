// HLO dot and convolution -> library kernel (runtime/library.h).
#pragma once

#include <memory>

#include "compiler/ir/module.h"
#include "compiler/runtime/library.h"

namespace fusemark {

// Null where the library cannot express the instruction or only has its slow reference
// implementation: base dilation, reversal, batch groups, negative padding, mixed or other element
// types, a precision algorithm, dims that do not collapse to single m, n and k strides, empty
// operands.
std::unique_ptr<LibraryKernel> MakeLibraryKernel(const Module& module, ComputationId computation,
                                                 InstrId instr);

}  // namespace fusemark
