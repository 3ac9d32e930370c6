#include "compiler/loops/schedule_product.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/loops/load_analysis.h"

namespace fusemark::loops {
namespace {

// Products that a register tile adds up in a row, in units of a cached block of a sum; and how many
// parts of a sum are worth the repeated code.
constexpr int64_t kChain = 3, kFewParts = 4;
// Row tiles that must use a panel of columns before copying it pays.
constexpr int64_t kPanelRows = 2;
// What a panel, and the rows that are kept beside it, may take of the second-level cache.
constexpr int64_t kPartOfCache = 8;

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

class Panels {
 public:
  explicit Panels(ScheduleBuilder& steps) : steps_(steps) {}

  // `blocked`: only where the right operand lasts, and may come to be expected in blocks.
  bool Schedule(const std::vector<std::string>& outer, bool blocked) {
    auto panel = PanelOf(outer, blocked);
    if (!panel || panel->i.empty()) return false;
    if (DeepPanels(*panel)) return true;
    const int64_t lanes = steps_.Lanes(), cache = PanelBytes(), column = panel->column_bytes;
    int64_t vectors = TileVectors(steps_, panel->columns, lanes);
    while (vectors > 1 && column * lanes * vectors > cache) --vectors;
    if (column * lanes * vectors > cache) return false;
    if (!TileOf(*panel, vectors, steps_.LargestExtent(panel->i.back()))) return false;
    return steps_.AllOrNothing([&] { return WholePanels(*panel, lanes * vectors); });
  }

 private:
  // What a panel may take: half of the second-level cache, and no more than stacks can bear.
  int64_t PanelBytes() const {
    constexpr int64_t kMostStack = 800 << 10;
    return std::min(steps_.target().l2_bytes * 4 / 5, kMostStack);
  }

  // Register tiles side by side in one panel: the left operand is read less often, as far as the
  // balance between threads allows and the next panel, which is fetched meanwhile, and the left
  // operand find a place in the second-level cache too.
  // `copied`: the left operand is copied for every panel, so fewer and larger ones pay.
  int64_t TilesOfPanel(int64_t column_bytes, int64_t columns, int64_t tile, bool copied) const {
    constexpr int64_t kMostTiles = 4, kPanelsPerThread = 4;
    const int64_t place = copied ? PanelBytes() : steps_.target().l2_bytes / kPartOfCache;
    const int64_t in_cache = place / (column_bytes * tile);
    const int64_t balanced = columns / (tile * kPanelsPerThread * steps_.target().threads);
    return std::clamp<int64_t>(std::min(in_cache, balanced), 1, kMostTiles);
  }

  std::optional<Panel> PanelOf(const std::vector<std::string>& outer, bool blocked) const {
    Panel panel{.n = outer.back(), .blocked = blocked};
    const std::string& m = outer[outer.size() - 2];
    const auto operand = RightOperand(steps_.kernel(), m, panel.n);
    panel.columns = steps_.LargestExtent(panel.n);
    if (steps_.Lanes() < 2 || panel.columns < steps_.Lanes() || !operand) return std::nullopt;
    if (UnitStrides(steps_.kernel(), panel.n, operand) <= 0) return std::nullopt;
    if (blocked && !steps_.Lasts(*operand)) return std::nullopt;
    size_t first = outer.size() - 1;
    while (first > 0 && !MovesWith(steps_.kernel(), *operand, outer[first - 1]))
      panel.rows *= steps_.LargestExtent(outer[--first]);
    panel.i.assign(outer.begin() + static_cast<std::ptrdiff_t>(first), outer.end() - 1);
    panel.operand = steps_.kernel()[*operand].name;
    panel.column_bytes = HeldBytes(*operand);
    for (const NamedLoop& loop : LoopChain(steps_.kernel(), 'k')) panel.column_bytes *= loop.extent;
    if (panel.column_bytes * panel.columns < PanelBytes()) return std::nullopt;  // stays in cache
    panel.left = RightOperand(steps_.kernel(), panel.n, m);
    return panel;
  }

  // An element of an operand in a local copy: narrow floats are widened there.
  int64_t HeldBytes(BufferId operand) const {
    return std::max<int64_t>(ByteSize(steps_.kernel()[operand].dtype), 4);
  }

  // Fills in the register tile; false: the panel is not used often enough to pay for its copy.
  bool TileOf(Panel& panel, int64_t vectors, int64_t rows) const {
    panel.vectors = vectors;
    panel.tile = TileRows(steps_, vectors, rows);
    return panel.blocked ? panel.rows >= 2 : panel.rows >= kPanelRows * panel.tile;
  }

