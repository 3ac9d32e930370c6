#include "compiler/loops/pair_reducer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/ir/dtype.h"
#include "compiler/loops/index_analysis.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::loops {
namespace {

// How the first of two values or indices stands to the second.
enum class Order : uint8_t { kLess, kEqual, kGreater, kFirstNan, kSecondNan, kBothNan };
constexpr std::array kIndexOrders = {Order::kLess, Order::kEqual, Order::kGreater};
constexpr std::array kValueOrders = {Order::kLess,     Order::kEqual,     Order::kGreater,
                                     Order::kFirstNan, Order::kSecondNan, Order::kBothNan};

struct Case {
  Order value, index;
};

// What an expression is in one case: a truth, or the value or index of the first or second pair.
struct Symbol {
  enum class Kind : uint8_t { kTruth, kValue, kIndex } kind = Kind::kTruth;
  bool flag = false;  // the truth, or "of the second pair"
};

enum class Relation : uint8_t { kLess, kEqual, kGreater, kUnordered };

Relation RelationOf(const Symbol& a, const Symbol& b, const Case& at) {
  const Order order = a.kind == Symbol::Kind::kValue ? at.value : at.index;
  const bool first_nan = order == Order::kFirstNan || order == Order::kBothNan;
  const bool second_nan = order == Order::kSecondNan || order == Order::kBothNan;
  if ((a.flag ? second_nan : first_nan) || (b.flag ? second_nan : first_nan))
    return Relation::kUnordered;
  if (a.flag == b.flag || order == Order::kEqual) return Relation::kEqual;
  return (order == Order::kLess) == b.flag ? Relation::kLess : Relation::kGreater;
}

bool Holds(Direction direction, Relation relation) {
  switch (direction) {
    case Direction::kEq: return relation == Relation::kEqual;
    case Direction::kNe: return relation != Relation::kEqual;
    case Direction::kLt: return relation == Relation::kLess;
    case Direction::kLe: return relation == Relation::kLess || relation == Relation::kEqual;
    case Direction::kGt: return relation == Relation::kGreater;
    case Direction::kGe: return relation == Relation::kGreater || relation == Relation::kEqual;
  }
  return false;
}

class Proof {
 public:
  Proof(const Kernel& kernel, const Stmt& loop, const Stmt& value, const Stmt& index)
      : kernel_(kernel), loop_(loop), stores_{&value, &index} {}

  Result<PairReducer> Run() {
    FM_RETURN_IF_ERROR(ReadBody());
    FM_RETURN_IF_ERROR(FindCandidates());
    FM_RETURN_IF_ERROR(CheckCases());
    FM_RETURN_IF_ERROR(CheckAlone());
    FM_RETURN_IF_ERROR(CheckIncreasing());
    return std::move(reducer_);
  }

 private:
  bool Is(const Stmt& stmt) const { return &stmt == stores_[0] || &stmt == stores_[1]; }
  bool IsHeld(VarId var) const { return var == reducer_.value.held || var == reducer_.index.held; }
  bool IsCandidate(VarId var) const {
    return var == reducer_.value.candidate || var == reducer_.index.candidate;
  }

  // Flat lets, of which one for each accumulator reads it, before both are stored.
  Result<void> ReadBody() {
    reducer_.value = {stores_[0]->buffer, stores_[0]->indices, {}, {}, stores_[0]->value};
    reducer_.index = {stores_[1]->buffer, stores_[1]->indices, {}, {}, stores_[1]->value};
    if (kernel_[reducer_.value.update].dtype == DType::kPred) return Invalid("it compares truths");
    if (!IsInteger(kernel_[reducer_.index.update].dtype))
      return Invalid("its second accumulator is no index");
    int stored = 0;
    for (const Stmt& stmt : loop_.body) {
      stored += Is(stmt) ? 1 : 0;
      if (stmt.kind != StmtKind::kLet) continue;
      lets_[stmt.var] = stmt.value;
      order_.push_back(stmt.var);
      for (PairReducer::Part* part : {&reducer_.value, &reducer_.index}) {
        if (!Reads(stmt.value, *part)) continue;
        if (stored > 0 || part->held.index != UINT32_MAX)
          return Invalid("its accumulators are read more than once");
        part->held = stmt.var;
      }
    }
    if (stored != 2) return Invalid("its accumulators are not updated side by side");
    for (const PairReducer::Part* part : {&reducer_.value, &reducer_.index}) {
      if (part->held.index == UINT32_MAX) return Invalid("an accumulator is not read");
    }
    return Ok();
  }

  bool Reads(ExprId id, const PairReducer::Part& part) const {
    const Expr& expr = kernel_[id];
    return expr.kind == ExprKind::kLoad && expr.buffer == part.buffer &&
           std::equal(expr.args.begin(), expr.args.end(), part.indices.begin(), part.indices.end(),
                      [&](ExprId a, ExprId b) { return SameExpr(kernel_, a, b); });
  }

