#include "compiler/ir/op.h"

#include <iterator>
#include <unordered_map>

namespace fusemark {
namespace {

struct Row {
  std::string_view name;
  int arity;
  OpClass klass;
};

constexpr Row kRows[] = {
#define FM_OP(enumerator, name, arity, klass) {name, arity, OpClass::klass},
#include "compiler/ir/ops.def"
#undef FM_OP
};

const Row& RowOf(Op op) {
  return kRows[static_cast<size_t>(op)];
}

}  // namespace

std::string_view OpName(Op op) {
  return RowOf(op).name;
}
int Arity(Op op) {
  return RowOf(op).arity;
}
OpClass ClassOf(Op op) {
  return RowOf(op).klass;
}

std::optional<Op> OpFromName(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (size_t i = 0; i < std::size(kRows); ++i) map->emplace(kRows[i].name, static_cast<Op>(i));
    return map;
  }();
  const auto it = kByName->find(name);
  if (it == kByName->end()) return std::nullopt;
  return it->second;
}

bool IsCommutative(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kMultiply:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor: return true;
    default: return false;
  }
}

bool IsTranscendental(Op op) {
  switch (op) {
    case Op::kExponential:
    case Op::kExponentialMinusOne:
    case Op::kLog:
    case Op::kLogPlusOne:
    case Op::kLogistic:
    case Op::kTanh:
    case Op::kTan:
    case Op::kSine:
    case Op::kCosine:
    case Op::kErf:
    case Op::kPower:
    case Op::kAtan2:
    case Op::kCbrt:
    case Op::kRemainder: return true;
    default: return false;
  }
}

}  // namespace fusemark
