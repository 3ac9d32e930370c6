#include "compiler/ir/module.h"

namespace fusemark {

bool Instr::operator==(const Instr& other) const {
  return op == other.op && shape == other.shape && name == other.name &&
         operands == other.operands && attrs == other.attrs && called == other.called &&
         extra == other.extra;
}

}  // namespace fusemark
