#include "compiler/loops/schedule_cpu.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/rewrite.h"
#include "compiler/loops/schedule_narrow.h"
#include "compiler/loops/simplify.h"
#include "compiler/loops/verify.h"

namespace fusemark::loops {
namespace {

// A loop body step costs about this much; used to turn the fork-join cost into elements.
constexpr double kNanosecondsPerElement = 0.25;
// A parallel phase has to be worth this many fork-joins.
constexpr double kForkJoins = 10;
// Sums longer than this are taken as sums of partial sums, and these again: so many of the next
// shorter ones each.
constexpr int64_t kLongSum = 128, kPartOfSum = 32;
// Products that a register tile adds up in a row, in units of a cached block of a sum; and how many
// parts of a sum are worth the repeated code.
constexpr int64_t kChain = 3, kFewParts = 4;
// Row tiles that must use a panel of columns before copying it pays.
constexpr int64_t kPanelRows = 2;
// What a panel, and the rows that are kept beside it, may take of the second-level cache.
constexpr int64_t kPartOfCache = 8;
constexpr int64_t kMaxVectorBytes = 64;  // the largest of the knob's domain
// Bodies times unrolled iterations beyond this make the code grow for nothing.
constexpr int64_t kUnrolledStatements = 96;

int64_t StatementsIn(const Block& block) {
  int64_t count = 0;
  for (const Stmt& stmt : block)
    count += 1 + StatementsIn(stmt.body) + StatementsIn(stmt.else_body);
  return count;
}

int64_t IterationsIn(const Block& block) {
  int64_t total = 0;
  for (const Stmt& stmt : block) {
    const int64_t inside = std::max(IterationsIn(stmt.body), IterationsIn(stmt.else_body));
    int64_t own = stmt.kind == StmtKind::kFor ? 0 : 1;
    if (stmt.kind == StmtKind::kFor &&
        __builtin_mul_overflow(std::max<int64_t>(inside, 1), stmt.extent, &own))
      own = INT64_MAX / 4;
    total = std::min<int64_t>(INT64_MAX / 4, total + std::max(own, inside));
  }
  return total;
}

class Scheduler {
 public:
  Scheduler(const Kernel& kernel, const Schedule& schedule, const Target& target,
            const std::vector<bool>& lasting)
      : kernel_(kernel), schedule_(schedule), target_(target), lasting_(lasting) {}

  std::vector<Primitive> Run() {
    switch (kernel_.klass) {
      case KernelClass::kLoop: Elementwise(); break;
      case KernelClass::kReduce:
      case KernelClass::kWindow:
      case KernelClass::kContraction: Reduction(); break;
      case KernelClass::kRow:
        if (const std::vector<std::string> along = Chain('j'); !along.empty()) Row(along.back());
        break;
      case KernelClass::kAttention: Attention(); break;
      case KernelClass::kUpdate: Updates(); break;
    }
    Parallelise();
    return std::move(list_);
  }

 private:
  // ---- tried on a copy: what is not legal here is left out ----
  bool Try(Primitive primitive, bool verified = false) {
    Kernel changed = kernel_;
    if (!Apply(changed, primitive).ok() || (verified && !Verify(changed).ok())) return false;
    kernel_ = std::move(changed);
    list_.push_back(std::move(primitive));
    return true;
  }
  // Steps of which all apply, or none: false takes back what was done.
  template <class Steps>
  bool AllOrNothing(const Steps& steps) {
    const Kernel before = kernel_;
    const size_t applied = list_.size();
    if (steps()) return true;
    kernel_ = before;
    list_.resize(applied);
    return false;
  }
  // Also refused when the proof fails: concurrent iterations that write one element.
  bool TryVerified(Primitive primitive) { return Try(std::move(primitive), true); }
  bool Tile(const std::string& loop, int64_t factor, const std::string& outer,
            const std::string& inner) {
    return Try({PrimitiveKind::kTile, {loop, outer, inner}, factor, ""});
  }
  bool Vectorise(const std::string& loop) {
    return TryVerified({PrimitiveKind::kVectorise, {loop}, 0, ""});
  }
  // Past every reduction that stands inside, one after the other.
  bool Distribute(const std::string& loop) {
    int levels = 0;
    while (DistributeOnce(loop)) ++levels;
    return levels > 0;
  }
  bool DistributeOnce(const std::string& loop) {
    return Try({PrimitiveKind::kDistribute, {loop}, 0, ""});
  }
  bool Reorder(const std::string& outer, const std::string& inner) {
    return Try({PrimitiveKind::kReorder, {outer, inner}, 0, ""});
  }
  bool Unroll(const std::string& loop) { return Try({PrimitiveKind::kUnroll, {loop}, 0, ""}); }

