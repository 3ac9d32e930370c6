#include "compiler/loops/schedule_cpu.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/loops/load_analysis.h"
#include "compiler/loops/schedule_builder.h"
#include "compiler/loops/schedule_narrow.h"
#include "compiler/loops/schedule_product.h"
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

// What is done with each kernel class.
class Scheduler {
 public:
  Scheduler(const Kernel& kernel, const Schedule& schedule, const Target& target,
            const std::vector<bool>& lasting)
      : steps_(kernel, schedule, target, lasting) {}

  std::vector<Primitive> Run() {
    switch (steps_.kernel().klass) {
      case KernelClass::kLoop: Elementwise(); break;
      case KernelClass::kReduce:
      case KernelClass::kWindow:
      case KernelClass::kContraction: Reduction(); break;
      case KernelClass::kRow:
        if (const std::vector<std::string> along = steps_.Chain('j'); !along.empty())
          Row(along.back());
        break;
      case KernelClass::kAttention: Attention(); break;
      case KernelClass::kUpdate: Updates(); break;
    }
    Parallelise();
    return std::move(steps_).Take();
  }

 private:
  void Elementwise() {
    const std::vector<std::string> loops = steps_.Chain('i');
    if (loops.empty() || TransposeByTiles(loops)) return;
    std::string inner = steps_.FuseInner(loops);
    steps_.VectorLoop(inner == loops.back() ? steps_.FuseFlat(loops, "f") : inner);
  }

  // Where memory is written along the innermost loop but some operand runs along another one, `m`:
  // a square of both at a time, so that each line read is used as a whole while it is near.
  bool TransposeByTiles(const std::vector<std::string>& loops) {
    const std::string& n = loops.back();
    size_t m = loops.size() - 1;
    for (const BufferId operand : steps_.kernel().operands) {
      if (BytesOf(steps_.kernel(), operand) <= steps_.target().l1_bytes ||
          UnitStrides(steps_.kernel(), n, operand) >= 0)
        continue;
      for (size_t i = loops.size() - 1; i-- > 0;) {
        if (UnitStrides(steps_.kernel(), loops[i], operand) > 0) m = i;
      }
    }
    const int64_t lanes = steps_.Lanes();
    if (m + 1 == loops.size() || lanes < 2 || steps_.LargestExtent(n) < lanes) return false;
    return steps_.AllOrNothing([&] {
      bool done = steps_.Tile(loops[m], lanes, loops[m] + "o", loops[m] + "t") &&
                  steps_.Tile(n, lanes, n + "o", n + "v");
      for (size_t i = m + 1; i < loops.size() && done; ++i) {
        const std::string& inside = i + 1 < loops.size() ? loops[i] : n + "o";
        done = steps_.Reorder(loops[m] + "t", inside) && steps_.Reorder(loops[m] + "o", inside);
      }
      if (done && steps_.Vectorise(n + "v")) return UnrollSquare(loops[m] + "t", lanes), true;
      return false;
    });
  }

  // The rows of a square are loaded at once and turned in registers where the loop is unrolled.
  void UnrollSquare(const std::string& loop, int64_t lanes) {
    int64_t body = 1;
    for (const Stmt* square : steps_.LoopsNamed(loop))
      body = std::max(body, StatementsIn(square->body));
    if (body * lanes <= kUnrolledStatements) steps_.Unroll(loop);
  }

  // What is copied and each window that is written are elements of their own; windows follow each
  // other in order.
  void Updates() {
    const std::vector<std::string> copied = steps_.Chain('i');
    if (!copied.empty() && steps_.Innermost('i').contains(copied.back())) Elementwise();
    for (const std::string& window : steps_.Innermost('w'))
      steps_.AllOrNothing([&] { return steps_.VectorLoop(window); });
  }

  void Reduction() {
    std::vector<std::string> outer = steps_.Chain('i'), reduced = steps_.Chain('k');
    if (reduced.empty()) return Elementwise();
    if (Narrow()) return;
    if (outer.size() > 1 && steps_.kernel().klass == KernelClass::kContraction &&
        ScheduleInPanels(steps_, outer)) {
      return;
    }
    const std::string k = FuseReduced(reduced);
    const bool along_k =
        outer.empty() ||
        UnitStrides(steps_.kernel(), k) > std::max(UnitStrides(steps_.kernel(), outer.back()), 0);
    if (along_k && PrivateLanes(k)) return;
    if (steps_.kernel().klass == KernelClass::kReduce) PartialSums(reduced, k);
    if (outer.empty()) return;
    Columns(outer.size() > 1 ? outer[outer.size() - 2] : "", outer.back());
  }

