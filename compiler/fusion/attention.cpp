#include "compiler/fusion/attention.h"

#include <algorithm>
#include <optional>
#include <set>

namespace fusemark {
namespace {

// Rows below which copying what they share costs more than memory traffic saved.
constexpr int64_t kFewestRows = 8;

class Matcher {
 public:
  Matcher(const Computation& computation, const std::vector<std::vector<InstrId>>& users,
          const std::vector<bool>& live)
      : computation_(computation), users_(users), live_(live) {}

  std::vector<uint32_t> Match(uint32_t second, const RowWork& row) {
    members_ = {row.members.begin(), row.members.end()};
    const auto& dims = At(row.weights).shape.dims;
    const auto first = FirstDot(dims);
    if (!first || dims.size() < 2 || dims[dims.size() - 2] < kFewestRows) return {};
    members_.insert(*first);
    AddScaling(*first, dims);
    members_.insert(second);
    if (!StaysInside(second, row.weights)) return {};
    AddMovement(second);
    return {members_.begin(), members_.end()};
  }

 private:
  const Instr& At(uint32_t index) const { return computation_.instrs[index]; }

  // The dot whose result the row work starts from, through elementwise instructions.
  std::optional<uint32_t> FirstDot(const Dims& dims) const {
    std::vector<uint32_t> open(members_.begin(), members_.end());
    std::set<uint32_t> seen = members_;
    while (!open.empty()) {
      const Instr& instr = At(open.back());
      open.pop_back();
      for (const InstrId operand : instr.operands) {
        const Instr& from = computation_[operand];
        if (from.shape.is_tuple || from.shape.dims != dims) continue;
        if (from.op == Op::kDot) return operand.index;
        if (IsElementwise(from.op) && seen.insert(operand.index).second)
          open.push_back(operand.index);
      }
    }
    return std::nullopt;
  }

  // Elementwise instructions between the first dot and the rows: scales, masks, converts.
  void AddScaling(uint32_t first, const Dims& dims) {
    std::vector<uint32_t> open = {first};
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const InstrId user : users_[at]) {
        if (!live_[user.index] || members_.contains(user.index)) continue;
        const Instr& reader = computation_[user];
        if (!IsElementwise(reader.op) || reader.shape.dims != dims) continue;
        members_.insert(user.index);
        open.push_back(user.index);
      }
    }
  }

  // Only the second dot leaves the kernel, and it reads the row work's result once.
  bool StaysInside(uint32_t second, uint32_t weights) const {
    const auto& operands = At(second).operands;
    if (std::count(operands.begin(), operands.end(), InstrId{weights}) != 1) return false;
    return std::all_of(members_.begin(), members_.end(), [&](uint32_t member) {
      if (member == second) return true;
      return computation_.root.index != member &&
             std::all_of(users_[member].begin(), users_[member].end(), [&](InstrId user) {
               return !live_[user.index] || members_.contains(user.index);
             });
    });
  }

  // Where the result is only put in another order, it is stored in that order.
  void AddMovement(uint32_t at) {
    while (computation_.root.index != at) {
      std::vector<uint32_t> readers;
      for (const InstrId user : users_[at]) {
        if (live_[user.index]) readers.push_back(user.index);
      }
      if (readers.size() != 1) return;
      const Op op = At(readers[0]).op;
      if (op != Op::kReshape && op != Op::kTranspose && op != Op::kConvert) return;
      at = readers[0];
      members_.insert(at);
    }
  }

  const Computation& computation_;
  const std::vector<std::vector<InstrId>>& users_;
  const std::vector<bool>& live_;
  std::set<uint32_t> members_;
};

}  // namespace

std::vector<uint32_t> MatchAttention(const Computation& computation,
                                     const std::vector<std::vector<InstrId>>& users,
                                     const std::vector<bool>& live, uint32_t second,
                                     const RowWork& row) {
  return Matcher(computation, users, live).Match(second, row);
}

}  // namespace fusemark
