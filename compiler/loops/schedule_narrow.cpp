#include "compiler/loops/schedule_narrow.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/rewrite.h"
#include "compiler/loops/verify.h"

namespace fusemark::loops {
namespace {

// Rows that use a panel; fewer do not pay for its copy.
constexpr int64_t kFewestRows = 8;
constexpr int64_t kMostTiles = 4, kPanelsPerThread = 4;
constexpr int64_t kPartOfCache = 2;        // what a panel may take of the second-level cache
constexpr int64_t kMostPanel = 512 << 10;  // and of the stack
constexpr int64_t kRun = 64;               // elements of a row that are copied side by side

bool IsNarrowFloat(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16;
}

// acc = acc + T(x) * T(y), or its fma: what x and y are.
struct Factors {
  DType left = DType::kF32, right = DType::kF32, sum = DType::kF32;
};

class NarrowScheduler {
 public:
  NarrowScheduler(const Kernel& kernel, const Schedule& schedule, const Target& target)
      : kernel_(kernel), schedule_(schedule), target_(target) {}

  bool Run() {
    for (const NamedLoop& loop : LoopChain(kernel_, 'i')) outer_.push_back(loop);
    summed_ = LoopChain(kernel_, 'k');
    if (outer_.size() < 2 || summed_.empty() || !FindOperands()) return false;
    lanes_ = (schedule_.vector_bytes != 0 ? schedule_.vector_bytes : target_.vector_bytes) / 4;
    const NamedLoop &m = outer_[outer_.size() - 2], &n = outer_.back();
    if (lanes_ < 2 || n.extent < lanes_ || m.extent < kFewestRows) return false;
    vectors_ = std::clamp<int64_t>(n.extent / lanes_, 1, schedule_.tile_n);
    rows_ = TileRows(m.extent);
    return Blocks(m.name, n.name) &&
           (group_ > 1 ? Groups(m.name, n.name) : Floats(m.name, n.name)) &&
           VectoriseColumns(n.name) && Do(PrimitiveKind::kUnroll, {m.name + "t"});
  }
  std::vector<Primitive> Take() { return std::move(list_); }

 private:
  bool Do(PrimitiveKind kind, std::vector<std::string> names, int64_t factor = 0,
          std::string word = "") {
    Primitive primitive{kind, std::move(names), factor, std::move(word)};
    if (!Apply(kernel_, primitive).ok()) return false;
    list_.push_back(std::move(primitive));
    return true;
  }
  bool Tile(const std::string& loop, int64_t factor, const std::string& outer,
            const std::string& inner) {
    return Do(PrimitiveKind::kTile, {loop, outer, inner}, factor);
  }
  bool Reorder(const std::string& outer, const std::string& inner) {
    return Do(PrimitiveKind::kReorder, {outer, inner});
  }
  bool Distribute(const std::string& loop) {
    int levels = 0;
    while (Do(PrimitiveKind::kDistribute, {loop})) ++levels;
    return levels > 0;
  }

  // ---- what it is ----
  bool FindOperands() {
    const std::string &m = outer_[outer_.size() - 2].name, &n = outer_.back().name;
    const auto right = RightOperand(kernel_, m, n), left = RightOperand(kernel_, n, m);
    if (!right || !left) return false;
    right_ = kernel_[*right], left_ = kernel_[*left];
    right_along_n_ = UnitStrides(kernel_, n, right) > 0;
    left_along_k_ = UnitStrides(kernel_, summed_.back().name, left) > 0;
    first_row_ = outer_.size() - 1;
    while (first_row_ > 0 && !MovesWith(kernel_, *right, outer_[first_row_ - 1].name)) --first_row_;
    const DType sum = TypeOfSum();
    const auto bytes = [](DType d) { return d == DType::kS8 || d == DType::kU8; };
    if (sum == DType::kF32 && IsNarrowFloat(right_.dtype)) {
      group_ = 1;
    } else if ((sum == DType::kS32 || sum == DType::kU32) && bytes(left_.dtype) &&
               bytes(right_.dtype)) {
      group_ = target_.byte_group;
    } else if ((sum == DType::kS32 || sum == DType::kU32) && left_.dtype == DType::kS16 &&
               right_.dtype == DType::kS16) {
      group_ = 2;
    } else {
      return false;
    }
    return first_row_ + 1 < outer_.size() && right_along_n_ >= (group_ == 1);
  }

