// privatise: N independent accumulators for a reduction. From
//   for k in K reduces { acc = acc op x(k) }
// it makes
//   alloc acc_l[N]; for l in N { acc_l[l] = identity }
//   for ko in K / N reduces { for l in N { acc_l[l] = acc_l[l] op x(ko * N + l) } }
//   for l in K % N { ... }; halve acc_l by loops lc until one is left; acc = acc op acc_l[0]
// so that loop l may be a vector. Sums are taken in another order: the one primitive that
// reassociates. An arg-max has two accumulators that are updated together (pair_reducer.h): its
// lanes start from the accumulators, and are joined by its own body.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "compiler/ir/identity.h"
#include "compiler/loops/builder.h"
#include "compiler/loops/pair_reducer.h"
#include "compiler/loops/primitives_internal.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

struct Accumulator {
  BufferId buffer;
  std::vector<ExprId> indices;
  Op op = Op::kAdd;
  uint64_t identity = 0;
  BufferId lanes;              // the private copies
  std::vector<VarId> through;  // lets between the read and the store
};

struct PrivatePair {
  PairReducer reducer;
  BufferId values, indices;  // the private copies
};

class Privatiser {
 public:
  Privatiser(Kernel& kernel, int64_t lanes, VarId outer, VarId lane, VarId combine)
      : kernel_(kernel), b_(kernel), n_(lanes), outer_(outer), lane_(lane), combine_(combine) {}

  Result<Block> operator()(const Stmt& loop) {
    loop_ = &loop;
    accumulators_.clear();
    pairs_.clear();
    unexplained_.clear();
    inside_ = {loop.var};
    lets_.clear();
    own_.clear();
    if (!loop.reduces) return Fail("it carries no value");
    if (loop.loop != LoopKind::kSerial) return Fail("it is not serial");
    if (loop.extent < n_)
      return Fail(fmt::format("it has {} iterations, fewer than {} lanes", loop.extent, n_));
    FM_RETURN_IF_ERROR(Collect(loop.body));
    FM_RETURN_IF_ERROR(CollectPairs());
    if (accumulators_.empty() && pairs_.empty()) return Fail("no accumulator is updated inside");
    FM_RETURN_IF_ERROR(CheckReads(loop.body));
    return Emit(loop);
  }

 private:
  Error Fail(const std::string& why) const {
    return Invalid(fmt::format("cannot privatise loop {}: {}", kernel_[loop_->var].name, why));
  }

  bool VariesInside(ExprId id) const {
    return std::any_of(inside_.begin(), inside_.end(),
                       [&](VarId var) { return UsesVar(kernel_, id, var); });
  }

  bool SamePlace(const Expr& load, BufferId buffer, const std::vector<ExprId>& indices) const {
    return load.kind == ExprKind::kLoad && load.buffer == buffer &&
           std::equal(load.args.begin(), load.args.end(), indices.begin(), indices.end(),
                      [&](ExprId a, ExprId b) { return SameExpr(kernel_, a, b); });
  }

  // What a variable let inside the loop stands for; the variable is noted as part of the update.
  ExprId Resolved(ExprId id, std::vector<VarId>& through) const {
    while (kernel_[id].kind == ExprKind::kVar) {
      const auto let = lets_.find(kernel_[id].var);
      if (let == lets_.end()) break;
      through.push_back(let->first);
      id = let->second;
    }
    return id;
  }

  // acc = acc op x, x op acc, or fma(x, y, acc), each side possibly behind a let.
  std::optional<Op> UpdateOf(const Stmt& store, std::vector<VarId>& through) const {
    const Expr& value = kernel_[Resolved(store.value, through)];
    const auto is_acc = [&](ExprId id) {
      std::vector<VarId> path;
      if (!SamePlace(kernel_[Resolved(id, path)], store.buffer, store.indices)) return false;
      through.insert(through.end(), path.begin(), path.end());
      return true;
    };
    if (value.kind == ExprKind::kFma && is_acc(value.args[2])) return Op::kAdd;
    if (value.kind != ExprKind::kBinary) return std::nullopt;
    if (!is_acc(value.args[0]) && !is_acc(value.args[1])) return std::nullopt;
    return value.op;
  }