  // Fusing is worth it only where the two loops walk memory as one: no new division remains.
  bool FuseIfContiguous(const std::string& a, const std::string& b, const std::string& name) {
    Primitive fuse{PrimitiveKind::kFuse, {a, b, name}, 0, ""};
    Kernel changed = kernel_;
    if (!Apply(changed, fuse).ok()) return false;
    if (Divisions(Simplify(changed)) > Divisions(Simplify(kernel_))) return false;
    kernel_ = std::move(changed);
    list_.push_back(std::move(fuse));
    return true;
  }

  static int Divisions(const Kernel& kernel) {
    int count = 0;
    for (const Expr& expr : kernel.exprs) {
      const bool division = expr.kind == ExprKind::kBinary && expr.dtype == DType::kS64 &&
                            (expr.op == Op::kDivide || expr.op == Op::kRemainder);
      count += division ? 1 : 0;
    }
    return count;
  }

  // ---- the nest ----
  std::vector<std::string> Chain(char prefix) const {
    std::vector<std::string> names;
    for (const NamedLoop& loop : LoopChain(kernel_, prefix)) names.push_back(loop.name);
    return names;
  }

  std::vector<const Stmt*> LoopsNamed(const std::string& name) const {
    std::vector<const Stmt*> loops;
    const auto var = FindVar(kernel_, name);
    if (var) CollectLoops(kernel_.body, *var, loops);
    return loops;
  }
  static void CollectLoops(const Block& block, VarId var, std::vector<const Stmt*>& loops) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == StmtKind::kFor && stmt.var == var) loops.push_back(&stmt);
      CollectLoops(stmt.body, var, loops);
      CollectLoops(stmt.else_body, var, loops);
    }
  }
  int64_t LargestExtent(const std::string& name) const {
    int64_t extent = 0;
    for (const Stmt* loop : LoopsNamed(name)) extent = std::max(extent, loop->extent);
    return extent;
  }

  // SIMD lanes for the widest element that the kernel's buffers hold (at least 4 bytes wide: narrow
  // floats are computed in f32).
  int64_t Lanes() const {
    const int64_t bytes = schedule_.vector_bytes != 0 ? schedule_.vector_bytes : DefaultBytes();
    return std::max<int64_t>(bytes / WidestElement(), 1);
  }
  int64_t WidestElement() const {
    int64_t widest = 4;
    for (const Buffer& buffer : kernel_.buffers) widest = std::max(widest, ByteSize(buffer.dtype));
    return std::min<int64_t>(widest, 8);
  }

  // The native width; twice of it where long chains of dependent operations (the polynomials of
  // vector math) leave the units idle: each operation then comes in two independent halves.
  int64_t DefaultBytes() const {
    const bool chains = std::any_of(kernel_.exprs.begin(), kernel_.exprs.end(), [](const Expr& e) {
      return e.kind == ExprKind::kUnary && IsTranscendental(e.op);
    });
    return chains && kernel_.klass == KernelClass::kLoop
               ? std::min<int64_t>(2 * target_.vector_bytes, kMaxVectorBytes)
               : target_.vector_bytes;
  }

  // ---- classes ----
  void Elementwise() {
    const std::vector<std::string> loops = Chain('i');
    if (loops.empty() || TransposeByTiles(loops)) return;
    std::string inner = FuseInner(loops);
    VectorLoop(inner == loops.back() ? FuseFlat(loops, "f") : inner);
  }

  // Where memory is written along the innermost loop but some operand runs along another one, `m`:
  // a square of both at a time, so that each line read is used as a whole while it is near.
  bool TransposeByTiles(const std::vector<std::string>& loops) {
    const std::string& n = loops.back();
    size_t m = loops.size() - 1;
    for (const BufferId operand : kernel_.operands) {
      if (BytesOf(kernel_, operand) <= target_.l1_bytes || UnitStrides(kernel_, n, operand) >= 0)
        continue;
      for (size_t i = loops.size() - 1; i-- > 0;) {
        if (UnitStrides(kernel_, loops[i], operand) > 0) m = i;
      }
    }
    const int64_t lanes = Lanes();
    if (m + 1 == loops.size() || lanes < 2 || LargestExtent(n) < lanes) return false;
    return AllOrNothing([&] {
      bool done =
          Tile(loops[m], lanes, loops[m] + "o", loops[m] + "t") && Tile(n, lanes, n + "o", n + "v");
      for (size_t i = m + 1; i < loops.size() && done; ++i) {
        const std::string& inside = i + 1 < loops.size() ? loops[i] : n + "o";
        done = Reorder(loops[m] + "t", inside) && Reorder(loops[m] + "o", inside);
      }
      if (done && Vectorise(n + "v")) return UnrollSquare(loops[m] + "t", lanes), true;
      return false;
    });
  }

  // The rows of a square are loaded at once and turned in registers where the loop is unrolled.
  void UnrollSquare(const std::string& loop, int64_t lanes) {
    int64_t body = 1;
    for (const Stmt* square : LoopsNamed(loop)) body = std::max(body, StatementsIn(square->body));
    if (body * lanes <= kUnrolledStatements) Unroll(loop);
  }

  // The innermost loop after all contiguous neighbours joined it.
  std::string FuseInner(const std::vector<std::string>& loops, const std::string& prefix = "f") {
    std::string inner = loops.back();
    int fused = 0;
    for (size_t i = loops.size() - 1; i-- > 0;) {
      const std::string name = prefix + std::to_string(fused);
      if (!FuseIfContiguous(loops[i], inner, name)) break;
      inner = name;
      ++fused;
    }
    return inner;
  }

  // The same where no neighbour joined: buffers are dense, so the loops may walk them as arrays of
  // one dimension. Simplified at once: tiles may hide what makes the divisions cancel out.
  std::string FuseFlat(const std::vector<std::string>& loops, const std::string& prefix) {
    std::string inner = loops.back();
    const bool fused =
        loops.size() > 1 && AllOrNothing([&] {
          if (!TryVerified({.kind = PrimitiveKind::kFlatten})) return false;
          inner = FuseInner(loops, prefix);
          return inner != loops.back() && TryVerified({.kind = PrimitiveKind::kSimplify});
        });
    return fused ? inner : loops.back();
  }

  // inner -> io { iu unroll { iv vector } }
  bool VectorLoop(const std::string& inner) {
    const int64_t lanes = std::min(Lanes(), LargestExtent(inner));
    if (lanes < 2) return false;
    int64_t body = 1;
    for (const Stmt* loop : LoopsNamed(inner)) body = std::max(body, StatementsIn(loop->body));
    int64_t unroll = std::min(schedule_.unroll, std::max<int64_t>(kUnrolledStatements / body, 1));
    unroll = std::min(unroll, LargestExtent(inner) / lanes);
    if (unroll > 1) {
      if (!Tile(inner, lanes * unroll, inner + "o", inner + "b")) return false;
      if (!Tile(inner + "b", lanes, inner + "u", inner + "v")) return false;
      const bool done = Vectorise(inner + "v");
      Unroll(inner + "u");
      return done;
    }
    return Tile(inner, lanes, inner + "o", inner + "v") && Vectorise(inner + "v");
  }

  // Names of loops with this prefix that hold no other loop, wherever they stand.
  std::set<std::string> Innermost(char prefix) const {
    std::map<std::string, bool> innermost;
    CollectInnermost(kernel_.body, prefix, innermost);
    std::set<std::string> names;
    for (const auto& [name, everywhere] : innermost) {
      if (everywhere) names.insert(name);
    }
    return names;
  }
  void CollectInnermost(const Block& block, char prefix, std::map<std::string, bool>& found) const {
    for (const Stmt& stmt : block) {
      if (stmt.kind == StmtKind::kFor && kernel_[stmt.var].name[0] == prefix) {
        const bool inner =
            AnyStmt(stmt.body, [](const Stmt& s) { return s.kind == StmtKind::kFor; });
        bool& everywhere = found.try_emplace(kernel_[stmt.var].name, true).first->second;
        everywhere &= !inner;
      }
      CollectInnermost(stmt.body, prefix, found);
      CollectInnermost(stmt.else_body, prefix, found);
    }
  }

  // What is copied and each window that is written are elements of their own; windows follow each
  // other in order.
  void Updates() {
    const std::vector<std::string> copied = Chain('i');
    if (!copied.empty() && Innermost('i').contains(copied.back())) Elementwise();
    for (const std::string& window : Innermost('w'))
      AllOrNothing([&] { return VectorLoop(window); });
  }

  void Reduction() {
    std::vector<std::string> outer = Chain('i'), reduced = Chain('k');
    if (reduced.empty()) return Elementwise();
    if (Narrow()) return;
    if (outer.size() > 1 && kernel_.klass == KernelClass::kContraction &&
        (Panels(outer, true) || Panels(outer, false))) {
      return;
    }
    const std::string k = FuseReduced(reduced);
    const bool along_k =
        outer.empty() || UnitStrides(kernel_, k) > std::max(UnitStrides(kernel_, outer.back()), 0);
    if (along_k && PrivateLanes(k)) return;
    if (kernel_.klass == KernelClass::kReduce) PartialSums(reduced, k);
    if (outer.empty()) return;
    Columns(outer.size() > 1 ? outer[outer.size() - 2] : "", outer.back());
  }

  bool Narrow() {
    if (kernel_.klass != KernelClass::kContraction) return false;
    const auto list = NarrowProduct(kernel_, schedule_, target_);
    return list && AllOrNothing([&] {
             return std::all_of(list->begin(), list->end(),
                                [&](const Primitive& primitive) { return Try(primitive); }) &&
                    Verify(kernel_).ok();
           });
  }

  // Vectors and rows of a register tile: as many accumulators as fit beside a row of the right
  // operand and one element of the left.
  int64_t TileVectors(int64_t extent, int64_t lanes) const {
    return std::clamp<int64_t>(extent / lanes, 1, schedule_.tile_n);
  }
  // A product of one row reads its right operand once, from memory: long runs of each row, so that
  // what is fetched ahead is used, and a tile for every thread.
  int64_t RowVectors(int64_t extent, int64_t lanes) const {
    const int64_t balanced = extent / (lanes * 2 * target_.threads);
    const int64_t most = target_.vector_registers * 3 / 4;
    return std::max(TileVectors(extent, lanes), std::min(balanced, most));
  }
  // Fewer rows than would fit where that leaves a fuller last tile: one of a single row keeps the
  // units waiting for its few accumulators.
  int64_t TileRows(int64_t vectors, int64_t extent) const {
    if (schedule_.tile_m > 0) return std::min(schedule_.tile_m, extent);
    const int64_t most = std::max<int64_t>((target_.vector_registers - vectors - 1) / vectors, 1);
    if (most >= extent) return extent;
    constexpr int64_t kFullRows = 4;
    int64_t best = most, least = INT64_MAX;
    for (int64_t rows = most; rows >= std::max<int64_t>(most * 2 / 3, 1); --rows) {
      const int64_t tail = extent % rows;
      const int64_t cost = extent - tail + (tail > 0 ? std::max(tail, kFullRows) : 0);
      // A smaller tile loads more per operation: it has to win by some.
      if (cost + cost / 20 >= least) continue;
      best = rows;
      least = cost;
    }
    return best;
  }

  // What a panel may take: half of the second-level cache, and no more than stacks can bear.
  int64_t PanelBytes() const {
    constexpr int64_t kMostStack = 800 << 10;
    return std::min(target_.l2_bytes * 4 / 5, kMostStack);
  }

  // Register tiles side by side in one panel: the left operand is read less often, as far as the
  // balance between threads allows and the next panel, which is fetched meanwhile, and the left
  // operand find a place in the second-level cache too.
  // `copied`: the left operand is copied for every panel, so fewer and larger ones pay.
  int64_t TilesOfPanel(int64_t column_bytes, int64_t columns, int64_t tile, bool copied) const {
    constexpr int64_t kMostTiles = 4, kPanelsPerThread = 4;
    const int64_t place = copied ? PanelBytes() : target_.l2_bytes / kPartOfCache;
    const int64_t in_cache = place / (column_bytes * tile);
    const int64_t balanced = columns / (tile * kPanelsPerThread * target_.threads);
    return std::clamp<int64_t>(std::min(in_cache, balanced), 1, kMostTiles);
  }

  // A product whose right operand is used in panels of columns.
  struct Panel {
    std::string operand;         // the right one
    std::vector<std::string> i;  // the loops over rows, which read the same of it again, outermost
                                 // first
    std::string n;               // the loop over columns
    int64_t rows = 1, columns = 0;
    int64_t column_bytes = 0;       // of the whole sum
    int64_t vectors = 0, tile = 0;  // the register tile: vectors of columns, rows
    std::optional<BufferId> left;
    bool blocked = false;  // the operand lasts, so it has been brought into that form once for all
  };

  std::optional<Panel> PanelOf(const std::vector<std::string>& outer, bool blocked) const {
    Panel panel{.n = outer.back(), .blocked = blocked};
    const std::string& m = outer[outer.size() - 2];
    const auto operand = RightOperand(kernel_, m, panel.n);
    panel.columns = LargestExtent(panel.n);
    if (Lanes() < 2 || panel.columns < Lanes() || !operand) return std::nullopt;
    if (UnitStrides(kernel_, panel.n, operand) <= 0) return std::nullopt;
    if (blocked && !Lasts(*operand)) return std::nullopt;
    size_t first = outer.size() - 1;
    while (first > 0 && !MovesWith(kernel_, *operand, outer[first - 1]))
      panel.rows *= LargestExtent(outer[--first]);
    panel.i.assign(outer.begin() + static_cast<std::ptrdiff_t>(first), outer.end() - 1);
    panel.operand = kernel_[*operand].name;
    panel.column_bytes = HeldBytes(*operand);
    for (const NamedLoop& loop : LoopChain(kernel_, 'k')) panel.column_bytes *= loop.extent;
    if (panel.column_bytes * panel.columns < PanelBytes()) return std::nullopt;  // stays in cache
    panel.left = RightOperand(kernel_, panel.n, m);
    return panel;
  }

  // An element of an operand in a local copy: narrow floats are widened there.
  int64_t HeldBytes(BufferId operand) const {
    return std::max<int64_t>(ByteSize(kernel_[operand].dtype), 4);
  }

  // Fills in the register tile; false: the panel is not used often enough to pay for its copy.
  bool TileOf(Panel& panel, int64_t vectors, int64_t rows) const {
    panel.vectors = vectors;
    panel.tile = TileRows(vectors, rows);
    return panel.blocked ? panel.rows >= 2 : panel.rows >= kPanelRows * panel.tile;
  }

  // A large product, one panel of columns after the other: the panel of the right operand is copied
  // to the stack, where its rows are neighbours, and all row tiles use it from there.
  bool Panels(const std::vector<std::string>& outer, bool blocked) {
    auto panel = PanelOf(outer, blocked);
    if (!panel || panel->i.empty()) return false;
    if (DeepPanels(*panel)) return true;
    const int64_t lanes = Lanes(), cache = PanelBytes(), column = panel->column_bytes;
    int64_t vectors = TileVectors(panel->columns, lanes);
    while (vectors > 1 && column * lanes * vectors > cache) --vectors;
    if (column * lanes * vectors > cache) return false;
    if (!TileOf(*panel, vectors, LargestExtent(panel->i.back()))) return false;
    return AllOrNothing([&] { return WholePanels(*panel, lanes * vectors); });
  }

  bool WholePanels(const Panel& panel, int64_t columns) {
    const std::string &n = panel.n, &m = panel.i.back();
    const std::string k = LoopChain(kernel_, 'k').back().name;
    const bool copied = panel.left && RowsCollide(*panel.left, panel.tile);
    const int64_t tiles = TilesOfPanel(panel.column_bytes, panel.columns, columns, copied);
    bool done = true;
    for (size_t i = panel.i.size(); i-- > 0 && done;) done = Reorder(panel.i[i], n);
    done = done && Tile(n, columns * tiles, n + "p", n + "c") &&
           Tile(n + "c", columns, n + "o", n + "t");
    for (const std::string& inner : {n + "t", n + "o"}) {
      for (size_t i = 0; i < panel.i.size() && done; ++i) done = Reorder(inner, panel.i[i]);
    }
    // A row tile of the left operand stays in the first-level cache for all tiles of the panel.
    done = done && Tile(m, panel.tile, m + "o", m + "t") && Reorder(m + "t", n + "o");
    const std::string products = done ? CutSum(k) : k;
    done = done && Distribute(n + "t") && Distribute(m + "t") &&
           BringRight(panel, columns, n + "p", products) &&
           VectoriseTile(n + "t", panel.vectors, Lanes());
    if (!done) return false;
    // Where the few parts of a sum stand one after the other, the first waits for no other.
    if (products != k && LargestExtent(k + "b") <= kFewParts) Unroll(k + "b");
    PackRows(m, n, products, panel.tile);
    PrefetchTile(m + "t", n + "o");
    return Unroll(m + "t"), true;
  }

  // What the end of a register tile reads and writes is asked for at its beginning: short pieces of
  // far rows, which the hardware would fetch only when the sums are done.
  void PrefetchTile(const std::string& rows, const std::string& tile) {
    std::vector<BufferId> used = kernel_.results;
    for (const BufferId id : kernel_.operands) {
      if (MovesWith(kernel_, id, rows) && MovesWith(kernel_, id, tile)) used.push_back(id);
    }
    for (const BufferId id : used) {
      if (BytesOf(kernel_, id) > target_.l1_bytes)
        Try({PrimitiveKind::kPrefetchTile, {kernel_[id].name, tile}, 0, ""});
    }
  }

  // A sum in a register tile as a sum of shorter ones, each a loop of its own: the rounding error
  // grows with the number of additions in a row. Returns the loop that adds products.
  std::string CutSum(const std::string& k) {
    const int64_t extent = LargestExtent(k), most = kChain * schedule_.tile_k;
    if (schedule_.tile_k == 0 || extent <= most) return k;
    const int64_t parts = (extent + most - 1) / most, part = (extent + parts - 1) / parts;
    const bool cut =
        AllOrNothing([&] { return Tile(k, part, k + "b", k + "i") && Privatise(k + "i"); });
    return cut ? k + "is" : k;
  }

  // The columns of the right operand that an iteration of `loop` needs come as runs of `columns`
  // that stand behind each other; the next iteration's are fetched meanwhile, in loop `k`.
  bool BringRight(const Panel& panel, int64_t columns, const std::string& loop,
                  const std::string& k) {
    if (panel.blocked && !Try({PrimitiveKind::kBlockOperand, {panel.operand}, columns, ""}))
      return false;
    if (LargestExtent(loop) > 1) Try({PrimitiveKind::kPrefetch, {panel.operand, loop, k}, 0, ""});
    return panel.blocked || Pack(panel.operand, loop, columns);
  }

  // A tile of columns that row tiles of `rows` may fetch again and again from where it is: from the
  // second-level cache only if there are rows enough to compute with meanwhile.
  int64_t ShallowBytes(int64_t rows) const {
    constexpr int64_t kManyRows = 8;
    return rows < kManyRows ? target_.l1_bytes : target_.l2_bytes / kPartOfCache;
  }

  // A deep sum, one block of it after the other: of each, the rows are copied to where they are
  // neighbours and stay in the second-level cache, a tile of columns in the first-level one. The
  // sums of the whole panel wait in local memory meanwhile.
  bool DeepPanels(Panel panel) {
    if (panel.i.size() != 1) return false;
    const std::string &n = panel.n, &m = panel.i.back();
    const int64_t depth = BlockOfSum(kernel_, m, n, schedule_.tile_k);
    if (depth == 0) return false;
    const std::string k = LoopChain(kernel_, 'k').back().name;
    const int64_t element = HeldBytes(*panel.left);
    const int64_t rows =
        EqualPart(panel.rows, 1, target_.l2_bytes / kPartOfCache / (depth * element));
    if (!TileOf(panel, TileVectors(panel.columns, Lanes()), rows)) return false;
    const int64_t columns = Lanes() * panel.vectors;
    if (panel.column_bytes * columns < ShallowBytes(panel.tile)) return false;
    const int64_t wide = ColumnsOfSums(panel, rows, columns, depth);
    return AllOrNothing([&] {
      bool done = Reorder(m, n) && Tile(n, wide, n + "p", n + "c");
      done = done && Reorder(n + "c", m) && Tile(m, rows, m + "p", m + "c") &&
             Tile(k, depth, k + "b", k + "i") && Privatise(k + "i") && DistributeOnce(n + "c") &&
             DistributeOnce(m + "c");
      done = done && Tile(n + "c", columns, n + "o", n + "t") && Reorder(m + "c", n + "o") &&
             Tile(m + "c", panel.tile, m + "o", m + "t") && Distribute(n + "t") &&
             Distribute(m + "t") && BringRight(panel, columns, n + "o", k + "is") &&
             Pack(kernel_[*panel.left].name, k + "b", depth) &&
             VectoriseTile(n + "t", panel.vectors, Lanes());
      return done && Unroll(m + "t");
    });
  }

  // Columns whose sums are kept at a time, for each thread some. A last part of another size has
  // arrays of its own, which the stack has to hold as well.
  int64_t ColumnsOfSums(const Panel& panel, int64_t rows, int64_t columns, int64_t depth) const {
    const int64_t element = HeldBytes(*panel.left);
    const int64_t extent = (panel.columns + target_.threads - 1) / target_.threads;
    int64_t wide = columns;
    for (int64_t copies = panel.rows % rows == 0 ? 1 : 2; copies <= 4; copies *= 2) {
      const int64_t beside = copies > 1 ? rows * depth * element : 0;
      const int64_t sums = (PanelBytes() / copies - beside) / (rows * element);
      wide = EqualPart(extent, columns, sums);
      if (panel.columns % wide == 0) break;
    }
    return wide;
  }

  // `extent` in equal parts of at most `most`, each a multiple of `unit`, or one part at least;
  // with no rest if that takes parts not much smaller.
  static int64_t EqualPart(int64_t extent, int64_t unit, int64_t most) {
    const int64_t units = (extent + unit - 1) / unit;
    const int64_t fit = std::clamp<int64_t>(most / unit, 1, units);
    for (int64_t part = fit; part >= (fit + 1) / 2; --part) {
      if (extent % (part * unit) == 0) return part * unit;
    }
    const int64_t parts = (units + fit - 1) / fit;
    return (units + parts - 1) / parts * unit;
  }

  bool Lasts(BufferId operand) const {
    for (size_t i = 0; i < lasting_.size(); ++i) {
      if (lasting_[i] && kernel_.operands[i] == operand) return true;
    }
    return false;
  }

  // Rows that lie a large power of two apart fall into the same few sets of the first-level cache
  // and push each other out.
  bool RowsCollide(BufferId operand, int64_t rows) const {
    constexpr int64_t kLine = 64, kSets = 64, kWays = 8;
    const Buffer& buffer = kernel_[operand];
    if (buffer.dims.empty()) return false;
    const int64_t stride = buffer.dims.back() * ByteSize(buffer.dtype) / kLine;
    return rows * 2 > kSets / std::gcd(kSets, stride) * kWays;
  }

  // Such a tile of the left operand is copied into runs side by side.
  void PackRows(const std::string& m, const std::string& n, const std::string& k, int64_t tile) {
    constexpr int64_t kRun = 64;
    const auto left = RightOperand(kernel_, n + "p", m + "o");
    if (!left || !RowsCollide(*left, tile) || UnitStrides(kernel_, k, left) <= 0) return;
    const Buffer rows = kernel_[*left];
    AllOrNothing([&] { return Tile(k, kRun, k + "o", k + "i") && Pack(rows.name, m + "o", kRun); });
  }

  // The innermost reduction loop after its contiguous neighbours joined it.
  std::string FuseReduced(const std::vector<std::string>& reduced) {
    const std::string k = FuseInner(reduced, "kf");
    return k == reduced.back() ? FuseFlat(reduced, "kf") : k;
  }

  // A long sum as a sum of partial sums, and these in turn: the rounding error grows with the
  // number of additions in a row. Loops that could not be fused each get their own.
  void PartialSums(const std::vector<std::string>& reduced, const std::string& k) {
    const int64_t extent = LargestExtent(k);
    int64_t part = extent > kLongSum ? kPartOfSum : 0;
    while (part != 0 && part * kPartOfSum < extent) part *= kPartOfSum;
    for (std::string cut = k; part > 1; part /= kPartOfSum, cut += "ps") {
      const bool done = AllOrNothing(
          [&] { return Tile(cut, part, cut + "b", cut + "p") && Privatise(cut + "p"); });
      if (!done) break;
    }
    std::string inner = LoopsNamed(k).empty() ? k + "b" : k;
    for (size_t i = reduced.size(); i-- > 0;) {
      if (LoopsNamed(reduced[i]).empty() || reduced[i] == k) continue;  // part of k
      if (LargestExtent(inner) >= kLongSum / 8) Privatise(inner);
      inner = reduced[i];
    }
  }
  bool Privatise(const std::string& loop) {
    return Try({PrimitiveKind::kPrivatise, {loop, loop + "s", loop + "l"}, 1, ""});
  }

  // Vector accumulators along the reduction itself.
  bool PrivateLanes(const std::string& k) {
    int64_t extent = INT64_MAX;
    for (const Stmt* loop : LoopsNamed(k)) {
      if (loop->reduces) extent = std::min(extent, loop->extent);
    }
    const int64_t lanes = Lanes();
    int64_t vectors = schedule_.reduce_lanes;
    while (vectors > 1 && lanes * vectors > extent) vectors /= 2;
    if (lanes < 2 || lanes * vectors > extent) return false;
    if (!Try({PrimitiveKind::kPrivatise, {k, k + "s", k + "l"}, lanes * vectors, ""})) return false;
    Vectorise(k + "lc");
    if (vectors == 1) return Vectorise(k + "l"), true;
    if (Tile(k + "l", lanes, k + "lu", k + "lv")) {
      Vectorise(k + "lv");
      Unroll(k + "lu");
    }
    return true;
  }

  // Vectors across the last output dimension `n`, the reduction outside of them; a contraction or
  // convolution also takes several rows `m` at once (if there are any): its register tile.
  void Columns(const std::string& m, const std::string& n) {
    const int64_t extent = LargestExtent(n), lanes = std::min(Lanes(), extent);
    if (lanes < 2) return;
    const bool contraction =
        kernel_.klass == KernelClass::kContraction || kernel_.klass == KernelClass::kAttention;
    const bool one_row = LargestExtent(m) <= 1;
    const int64_t vectors = contraction && one_row ? RowVectors(extent, lanes)
                            : contraction
                                ? TileVectors(extent, lanes)
                                : std::clamp<int64_t>(extent / lanes, 1, schedule_.unroll);
    if (!contraction && FromMemory() && LongRuns(n, extent, lanes)) return;
    if (kernel_.klass == KernelClass::kContraction && one_row && OneRow(m, n, extent, lanes))
      return;
    if (!Tile(n, lanes * vectors, n + "o", n + "t")) return;
    bool rows = false;
    if (contraction && !one_row) {
      const int64_t tile = TileRows(vectors, LargestExtent(m));
      rows = tile > 1 && Tile(m, tile, m + "o", m + "t");
    }
    if (rows) Reorder(m + "t", n + "o");
    const bool moved = Distribute(n + "t");
    if (moved && rows && Distribute(m + "t")) Unroll(m + "t");
    VectoriseTile(n + "t", vectors, lanes);
    if (rows && kernel_.klass == KernelClass::kContraction) PrefetchTile(m + "t", n + "o");
  }

  // Some operand is larger than the caches next to the core.
  bool FromMemory() const {
    return std::any_of(kernel_.operands.begin(), kernel_.operands.end(),
                       [&](BufferId id) { return BytesOf(kernel_, id) > target_.l2_bytes; });
  }

  // Columns whose sums find a place in the first-level cache, some for each thread: a multiple of
  // `unit`.
  int64_t RunOf(int64_t extent, int64_t unit) const {
    constexpr int64_t kRunBytes = 16 << 10;
    return std::min(kRunBytes / WidestElement(), extent / target_.threads) / unit * unit;
  }

  // Columns of an array in memory: short pieces of rows far apart would each be a page and a stream
  // of its own, so long ones are read, and their sums wait in the first-level cache.
  bool LongRuns(const std::string& n, int64_t extent, int64_t lanes) {
    const int64_t run = RunOf(extent, lanes);
    if (run < 2 * schedule_.unroll * lanes) return false;
    const bool done =
        AllOrNothing([&] { return Tile(n, run, n + "o", n + "t") && Distribute(n + "t"); });
    if (done) VectorLoop(n + "t");
    return done;
  }

  // A product of one row reads its right operand once, from memory: some rows of it side by side,
  // each a stream that the hardware fetches ahead, and the sums are touched once for all of them.
  bool OneRow(const std::string& m, const std::string& n, int64_t extent, int64_t lanes) {
    constexpr int64_t kStreams = 8;
    const auto right = RightOperand(kernel_, m, n);
    const std::vector<NamedLoop> summed = LoopChain(kernel_, 'k');
    if (!right || summed.empty() || BytesOf(kernel_, *right) <= target_.l2_bytes) return false;
    const std::string k = summed.back().name;
    const int64_t piece = lanes * schedule_.unroll, run = RunOf(extent, piece);
    if (run < 2 * piece) return false;
    return AllOrNothing([&] {
      return Tile(n, run, n + "o", n + "r") && Distribute(n + "r") &&
             Tile(n + "r", piece, n + "b", n + "t") && Tile(k, kStreams, k + "o", k + "i") &&
             Reorder(k + "i", n + "b") && Unroll(k + "i") &&
             VectoriseTile(n + "t", schedule_.unroll, lanes);
    });
  }

  bool VectoriseTile(const std::string& loop, int64_t vectors, int64_t lanes) {
    if (vectors == 1) return Vectorise(loop);
    const std::string stem = loop.substr(0, loop.size() - 1);
    return Tile(loop, lanes, stem + "u", stem + "v") && Vectorise(stem + "v") && Unroll(stem + "u");
  }

  // Copies with vectors: the innermost loop of the copy runs along the columns.
  bool Pack(const std::string& operand, const std::string& loop, int64_t run) {
    if (!Try({PrimitiveKind::kPack, {operand, loop}, run, ""})) return false;
    bool vectors = true;
    for (const std::string& copy : CopiesIn(loop)) vectors = vectors && Vectorise(copy);
    return vectors;
  }
  std::vector<std::string> CopiesIn(const std::string& loop) const {
    std::vector<std::string> names;
    for (const Stmt* panel : LoopsNamed(loop)) {
      if (panel->body.size() < 2 || panel->body[0].kind != StmtKind::kAlloc) continue;
      const Stmt* copy = &panel->body[1];
      while (copy->body.size() == 1 && copy->body[0].kind == StmtKind::kFor) copy = &copy->body[0];
      names.push_back(kernel_[copy->var].name);
    }
    return names;
  }

  void Row(const std::string& j) {
    PrivateLanes(j);
    if (!LoopsNamed(j).empty()) VectorLoop(j);
  }

  // The loops of lower_attention.cpp: two products, the rows between them and what they share.
  void Attention() {
    const int64_t lanes = Lanes();
    if (lanes >= 2 && LargestExtent("x0") >= lanes && Tile("x0", lanes, "x0o", "x0v")) {
      const bool square = LargestExtent("y0") >= lanes && Tile("y0", lanes, "y0o", "y0t");
      if (square) Reorder("x0v", "y0o");
      Reorder("x0v", square ? "y0t" : "y0");
      Vectorise("x0v");
      if (square) UnrollSquare("y0t", lanes);
    }
    Columns("m0", "n0");
    Row("j0");
    Columns("p0", "c0");
  }

  // The outermost loop of every top-level nest, where there is enough to do.
  void Parallelise() {
    int64_t grain = schedule_.parallel_grain;
    if (grain == 0)
      grain = static_cast<int64_t>(kForkJoins * target_.fork_join_ns / kNanosecondsPerElement);
    if (target_.threads < 2 && schedule_.parallel_grain == 0) return;
    if (IterationsIn(kernel_.body) < 2 * grain) return;
    std::vector<std::string> names;
    for (const Stmt& stmt : kernel_.body) {
      if (stmt.kind != StmtKind::kFor) continue;
      const std::string& name = kernel_[stmt.var].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    for (const std::string& name : names) TryVerified({PrimitiveKind::kParallel, {name}, 0, ""});
  }

  Kernel kernel_;
  const Schedule& schedule_;
  const Target& target_;
  const std::vector<bool>& lasting_;
  std::vector<Primitive> list_;
};

}  // namespace

Result<std::vector<Primitive>> ScheduleToPrimitives(const Kernel& kernel, const Schedule& schedule,
                                                    const Target& target,
                                                    const std::vector<bool>& lasting) {
  FM_RETURN_IF_ERROR(Verify(kernel));
  return Scheduler(kernel, schedule, target, lasting).Run();
}

Result<Kernel> ApplySchedule(const Kernel& kernel, const Schedule& schedule, const Target& target,
                             const std::vector<bool>& lasting) {
  FM_TRY(auto primitives, ScheduleToPrimitives(kernel, schedule, target, lasting));
  for (;; primitives.pop_back()) {
    FM_TRY(const Kernel scheduled, Replay(kernel, primitives));
    Kernel simple = Simplify(scheduled);
    const auto proof = Verify(simple);
    if (proof.ok()) return simple;
    if (primitives.empty()) return proof.error();
  }
}

}  // namespace fusemark::loops
