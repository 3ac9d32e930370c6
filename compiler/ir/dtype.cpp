#include "compiler/ir/dtype.h"

#include <array>
#include <string_view>
#include <unordered_map>

namespace fusemark {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeClass klass;
};

constexpr Row kRows[] = {
#define FM_DTYPE(enumerator, name, bits, klass) {name, bits, DTypeClass::klass},
#include "compiler/ir/dtypes.def"
#undef FM_DTYPE
};

const Row& RowOf(DType dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

std::string_view DTypeName(DType dtype) {
  return RowOf(dtype).name;
}

std::optional<DType> DTypeFromName(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, DType>;
    for (size_t i = 0; i < std::size(kRows); ++i)
      map->emplace(kRows[i].name, static_cast<DType>(i));
    return map;
  }();
  const auto it = kByName->find(name);
  if (it == kByName->end()) return std::nullopt;
  return it->second;
}

int BitWidth(DType dtype) {
  return RowOf(dtype).bits;
}
int64_t ByteSize(DType dtype) {
  return (RowOf(dtype).bits + 7) / 8;
}
DTypeClass ClassOf(DType dtype) {
  return RowOf(dtype).klass;
}

}  // namespace fusemark