  // Of the only store inside the sum.
  DType TypeOfSum() const {
    DType type = DType::kPred;
    const auto var = FindVar(kernel_, summed_.back().name);
    AnyStmt(kernel_.body, [&](const Stmt& stmt) {
      if (stmt.kind != StmtKind::kFor || stmt.var != var) return false;
      for (const Stmt& inner : stmt.body) {
        if (inner.kind == StmtKind::kStore) type = kernel_[inner.buffer].dtype;
        if (inner.kind != StmtKind::kStore && inner.kind != StmtKind::kLet) type = DType::kPred;
      }
      return true;
    });
    return type;
  }

  // Registers: the sums, a row of the right operand and what corrects it, the left one, a constant.
  int64_t TileRows(int64_t extent) const {
    if (schedule_.tile_m > 0) return std::min(schedule_.tile_m, extent);
    const int64_t beside = group_ > 1 ? 2 * vectors_ + 3 : vectors_ + 1;
    const int64_t most = std::max<int64_t>((target_.vector_registers - beside) / vectors_, 1);
    const int64_t tiles = (extent + most - 1) / most;
    return (extent + tiles - 1) / tiles;
  }

  // ---- what becomes of it ----
  int64_t ColumnBytes() const {
    int64_t bytes = group_ > 1 ? ByteSize(right_.dtype) : 4;
    for (const NamedLoop& loop : summed_) bytes *= loop.extent;
    return bytes;
  }

  // Panels of columns, tiles of rows, tiles of columns; the sum stands around the last two.
  bool Blocks(const std::string& m, const std::string& n) {
    const int64_t tile = lanes_ * vectors_, columns = outer_.back().extent;
    const int64_t place = std::min(target_.l2_bytes / kPartOfCache, kMostPanel);
    int64_t tiles = std::min(place / (ColumnBytes() * tile),
                             columns / (tile * kPanelsPerThread * target_.threads));
    tiles = std::clamp<int64_t>(tiles, 1, kMostTiles);
    while (tiles > 1 && columns % (tile * tiles) != 0) --tiles;
    if (ColumnBytes() * tile * tiles > place) return false;
    bool done = true;
    for (size_t i = outer_.size() - 1; i-- > first_row_ && done;) done = Reorder(outer_[i].name, n);
    done = done && Tile(n, tile * tiles, n + "p", n + "c") && Tile(n + "c", tile, n + "o", n + "t");
    for (const std::string& inner : {n + "t", n + "o"}) {
      for (size_t i = first_row_; i + 1 < outer_.size() && done; ++i)
        done = Reorder(inner, outer_[i].name);
    }
    return done && Tile(m, rows_, m + "o", m + "t") && Reorder(m + "t", n + "o") &&
           Distribute(n + "t") && Distribute(m + "t");
  }

  // The innermost loop of the sum in groups, which become the innermost loops of all.
  bool Groups(const std::string& m, const std::string& n) {
    const std::string& k = summed_.back().name;
    const std::string group = k + "g", inside = k + "e";
    bool done = Tile(k, group_, group, inside);
    if (done && summed_.back().extent > group_ && summed_.back().extent % group_ != 0)
      done = Do(PrimitiveKind::kPeel, {group});
    done = done && Reorder(inside, m + "t") && Reorder(inside, n + "t") &&
           (!OffsetPays() ||
            Do(PrimitiveKind::kOffset, {left_.name, m + "t", n + "t", inside}, 128)) &&
           Copy(PrimitiveKind::kInterleave, {right_.name, n + "p", n + "t", inside},
                lanes_ * vectors_, right_along_n_);
    if (done && !left_along_k_)
      done = Copy(PrimitiveKind::kInterleave, {left_.name, m + "o", m + "t", inside}, rows_, true);
    return done && Do(PrimitiveKind::kUnroll, {inside});
  }