  bool Narrow() {
    if (steps_.kernel().klass != KernelClass::kContraction) return false;
    const auto list = NarrowProduct(steps_.kernel(), steps_.schedule(), steps_.target());
    return list && steps_.AllOrNothing([&] {
      return std::all_of(list->begin(), list->end(),
                         [&](const Primitive& primitive) { return steps_.Try(primitive); }) &&
             Verify(steps_.kernel()).ok();
    });
  }

  // A product of one row reads its right operand once, from memory: long runs of each row, so that
  // what is fetched ahead is used, and a tile for every thread.
  int64_t RowVectors(int64_t extent, int64_t lanes) const {
    const int64_t balanced = extent / (lanes * 2 * steps_.target().threads);
    const int64_t most = steps_.target().vector_registers * 3 / 4;
    return std::max(TileVectors(steps_, extent, lanes), std::min(balanced, most));
  }

  // The innermost reduction loop after its contiguous neighbours joined it.
  std::string FuseReduced(const std::vector<std::string>& reduced) {
    const std::string k = steps_.FuseInner(reduced, "kf");
    return k == reduced.back() ? steps_.FuseFlat(reduced, "kf") : k;
  }

  // A long sum as a sum of partial sums, and these in turn: the rounding error grows with the
  // number of additions in a row. Loops that could not be fused each get their own.
  void PartialSums(const std::vector<std::string>& reduced, const std::string& k) {
    const int64_t extent = steps_.LargestExtent(k);
    int64_t part = extent > kLongSum ? kPartOfSum : 0;
    while (part != 0 && part * kPartOfSum < extent) part *= kPartOfSum;
    for (std::string cut = k; part > 1; part /= kPartOfSum, cut += "ps") {
      const bool done = steps_.AllOrNothing([&] {
        return steps_.Tile(cut, part, cut + "b", cut + "p") && steps_.Privatise(cut + "p");
      });
      if (!done) break;
    }
    std::string inner = steps_.LoopsNamed(k).empty() ? k + "b" : k;
    for (size_t i = reduced.size(); i-- > 0;) {
      if (steps_.LoopsNamed(reduced[i]).empty() || reduced[i] == k) continue;  // part of k
      if (steps_.LargestExtent(inner) >= kLongSum / 8) steps_.Privatise(inner);
      inner = reduced[i];
    }
  }

  // Vector accumulators along the reduction itself.
  bool PrivateLanes(const std::string& k) {
    int64_t extent = INT64_MAX;
    for (const Stmt* loop : steps_.LoopsNamed(k)) {
      if (loop->reduces) extent = std::min(extent, loop->extent);
    }
    const int64_t lanes = steps_.Lanes();
    int64_t vectors = steps_.schedule().reduce_lanes;
    while (vectors > 1 && lanes * vectors > extent) vectors /= 2;
    if (lanes < 2 || lanes * vectors > extent) return false;
    if (!steps_.Privatise(k, lanes * vectors)) return false;
    steps_.Vectorise(k + "lc");
    if (vectors == 1) return steps_.Vectorise(k + "l"), true;
    if (steps_.Tile(k + "l", lanes, k + "lu", k + "lv")) {
      steps_.Vectorise(k + "lv");
      steps_.Unroll(k + "lu");
    }
    return true;
  }

  // Vectors across the last output dimension `n`, the reduction outside of them; a contraction or
  // convolution also takes several rows `m` at once (if there are any): its register tile.
  void Columns(const std::string& m, const std::string& n) {
    const int64_t extent = steps_.LargestExtent(n), lanes = std::min(steps_.Lanes(), extent);
    if (lanes < 2) return;
    const bool contraction = steps_.kernel().klass == KernelClass::kContraction ||
                             steps_.kernel().klass == KernelClass::kAttention;
    const bool one_row = steps_.LargestExtent(m) <= 1;
    const int64_t vectors = contraction && one_row ? RowVectors(extent, lanes)
                            : contraction
                                ? TileVectors(steps_, extent, lanes)
                                : std::clamp<int64_t>(extent / lanes, 1, steps_.schedule().unroll);
    if (!contraction && FromMemory() && LongRuns(n, extent, lanes)) return;
    if (steps_.kernel().klass == KernelClass::kContraction && one_row &&
        OneRow(m, n, extent, lanes))
      return;
    if (!steps_.Tile(n, lanes * vectors, n + "o", n + "t")) return;
    bool rows = false;
    if (contraction && !one_row) {
      const int64_t tile = TileRows(steps_, vectors, steps_.LargestExtent(m));
      rows = tile > 1 && steps_.Tile(m, tile, m + "o", m + "t");
    }
    if (rows) steps_.Reorder(m + "t", n + "o");
    const bool moved = steps_.Distribute(n + "t");
    if (moved && rows && steps_.Distribute(m + "t")) steps_.Unroll(m + "t");
    steps_.VectoriseTile(n + "t", vectors, lanes);
    if (rows && steps_.kernel().klass == KernelClass::kContraction)
      PrefetchTile(steps_, m + "t", n + "o");
  }