  Result<void> Collect(const Block& block) {
    for (const Stmt& stmt : block) {
      if (stmt.kind == StmtKind::kLet || stmt.kind == StmtKind::kFor) inside_.push_back(stmt.var);
      if (stmt.kind == StmtKind::kLet) lets_[stmt.var] = stmt.value;
      if (stmt.kind == StmtKind::kBarrier) return Fail("it holds a barrier");
      if (stmt.kind == StmtKind::kAlloc) own_.push_back(stmt.buffer);
      if (stmt.kind == StmtKind::kStore) {
        FM_RETURN_IF_ERROR(CollectStore(stmt));
      }
      FM_RETURN_IF_ERROR(Collect(stmt.body));
      FM_RETURN_IF_ERROR(Collect(stmt.else_body));
    }
    return Ok();
  }

  Result<void> CollectStore(const Stmt& stmt) {
    if (std::find(own_.begin(), own_.end(), stmt.buffer) != own_.end()) return Ok();
    const bool moves = std::any_of(stmt.indices.begin(), stmt.indices.end(),
                                   [&](ExprId index) { return VariesInside(index); });
    if (moves) return Ok();  // an element of its own per iteration
    const std::string& name = kernel_[stmt.buffer].name;
    std::vector<VarId> through;
    const auto op = UpdateOf(stmt, through);
    const auto identity = op ? IdentityBits(*op, kernel_[stmt.buffer].dtype) : std::nullopt;
    if (!identity) {
      unexplained_.push_back(&stmt);
      return Ok();
    }
    for (const Accumulator& known : accumulators_) {
      if (known.buffer == stmt.buffer) return Fail(fmt::format("%{} is updated twice", name));
    }
    accumulators_.push_back({stmt.buffer, stmt.indices, *op, *identity, {}, std::move(through)});
    return Ok();
  }

  // Updates that are no operation on one accumulator: two by two.
  Result<void> CollectPairs() {
    for (size_t i = 0; i < unexplained_.size(); i += 2) {
      const std::string& name = kernel_[unexplained_[i]->buffer].name;
      if (i + 1 == unexplained_.size())
        return Fail(fmt::format("the update of %{} is not an associative operation on it", name));
      auto reducer = ProvePairReducer(kernel_, *loop_, *unexplained_[i], *unexplained_[i + 1]);
      if (!reducer.ok()) {
        return Fail(fmt::format("the update of %{} is not an associative operation: {}", name,
                                reducer.error().message));
      }
      pairs_.push_back({std::move(*reducer), {}, {}});
    }
    return Ok();
  }

  // An accumulator is read by its own update only.
  Result<void> CheckReads(const Block& block) {
    for (const Accumulator& acc : accumulators_) {
      int reads = 0;
      ForEachRoot(block, [&](ExprId root) { reads += CountLoads(root, acc.buffer); });
      bool alone = reads == 1;
      for (const VarId let : acc.through) {
        int uses = 0;
        ForEachRoot(block, [&](ExprId root) { uses += CountUses(root, let); });
        alone &= uses == 1;
      }
      if (!alone)
        return Fail(fmt::format("%{} is read outside its update", kernel_[acc.buffer].name));
    }
    return Ok();
  }

  int CountLoads(ExprId id, BufferId buffer) const {
    const Expr& expr = kernel_[id];
    int count = expr.kind == ExprKind::kLoad && expr.buffer == buffer ? 1 : 0;
    for (const ExprId arg : expr.args) count += CountLoads(arg, buffer);
    return count;
  }

  int CountUses(ExprId id, VarId var) const {
    const Expr& expr = kernel_[id];
    int count = expr.kind == ExprKind::kVar && expr.var == var ? 1 : 0;
    for (const ExprId arg : expr.args) count += CountUses(arg, var);
    return count;
  }

  template <class Place>  // an Accumulator or a part of a pair
  std::vector<ExprId> Indices(const Place& acc, ExprId lane) const {
    std::vector<ExprId> indices = acc.indices;
    indices.insert(indices.begin(), lane);
    return indices;
  }