  // Dot products of bytes take one unsigned factor.
  bool OffsetPays() const {
    return group_ == 4 && left_.dtype == DType::kS8 && right_.dtype == DType::kS8 &&
           summed_.size() == 1 && rows_ > 1;
  }

  bool Floats(const std::string& m, const std::string& n) {
    const NamedLoop& k = summed_.back();
    if (!Copy(PrimitiveKind::kPack, {right_.name, n + "p"}, lanes_ * vectors_, true)) return false;
    if (!IsNarrowFloat(left_.dtype) || !left_along_k_) return true;
    if (k.extent % kRun != 0)
      return Copy(PrimitiveKind::kStage, {left_.name, m + "o"}, 0, true, "stack");
    return Tile(k.name, kRun, k.name + "o", k.name + "i") &&
           Copy(PrimitiveKind::kPack, {left_.name, m + "o"}, kRun, true);
  }

  // Copies into the body of a loop. With vectors: along the innermost loop, or, where groups are
  // made, along the one around them.
  bool Copy(PrimitiveKind kind, std::vector<std::string> names, int64_t factor, bool vectors,
            const std::string& word = "") {
    const std::string loop = names[1];
    if (!Do(kind, std::move(names), factor, word)) return false;
    const bool groups = kind == PrimitiveKind::kInterleave;
    for (const std::vector<std::string>& nest : CopiesIn(loop)) {
      const size_t last = nest.size() - 1;
      if (groups && !Do(PrimitiveKind::kUnroll, {nest[last]})) return false;
      if (vectors && !Do(PrimitiveKind::kVectorise, {nest[last - (groups ? 1 : 0)]})) return false;
    }
    return true;
  }
  // The loops of each copy that stands at the beginning of a loop's body, outermost first.
  std::vector<std::vector<std::string>> CopiesIn(const std::string& name) const {
    std::vector<std::vector<std::string>> nests;
    const auto var = FindVar(kernel_, name);
    AnyStmt(kernel_.body, [&](const Stmt& stmt) {
      if (stmt.kind != StmtKind::kFor || stmt.var != var) return false;
      for (size_t i = 1; i < stmt.body.size() && stmt.body[0].kind == StmtKind::kAlloc; ++i) {
        std::vector<std::string> nest;
        const Stmt* inner = &stmt.body[i];
        while (inner->kind == StmtKind::kFor && inner->body.size() == 1) {
          nest.push_back(kernel_[inner->var].name);
          inner = &inner->body[0];
        }
        if (inner->kind == StmtKind::kIf && !inner->body.empty()) inner = &inner->body[0];
        if (inner->kind != StmtKind::kStore || inner->buffer != stmt.body[0].buffer) break;
        nests.push_back(std::move(nest));
      }
      return false;
    });
    return nests;
  }

  bool VectoriseColumns(const std::string& n) {
    if (vectors_ == 1) return Do(PrimitiveKind::kVectorise, {n + "t"});
    return Tile(n + "t", lanes_, n + "u", n + "v") && Do(PrimitiveKind::kVectorise, {n + "v"}) &&
           Do(PrimitiveKind::kUnroll, {n + "u"});
  }

  Kernel kernel_;
  const Schedule& schedule_;
  const Target& target_;
  std::vector<Primitive> list_;
  std::vector<NamedLoop> outer_, summed_;
  Buffer left_, right_;
  bool right_along_n_ = false, left_along_k_ = false;
  size_t first_row_ = 0;  // the first of the loops over rows, which read the same of the right one
  int64_t group_ = 1, lanes_ = 1, vectors_ = 1, rows_ = 1;
};

}  // namespace

std::optional<std::vector<Primitive>> NarrowProduct(const Kernel& kernel, const Schedule& schedule,
                                                    const Target& target) {
  NarrowScheduler scheduler(kernel, schedule, target);
  if (!scheduler.Run()) return std::nullopt;
  return scheduler.Take();
}

}  // namespace fusemark::loops