  // The let behind a variable that the updates are made of.
  std::optional<ExprId> StepOf(const Expr& expr) const {
    if (expr.kind != ExprKind::kVar || IsHeld(expr.var) || IsCandidate(expr.var)) return {};
    const auto let = lets_.find(expr.var);
    return let == lets_.end() ? std::nullopt : std::optional(let->second);
  }

  // Where a select leads that is not the accumulator itself: one and the same variable.
  Result<void> FindCandidates() {
    for (PairReducer::Part* part : {&reducer_.value, &reducer_.index}) {
      std::set<VarId> found;
      if (!Arms(part->update, part->held, found) || found.size() != 1)
        return Invalid("what it keeps is neither the accumulator nor one candidate");
      part->candidate = *found.begin();
    }
    if (reducer_.value.candidate == reducer_.index.candidate)
      return Invalid("value and index are one");
    return Ok();
  }

  bool Arms(ExprId id, VarId held, std::set<VarId>& found) const {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kSelect)
      return Arms(expr.args[1], held, found) && Arms(expr.args[2], held, found);
    if (expr.kind == ExprKind::kBinary)
      return Arms(expr.args[0], held, found) && Arms(expr.args[1], held, found);
    if (expr.kind != ExprKind::kVar) return false;
    if (expr.var == held) return true;
    const auto step = StepOf(expr);
    // A let is looked through as far as it is about the accumulator.
    if (step && Depends(*step)) return Arms(*step, held, found);
    found.insert(expr.var);
    return true;
  }

  bool Depends(ExprId id) const {
    const Expr& expr = kernel_[id];
    if (expr.kind == ExprKind::kVar && IsHeld(expr.var)) return true;
    if (const auto step = StepOf(expr)) return Depends(*step);
    return std::any_of(expr.args.begin(), expr.args.end(),
                       [&](ExprId arg) { return Depends(arg); });
  }

  std::optional<Symbol> Evaluate(ExprId id, const Case& at) const {
    const Expr& expr = kernel_[id];
    using Kind = Symbol::Kind;
    if (expr.kind == ExprKind::kVar) {
      if (expr.var == reducer_.value.held) return Symbol{Kind::kValue, false};
      if (expr.var == reducer_.index.held) return Symbol{Kind::kIndex, false};
      if (expr.var == reducer_.value.candidate) return Symbol{Kind::kValue, true};
      if (expr.var == reducer_.index.candidate) return Symbol{Kind::kIndex, true};
      const auto step = StepOf(expr);
      return step ? Evaluate(*step, at) : std::nullopt;
    }
    if (expr.kind == ExprKind::kConst && expr.dtype == DType::kPred)
      return Symbol{Kind::kTruth, expr.bits != 0};
    std::vector<Symbol> args;
    for (const ExprId arg : expr.args) {
      const auto symbol = Evaluate(arg, at);
      if (!symbol) return std::nullopt;
      args.push_back(*symbol);
    }
    return Combine(expr, args, at);
  }

  static std::optional<Symbol> Combine(const Expr& expr, const std::vector<Symbol>& args,
                                       const Case& at) {
    using Kind = Symbol::Kind;
    if (expr.kind == ExprKind::kSelect) {
      if (args[0].kind != Kind::kTruth || args[1].kind != args[2].kind) return std::nullopt;
      return args[0].flag ? args[1] : args[2];
    }
    if (expr.kind == ExprKind::kUnary && expr.op == Op::kNot && args[0].kind == Kind::kTruth)
      return Symbol{Kind::kTruth, !args[0].flag};
    if (args.size() != 2 || args[0].kind != args[1].kind) return std::nullopt;
    if (args[0].kind == Kind::kTruth) return CombineTruths(expr, args[0].flag, args[1].flag);
    const Relation relation = RelationOf(args[0], args[1], at);
    if (expr.kind == ExprKind::kCompare)
      return Symbol{Kind::kTruth, Holds(expr.direction, relation)};
    if (expr.kind != ExprKind::kBinary || relation == Relation::kUnordered) return std::nullopt;
    if (expr.op == Op::kMaximum) return relation == Relation::kLess ? args[1] : args[0];
    if (expr.op == Op::kMinimum) return relation == Relation::kGreater ? args[1] : args[0];
    return std::nullopt;
  }

  static std::optional<Symbol> CombineTruths(const Expr& expr, bool a, bool b) {
    if (expr.kind != ExprKind::kBinary) return std::nullopt;
    switch (expr.op) {
      case Op::kAnd: return Symbol{.flag = a && b};
      case Op::kOr: return Symbol{.flag = a || b};
      case Op::kXor: return Symbol{.flag = a != b};
      default: return std::nullopt;
    }
  }