  bool WholePanels(const Panel& panel, int64_t columns) {
    const std::string &n = panel.n, &m = panel.i.back();
    const std::string k = LoopChain(steps_.kernel(), 'k').back().name;
    const bool copied = panel.left && RowsCollide(*panel.left, panel.tile);
    const int64_t tiles = TilesOfPanel(panel.column_bytes, panel.columns, columns, copied);
    bool done = true;
    for (size_t i = panel.i.size(); i-- > 0 && done;) done = steps_.Reorder(panel.i[i], n);
    done = done && steps_.Tile(n, columns * tiles, n + "p", n + "c") &&
           steps_.Tile(n + "c", columns, n + "o", n + "t");
    for (const std::string& inner : {n + "t", n + "o"}) {
      for (size_t i = 0; i < panel.i.size() && done; ++i) done = steps_.Reorder(inner, panel.i[i]);
    }
    // A row tile of the left operand stays in the first-level cache for all tiles of the panel.
    done = done && steps_.Tile(m, panel.tile, m + "o", m + "t") && steps_.Reorder(m + "t", n + "o");
    const std::string products = done ? CutSum(k) : k;
    done = done && steps_.Distribute(n + "t") && steps_.Distribute(m + "t") &&
           BringRight(panel, columns, n + "p", products) &&
           steps_.VectoriseTile(n + "t", panel.vectors, steps_.Lanes());
    if (!done) return false;
    // Where the few parts of a sum stand one after the other, the first waits for no other.
    if (products != k && steps_.LargestExtent(k + "b") <= kFewParts) steps_.Unroll(k + "b");
    PackRows(m, n, products, panel.tile);
    PrefetchTile(steps_, m + "t", n + "o");
    return steps_.Unroll(m + "t"), true;
  }

  // A sum in a register tile as a sum of shorter ones, each a loop of its own: the rounding error
  // grows with the number of additions in a row. Returns the loop that adds products.
  std::string CutSum(const std::string& k) {
    const int64_t extent = steps_.LargestExtent(k), most = kChain * steps_.schedule().tile_k;
    if (steps_.schedule().tile_k == 0 || extent <= most) return k;
    const int64_t parts = (extent + most - 1) / most, part = (extent + parts - 1) / parts;
    const bool cut = steps_.AllOrNothing(
        [&] { return steps_.Tile(k, part, k + "b", k + "i") && steps_.Privatise(k + "i"); });
    return cut ? k + "is" : k;
  }

  // The columns of the right operand that an iteration of `loop` needs come as runs of `columns`
  // that stand behind each other; the next iteration's are fetched meanwhile, in loop `k`.
  bool BringRight(const Panel& panel, int64_t columns, const std::string& loop,
                  const std::string& k) {
    if (panel.blocked && !steps_.Try({PrimitiveKind::kBlockOperand, {panel.operand}, columns, ""}))
      return false;
    if (steps_.LargestExtent(loop) > 1)
      steps_.Try({PrimitiveKind::kPrefetch, {panel.operand, loop, k}, 0, ""});
    return panel.blocked || steps_.Pack(panel.operand, loop, columns);
  }

  // A tile of columns that row tiles of `rows` may fetch again and again from where it is: from the
  // second-level cache only if there are rows enough to compute with meanwhile.
  int64_t ShallowBytes(int64_t rows) const {
    constexpr int64_t kManyRows = 8;
    return rows < kManyRows ? steps_.target().l1_bytes : steps_.target().l2_bytes / kPartOfCache;
  }