  BufferId AllocateLanes(BufferId of, Block& out) {
    const Buffer buffer = kernel_[of];
    std::vector<int64_t> dims = buffer.dims;
    dims.insert(dims.begin(), n_);
    const BufferId lanes = b_.AddLocal(buffer.name + "_l", buffer.dtype, dims, Space::kRegister);
    out.push_back(b_.Alloc(lanes));
    return lanes;
  }

  Block Initialise() {
    Block out, body;
    for (Accumulator& acc : accumulators_) {
      acc.lanes = AllocateLanes(acc.buffer, out);
      body.push_back(b_.Store(acc.lanes, Indices(acc, Lane()),
                              b_.Constant(kernel_[acc.buffer].dtype, acc.identity)));
    }
    const auto start = [&](const PairReducer::Part& part, BufferId lanes) {
      body.push_back(b_.Store(lanes, Indices(part, Lane()), b_.Load(part.buffer, part.indices)));
    };
    for (PrivatePair& pair : pairs_) {
      start(pair.reducer.value, pair.values = AllocateLanes(pair.reducer.value.buffer, out));
      start(pair.reducer.index, pair.indices = AllocateLanes(pair.reducer.index.buffer, out));
    }
    ForLanes(n_, std::move(body), out);
    return out;
  }

  // A single accumulator stands at a fixed place, so that its own loop may be privatised again.
  ExprId Lane() { return n_ == 1 ? b_.Index(0) : b_.Use(lane_); }
  void ForLanes(int64_t extent, Block body, Block& out) {
    if (n_ > 1) return out.push_back(b_.For(lane_, extent, std::move(body)));
    std::move(body.begin(), body.end(), std::back_inserter(out));
  }

  // The body for k = base + lane on the private accumulators.
  void Lanes(const Stmt& loop, ExprId base, int64_t extent, Block& out) {
    Substitution with;
    with.vars[loop.var] = b_.Add(base, Lane());
    for (const Accumulator& acc : accumulators_) with.buffers[acc.buffer] = {acc.lanes, {Lane()}};
    for (const PrivatePair& pair : pairs_) {
      with.buffers[pair.reducer.value.buffer] = {pair.values, {Lane()}};
      with.buffers[pair.reducer.index.buffer] = {pair.indices, {Lane()}};
    }
    Block body = loop.body;
    Substitute(kernel_, body, with);
    ForLanes(extent, std::move(body), out);
  }

  Stmt Combine(const Accumulator& acc, ExprId to, ExprId from) {
    const ExprId a = b_.Load(acc.lanes, Indices(acc, to));
    const ExprId x = b_.Load(acc.lanes, Indices(acc, from));
    return b_.Store(acc.lanes, Indices(acc, to), b_.Binary(acc.op, a, x));
  }

  // pair[to] = body(the one of pair[to] and pair[from] whose index is lower, the other)
  void CombinePair(const PrivatePair& pair, ExprId to, ExprId from, Block& out) {
    const auto bind = [&](const std::string& name, ExprId value) {
      const VarId var = b_.AddVar(name, kernel_[value].dtype);
      out.push_back(b_.Let(var, value));
      return var;
    };
    const PairReducer& reducer = pair.reducer;
    const auto load = [&](const PairReducer::Part& part, BufferId lanes, ExprId lane) {
      return bind(kernel_[part.held].name, b_.Load(lanes, Indices(part, lane)));
    };
    const VarId value = load(reducer.value, pair.values, to);
    const VarId index = load(reducer.index, pair.indices, to);
    const VarId other_value = load(reducer.value, pair.values, from);
    const VarId other_index = load(reducer.index, pair.indices, from);
    const VarId ordered =
        bind("ordered", b_.Compare(Direction::kLe, b_.Use(index), b_.Use(other_index)));
    Substitution with;
    const auto choose = [&](VarId in_place_of, VarId a, VarId b) {
      const ExprId chosen = b_.Select(b_.Use(ordered), b_.Use(a), b_.Use(b));
      with.vars[in_place_of] = b_.Use(bind(kernel_[in_place_of].name, chosen));
    };
    choose(reducer.value.held, value, other_value);
    choose(reducer.index.held, index, other_index);
    choose(reducer.value.candidate, other_value, value);
    choose(reducer.index.candidate, other_index, index);
    for (const auto& [var, step] : reducer.steps)
      with.vars[var] = b_.Use(bind(kernel_[var].name, Substitute(kernel_, step, with)));
    for (const auto& [part, lanes] :
         {std::pair(reducer.value, pair.values), std::pair(reducer.index, pair.indices)})
      out.push_back(b_.Store(lanes, Indices(part, to), Substitute(kernel_, part.update, with)));
  }