  // Is the second pair kept? Of the value and of the index, which agree unless the values are equal
  // or both NaN.
  struct Kept {
    bool value = false, index = false;
  };
  std::optional<Kept> KeptIn(const Case& at) const {
    const auto value = Evaluate(reducer_.value.update, at);
    const auto index = Evaluate(reducer_.index.update, at);
    if (!value || value->kind != Symbol::Kind::kValue) return std::nullopt;
    if (!index || index->kind != Symbol::Kind::kIndex) return std::nullopt;
    return Kept{value->flag, index->flag};
  }

  Result<void> CheckCases() const {
    const bool may_be_nan = IsFloat(kernel_[reducer_.value.update].dtype);
    std::map<std::pair<Order, Order>, Kept> kept;
    for (const Order value : kValueOrders) {
      if (!may_be_nan && value > Order::kGreater) continue;
      for (const Order index : kIndexOrders) {
        const auto one = KeptIn({value, index});
        if (!one) return Invalid("its body does more than compare and select");
        kept[{value, index}] = *one;
      }
    }
    const auto always = [&](Order value, bool second) {
      return std::all_of(kIndexOrders.begin(), kIndexOrders.end(), [&](Order index) {
        const Kept& one = kept[{value, index}];
        return one.value == second && one.index == second;
      });
    };
    const bool least = always(Order::kLess, false) && always(Order::kGreater, true);
    const bool greatest = always(Order::kLess, true) && always(Order::kGreater, false);
    if (!least && !greatest) return Invalid("which of two values it keeps depends on their order");
    // The second of equals regardless of the indices: a start that is the best would have to come
    // before all others, which its index does not say.
    const bool last =
        kept[{Order::kEqual, Order::kLess}].index && kept[{Order::kEqual, Order::kGreater}].index;
    if (last) return Invalid("of equal values it keeps the last");
    if (!may_be_nan) return Ok();
    if (!always(Order::kFirstNan, false) || !always(Order::kSecondNan, true))
      return Invalid("a NaN does not always stay");
    if (kept[{Order::kBothNan, Order::kLess}].index)
      return Invalid("of several NaNs it does not keep the first");
    return Ok();
  }

  // Nothing but the updates uses what the accumulators held; notes the steps.
  Result<void> CheckAlone() {
    std::set<VarId> used;
    Reach(reducer_.value.update, used);
    Reach(reducer_.index.update, used);
    for (const VarId var : order_) {
      if (used.contains(var)) reducer_.steps.emplace_back(var, lets_.at(var));
    }
    int reads = 0;
    bool alone = true;
    Visit(loop_.body, [&](const Stmt& stmt, ExprId root) {
      reads += AnyLoad(kernel_, root, [&](const Expr& load) {
        return load.buffer == reducer_.value.buffer || load.buffer == reducer_.index.buffer;
      });
      const bool own =
          stmt.kind == StmtKind::kLet ? used.contains(stmt.var) : Is(stmt) && root == stmt.value;
      alone &= own || !Depends(root);
    });
    if (reads != 2 || !alone) return Invalid("its accumulators are read outside the update");
    return Ok();
  }

  template <class F>
  static void Visit(const Block& block, const F& visit) {
    for (const Stmt& stmt : block) {
      for (const ExprId index : stmt.indices) visit(stmt, index);
      if (stmt.value.valid()) visit(stmt, stmt.value);
      Visit(stmt.body, visit);
      Visit(stmt.else_body, visit);
    }
  }

  void Reach(ExprId id, std::set<VarId>& used) const {
    const Expr& expr = kernel_[id];
    if (const auto step = StepOf(expr); step && used.insert(expr.var).second) Reach(*step, used);
    for (const ExprId arg : expr.args) Reach(arg, used);
  }

  Result<void> CheckIncreasing() const {
    IndexAnalysis analysis(kernel_);
    analysis.EnterLoop(loop_.var, loop_.extent);
    LinearForm form;
    for (const VarId var : order_) {
      analysis.Bind(var, lets_.at(var));
      if (var == reducer_.index.candidate) form = analysis.FormOf(lets_.at(var));
    }
    const bool along = form.terms.size() == 1 && !form.overflow && form.terms[0].coefficient > 0 &&
                       analysis.atom(form.terms[0].atom).kind == IndexAtom::Kind::kVar &&
                       analysis.atom(form.terms[0].atom).var == loop_.var;
    if (!along) return Invalid("its indices do not increase along the loop");
    return Ok();
  }

  const Kernel& kernel_;
  const Stmt& loop_;
  std::array<const Stmt*, 2> stores_;
  PairReducer reducer_;
  std::map<VarId, ExprId> lets_;
  std::vector<VarId> order_;
};

}  // namespace

Result<PairReducer> ProvePairReducer(const Kernel& kernel, const Stmt& loop, const Stmt& value,
                                     const Stmt& index) {
  return Proof(kernel, loop, value, index).Run();
}

}  // namespace fusemark::loops