  // A deep sum, one block of it after the other: of each, the rows are copied to where they are
  // neighbours and stay in the second-level cache, a tile of columns in the first-level one. The
  // sums of the whole panel wait in local memory meanwhile.
  bool DeepPanels(Panel panel) {
    if (panel.i.size() != 1) return false;
    const std::string &n = panel.n, &m = panel.i.back();
    const int64_t depth = BlockOfSum(steps_.kernel(), m, n, steps_.schedule().tile_k);
    if (depth == 0) return false;
    const std::string k = LoopChain(steps_.kernel(), 'k').back().name;
    const int64_t element = HeldBytes(*panel.left);
    const int64_t rows =
        EqualPart(panel.rows, 1, steps_.target().l2_bytes / kPartOfCache / (depth * element));
    if (!TileOf(panel, TileVectors(steps_, panel.columns, steps_.Lanes()), rows)) return false;
    const int64_t columns = steps_.Lanes() * panel.vectors;
    if (panel.column_bytes * columns < ShallowBytes(panel.tile)) return false;
    const int64_t wide = ColumnsOfSums(panel, rows, columns, depth);
    return steps_.AllOrNothing([&] {
      bool done = steps_.Reorder(m, n) && steps_.Tile(n, wide, n + "p", n + "c");
      done = done && steps_.Reorder(n + "c", m) && steps_.Tile(m, rows, m + "p", m + "c") &&
             steps_.Tile(k, depth, k + "b", k + "i") && steps_.Privatise(k + "i") &&
             steps_.DistributeOnce(n + "c") && steps_.DistributeOnce(m + "c");
      done = done && steps_.Tile(n + "c", columns, n + "o", n + "t") &&
             steps_.Reorder(m + "c", n + "o") &&
             steps_.Tile(m + "c", panel.tile, m + "o", m + "t") && steps_.Distribute(n + "t") &&
             steps_.Distribute(m + "t") && BringRight(panel, columns, n + "o", k + "is") &&
             steps_.Pack(steps_.kernel()[*panel.left].name, k + "b", depth) &&
             steps_.VectoriseTile(n + "t", panel.vectors, steps_.Lanes());
      return done && steps_.Unroll(m + "t");
    });
  }

  // Columns whose sums are kept at a time, for each thread some. A last part of another size has
  // arrays of its own, which the stack has to hold as well.
  int64_t ColumnsOfSums(const Panel& panel, int64_t rows, int64_t columns, int64_t depth) const {
    const int64_t element = HeldBytes(*panel.left);
    const int64_t extent = (panel.columns + steps_.target().threads - 1) / steps_.target().threads;
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

  // Rows that lie a large power of two apart fall into the same few sets of the first-level cache
  // and push each other out.
  bool RowsCollide(BufferId operand, int64_t rows) const {
    constexpr int64_t kLine = 64, kSets = 64, kWays = 8;
    const Buffer& buffer = steps_.kernel()[operand];
    if (buffer.dims.empty()) return false;
    const int64_t stride = buffer.dims.back() * ByteSize(buffer.dtype) / kLine;
    return rows * 2 > kSets / std::gcd(kSets, stride) * kWays;
  }

  // Such a tile of the left operand is copied into runs side by side.
  void PackRows(const std::string& m, const std::string& n, const std::string& k, int64_t tile) {
    constexpr int64_t kRun = 64;
    const auto left = RightOperand(steps_.kernel(), n + "p", m + "o");
    if (!left || !RowsCollide(*left, tile) || UnitStrides(steps_.kernel(), k, left) <= 0) return;
    const Buffer rows = steps_.kernel()[*left];
    steps_.AllOrNothing([&] {
      return steps_.Tile(k, kRun, k + "o", k + "i") && steps_.Pack(rows.name, m + "o", kRun);
    });
  }

  ScheduleBuilder& steps_;
};

}  // namespace

int64_t TileVectors(const ScheduleBuilder& steps, int64_t extent, int64_t lanes) {
  return std::clamp<int64_t>(extent / lanes, 1, steps.schedule().tile_n);
}

// Fewer rows than would fit where that leaves a fuller last tile: one of a single row keeps the
// units waiting for its few accumulators.
int64_t TileRows(const ScheduleBuilder& steps, int64_t vectors, int64_t extent) {
  if (steps.schedule().tile_m > 0) return std::min(steps.schedule().tile_m, extent);
  const int64_t most =
      std::max<int64_t>((steps.target().vector_registers - vectors - 1) / vectors, 1);
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

void PrefetchTile(ScheduleBuilder& steps, const std::string& rows, const std::string& tile) {
  std::vector<BufferId> used = steps.kernel().results;
  for (const BufferId id : steps.kernel().operands) {
    if (MovesWith(steps.kernel(), id, rows) && MovesWith(steps.kernel(), id, tile))
      used.push_back(id);
  }
  for (const BufferId id : used) {
    if (BytesOf(steps.kernel(), id) > steps.target().l1_bytes)
      steps.Try({PrimitiveKind::kPrefetchTile, {steps.kernel()[id].name, tile}, 0, ""});
  }
}

bool ScheduleInPanels(ScheduleBuilder& steps, const std::vector<std::string>& outer) {
  Panels panels(steps);
  return panels.Schedule(outer, true) || panels.Schedule(outer, false);
}

}  // namespace fusemark::loops
