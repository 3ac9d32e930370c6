#include "compiler/ir/module.h"

namespace fusemark {

std::optional<std::string_view> FindExtra(const ExtraAttributes& extra, std::string_view name) {
  for (const auto& [key, value] : extra) {
    if (key == name) return value;
  }
  return std::nullopt;
}

bool Instr::operator==(const Instr& other) const {
  return op == other.op && shape == other.shape && name == other.name &&
         operands == other.operands && attrs == other.attrs && called == other.called &&
         extra == other.extra;
}

}  // namespace fusemark