  // Some operand is larger than the caches next to the core.
  bool FromMemory() const {
    return std::any_of(
        steps_.kernel().operands.begin(), steps_.kernel().operands.end(),
        [&](BufferId id) { return BytesOf(steps_.kernel(), id) > steps_.target().l2_bytes; });
  }

  // Columns whose sums find a place in the first-level cache, some for each thread: a multiple of
  // `unit`.
  int64_t RunOf(int64_t extent, int64_t unit) const {
    constexpr int64_t kRunBytes = 16 << 10;
    return std::min(kRunBytes / steps_.WidestElement(), extent / steps_.target().threads) / unit *
           unit;
  }

  // Columns of an array in memory: short pieces of rows far apart would each be a page and a stream
  // of its own, so long ones are read, and their sums wait in the first-level cache.
  bool LongRuns(const std::string& n, int64_t extent, int64_t lanes) {
    const int64_t run = RunOf(extent, lanes);
    if (run < 2 * steps_.schedule().unroll * lanes) return false;
    const bool done = steps_.AllOrNothing(
        [&] { return steps_.Tile(n, run, n + "o", n + "t") && steps_.Distribute(n + "t"); });
    if (done) steps_.VectorLoop(n + "t");
    return done;
  }

  // A product of one row reads its right operand once, from memory: some rows of it side by side,
  // each a stream that the hardware fetches ahead, and the sums are touched once for all of them.
  bool OneRow(const std::string& m, const std::string& n, int64_t extent, int64_t lanes) {
    constexpr int64_t kStreams = 8;
    const auto right = RightOperand(steps_.kernel(), m, n);
    const std::vector<NamedLoop> summed = LoopChain(steps_.kernel(), 'k');
    if (!right || summed.empty() || BytesOf(steps_.kernel(), *right) <= steps_.target().l2_bytes)
      return false;
    const std::string k = summed.back().name;
    const int64_t piece = lanes * steps_.schedule().unroll, run = RunOf(extent, piece);
    if (run < 2 * piece) return false;
    return steps_.AllOrNothing([&] {
      return steps_.Tile(n, run, n + "o", n + "r") && steps_.Distribute(n + "r") &&
             steps_.Tile(n + "r", piece, n + "b", n + "t") &&
             steps_.Tile(k, kStreams, k + "o", k + "i") && steps_.Reorder(k + "i", n + "b") &&
             steps_.Unroll(k + "i") &&
             steps_.VectoriseTile(n + "t", steps_.schedule().unroll, lanes);
    });
  }

  void Row(const std::string& j) {
    PrivateLanes(j);
    if (!steps_.LoopsNamed(j).empty()) steps_.VectorLoop(j);
  }

  // The loops of lower_attention.cpp: two products, the rows between them and what they share.
  void Attention() {
    const int64_t lanes = steps_.Lanes();
    if (lanes >= 2 && steps_.LargestExtent("x0") >= lanes &&
        steps_.Tile("x0", lanes, "x0o", "x0v")) {
      const bool square =
          steps_.LargestExtent("y0") >= lanes && steps_.Tile("y0", lanes, "y0o", "y0t");
      if (square) steps_.Reorder("x0v", "y0o");
      steps_.Reorder("x0v", square ? "y0t" : "y0");
      steps_.Vectorise("x0v");
      if (square) UnrollSquare("y0t", lanes);
    }
    Columns("m0", "n0");
    Row("j0");
    Columns("p0", "c0");
  }

  // The outermost loop of every top-level nest, where there is enough to do.
  void Parallelise() {
    int64_t grain = steps_.schedule().parallel_grain;
    if (grain == 0)
      grain =
          static_cast<int64_t>(kForkJoins * steps_.target().fork_join_ns / kNanosecondsPerElement);
    if (steps_.target().threads < 2 && steps_.schedule().parallel_grain == 0) return;
    if (IterationsIn(steps_.kernel().body) < 2 * grain) return;
    std::vector<std::string> names;
    for (const Stmt& stmt : steps_.kernel().body) {
      if (stmt.kind != StmtKind::kFor) continue;
      const std::string& name = steps_.kernel()[stmt.var].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    for (const std::string& name : names)
      steps_.TryVerified({PrimitiveKind::kParallel, {name}, 0, ""});
  }

  ScheduleBuilder steps_;
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