  // Lanes 0 to `left` of the pairs into the accumulators.
  void FinishPairs(int64_t left, Block& out) {
    for (const PrivatePair& pair : pairs_) {
      for (int64_t lane = 1; lane < left; ++lane)
        CombinePair(pair, b_.Index(0), b_.Index(lane), out);
      for (const auto& [part, lanes] : {std::pair(pair.reducer.value, pair.values),
                                        std::pair(pair.reducer.index, pair.indices)})
        out.push_back(
            b_.Store(part.buffer, part.indices, b_.Load(lanes, Indices(part, b_.Index(0)))));
    }
  }

  // Halves while the number of lanes is even, then adds up one by one.
  void CombineAll(Block& out) {
    int64_t left = n_;
    while (left % 2 == 0) {
      left /= 2;
      Block body;
      for (const Accumulator& acc : accumulators_)
        body.push_back(Combine(acc, b_.Use(combine_), b_.Add(b_.Use(combine_), b_.Index(left))));
      for (const PrivatePair& pair : pairs_)
        CombinePair(pair, b_.Use(combine_), b_.Add(b_.Use(combine_), b_.Index(left)), body);
      out.push_back(b_.For(combine_, left, std::move(body)));
    }
    for (int64_t lane = 0; lane < left; ++lane) {
      for (const Accumulator& acc : accumulators_) {
        const ExprId whole = b_.Load(acc.buffer, acc.indices);
        const ExprId part = b_.Load(acc.lanes, Indices(acc, b_.Index(lane)));
        out.push_back(b_.Store(acc.buffer, acc.indices, b_.Binary(acc.op, whole, part)));
      }
    }
    FinishPairs(left, out);
  }

  Result<Block> Emit(const Stmt& loop) {
    Block out = Initialise();
    const int64_t whole = loop.extent / n_, rest = loop.extent % n_;
    Block body;
    Lanes(loop, b_.Mul(b_.Use(outer_), n_), n_, body);
    out.push_back(b_.For(outer_, whole, std::move(body), LoopKind::kSerial, true));
    if (rest != 0) Lanes(loop, b_.Index(whole * n_), rest, out);
    CombineAll(out);
    return out;
  }

  Kernel& kernel_;
  Builder b_;
  int64_t n_;
  VarId outer_, lane_, combine_;
  const Stmt* loop_ = nullptr;
  std::vector<Accumulator> accumulators_;
  std::vector<PrivatePair> pairs_;
  std::vector<const Stmt*> unexplained_;
  std::vector<VarId> inside_;
  std::map<VarId, ExprId> lets_;
  std::vector<BufferId> own_;  // allocated in the loop
};

}  // namespace

Result<void> Privatise(Kernel& kernel, const Primitive& p) {
  FM_TRY(const VarId var, LoopNamed(kernel, p.names[0]));
  FM_TRY(const VarId outer, FreshLoop(kernel, p.names[1]));
  FM_TRY(const VarId lane, FreshLoop(kernel, p.names[2]));
  FM_TRY(const VarId combine, FreshLoop(kernel, p.names[2] + "c"));
  // Loops of the name that carry nothing stay as they are: the stages of a row kernel share names.
  int done = 0;
  FM_RETURN_IF_ERROR(ReplaceLoops(kernel.body, var, [&](Stmt loop) -> Result<Block> {
    if (!loop.reduces) return Block{std::move(loop)};
    ++done;
    return Privatiser(kernel, p.factor, outer, lane, combine)(loop);
  }));
  if (done == 0)
    return Invalid(fmt::format("cannot privatise loop {}: it carries no value", p.names[0]));
  return Ok();
}

}  // namespace fusemark::loops
