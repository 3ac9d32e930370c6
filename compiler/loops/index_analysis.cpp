#include "compiler/loops/index_analysis.h"

#include <algorithm>
#include <numeric>

#include "compiler/loops/print.h"
#include "compiler/support/check.h"

namespace fusemark::loops {
namespace {

// Ranges of nested selects are computed under their conditions down to this depth only: each level
// recomputes what lies below.
constexpr int kSelectDepth = 5;
// Constraints used to bound a term of a bound found by a constraint.
constexpr int kConstraintDepth = 3;

bool IsIntegral(DType dtype) {
  return IsInteger(dtype) || dtype == DType::kPred;
}

bool ReadsMemory(const Kernel& kernel, ExprId id) {
  const Expr& expr = kernel[id];
  if (expr.kind == ExprKind::kLoad) return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](ExprId arg) { return ReadsMemory(kernel, arg); });
}

}  // namespace

Range RangeOfType(DType dtype) {
  if (dtype == DType::kPred) return {0, 1};
  if (!IsInteger(dtype)) return {};
  const int bits = BitWidth(dtype);
  if (IsUnsigned(dtype)) return {0, bits == 64 ? Range::kMax : (int64_t{1} << bits) - 1};
  if (bits == 64) return {};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

// ---- scopes ----

IndexAnalysis::Binding& IndexAnalysis::BindingOf(VarId var) {
  if (bindings_.size() <= var.index) bindings_.resize(kernel_.vars.size());
  return bindings_[var.index];
}

void IndexAnalysis::SetBinding(VarId var, Binding binding) {
  Binding& place = BindingOf(var);
  undo_.push_back({.kind = Undo::Kind::kBinding, .index = var.index, .binding = place});
  place = std::move(binding);
  // What was assumed about an earlier variable of the same name does not hold for this one.
  const auto found = var_atoms_.find(var.index);
  if (found != var_atoms_.end()) {
    const auto atom = static_cast<size_t>(found->second);
    undo_.push_back({.kind = Undo::Kind::kRefined, .index = atom, .range = refined_[atom]});
    refined_[atom] = {};
  }
  memo_.clear();
}

void IndexAnalysis::SetUnreachable() {
  if (unreachable_) return;
  unreachable_ = true;
  undo_.push_back({.kind = Undo::Kind::kUnreachable});
}

void IndexAnalysis::Release(size_t mark) {
  while (undo_.size() > mark) {
    Undo& undo = undo_.back();
    switch (undo.kind) {
      case Undo::Kind::kBinding: bindings_[undo.index] = std::move(undo.binding); break;
      case Undo::Kind::kRefined: refined_[undo.index] = undo.range; break;
      case Undo::Kind::kConstraint: constraints_.pop_back(); break;
      case Undo::Kind::kUnreachable: unreachable_ = false; break;
    }
    undo_.pop_back();
  }
  memo_.clear();
}

void IndexAnalysis::EnterLoop(VarId var, int64_t extent) {
  SetBinding(var, {.bound = true, .range = {0, extent - 1}});
  if (extent <= 0) SetUnreachable();
}

void IndexAnalysis::Bind(VarId var, ExprId value) {
  Binding binding{.bound = true, .range = {}};
  const DType dtype = kernel_[var].dtype;
  if (IsIntegral(dtype)) {
    const LinearForm form = FormOf(value);
    binding.range = Intersect(RangeOf(form), RangeOfType(dtype));
    // An opaque value stays behind its variable, so that nobody computes it twice.
    const bool transparent = std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& t) {
      return atom(t.atom).kind != IndexAtom::Kind::kOpaque;
    });
    if (transparent && !form.overflow) binding.alias = form;
  }
  if (dtype == DType::kPred) {
    binding.definition = value;
    binding.alias.reset();
  }
  SetBinding(var, std::move(binding));
}

// ---- conditions ----

void IndexAnalysis::Assume(ExprId condition, bool holds) {
  const Expr expr = kernel_[condition];
  switch (expr.kind) {
    case ExprKind::kConst:
      if ((expr.bits != 0) != holds) SetUnreachable();
      return;
    case ExprKind::kCompare: return AssumeCompare(expr, holds);
    case ExprKind::kUnary:
      if (expr.op == Op::kNot) Assume(expr.args[0], !holds);
      return;
    case ExprKind::kBinary:
      if (expr.dtype != DType::kPred) return;
      if (expr.op == (holds ? Op::kAnd : Op::kOr)) {
        Assume(expr.args[0], holds);
        Assume(expr.args[1], holds);
      }
      return;
    case ExprKind::kVar: {
      const ExprId definition = BindingOf(expr.var).definition;
      if (definition.valid()) Assume(definition, holds);
      return;
    }
    default: return;
  }
}

void IndexAnalysis::AssumeCompare(const Expr& compare, bool holds) {
  if (!IsInteger(kernel_[compare.args[0]].dtype)) return;
  const LinearForm difference = AddScaled(FormOf(compare.args[0]), FormOf(compare.args[1]), -1);
  if (difference.overflow) return;
  Direction direction = compare.direction;
  if (!holds) {
    switch (direction) {
      case Direction::kEq: direction = Direction::kNe; break;
      case Direction::kNe: direction = Direction::kEq; break;
      case Direction::kLt: direction = Direction::kGe; break;
      case Direction::kLe: direction = Direction::kGt; break;
      case Direction::kGt: direction = Direction::kLe; break;
      case Direction::kGe: direction = Direction::kLt; break;
    }
  }
  switch (direction) {
    case Direction::kEq: return Constrain(difference, {0, 0});
    case Direction::kLt: return Constrain(difference, {Range::kMin, -1});
    case Direction::kLe: return Constrain(difference, {Range::kMin, 0});
    case Direction::kGt: return Constrain(difference, {1, Range::kMax});
    case Direction::kGe: return Constrain(difference, {0, Range::kMax});
    case Direction::kNe: break;
  }
  const Range range = RangeOf(difference);  // only the ends can be cut off
  if (range.lo == 0) Constrain(difference, {1, Range::kMax});
  if (range.hi == 0) Constrain(difference, {Range::kMin, -1});
}

void IndexAnalysis::Constrain(LinearForm form, Range range) {
  if (Intersect(RangeOf(form), range).empty()) SetUnreachable();
  if (form.terms.empty()) return;
  range = AddRanges(range, {-form.constant, -form.constant});
  form.constant = 0;
  int64_t divisor = 0;
  for (const auto& term : form.terms) divisor = std::gcd(divisor, term.coefficient);
  if (form.terms.front().coefficient < 0) {
    form = Scaled(form, -1);
    range = ScaleRange(range, -1);
  }
  if (form.overflow) return;
  for (auto& term : form.terms) term.coefficient /= divisor;
  if (range.lo != Range::kMin) range.lo = -FloorDiv(-range.lo, divisor);
  if (range.hi != Range::kMax) range.hi = FloorDiv(range.hi, divisor);
  memo_.clear();
  if (form.terms.size() > 1) {
    constraints_.push_back({std::move(form), range});
    undo_.push_back({.kind = Undo::Kind::kConstraint});
    return;
  }
  const auto number = static_cast<size_t>(form.terms.front().atom);
  undo_.push_back({.kind = Undo::Kind::kRefined, .index = number, .range = refined_[number]});
  refined_[number] = Intersect(refined_[number], range);
  const IndexAtom atom = atoms_[number];
  if (atom.kind != IndexAtom::Kind::kDiv) return;
  // lo <= floor(x / c) <= hi says lo * c <= x <= hi * c + c - 1.
  Range base = ScaleRange(range, atom.divisor);
  if (base.hi != Range::kMax) base = AddRanges(base, {0, atom.divisor - 1});
  Constrain(atom.base, base);
}

std::optional<bool> IndexAnalysis::Decide(ExprId condition) {
  const Expr expr = kernel_[condition];
  if (expr.kind == ExprKind::kConst) return expr.bits != 0;
  if (expr.kind == ExprKind::kUnary && expr.op == Op::kNot) {
    const auto inner = Decide(expr.args[0]);
    if (inner) return !*inner;
    return std::nullopt;
  }
  if (expr.kind == ExprKind::kBinary && expr.dtype == DType::kPred &&
      (expr.op == Op::kAnd || expr.op == Op::kOr)) {
    const bool decisive = expr.op == Op::kOr;
    const auto a = Decide(expr.args[0]), b = Decide(expr.args[1]);
    if ((a && *a == decisive) || (b && *b == decisive)) return decisive;
    if (a && b) return !decisive;
    return std::nullopt;
  }
  if (expr.kind != ExprKind::kCompare || !IsInteger(kernel_[expr.args[0]].dtype))
    return std::nullopt;
  const Range range = RangeOf(AddScaled(FormOf(expr.args[0]), FormOf(expr.args[1]), -1));
  const auto between = [](bool yes, bool no) {
    return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt;
  };
  const bool zero = range == Range{0, 0}, never_zero = range.lo > 0 || range.hi < 0;
  switch (expr.direction) {
    case Direction::kEq: return between(zero, never_zero);
    case Direction::kNe: return between(never_zero, zero);
    case Direction::kLt: return between(range.hi < 0, range.lo >= 0);
    case Direction::kLe: return between(range.hi <= 0, range.lo > 0);
    case Direction::kGt: return between(range.lo > 0, range.hi <= 0);
    case Direction::kGe: return between(range.lo >= 0, range.hi < 0);
  }
  return std::nullopt;
}

// ---- atoms ----

int32_t IndexAnalysis::AtomOf(VarId var) {
  const auto [place, fresh] =
      var_atoms_.try_emplace(var.index, static_cast<int32_t>(atoms_.size()));
  if (fresh) {
    atoms_.push_back({.kind = IndexAtom::Kind::kVar, .var = var});
    refined_.emplace_back();
  }
  return place->second;
}

int32_t IndexAnalysis::DivAtom(const LinearForm& base, int64_t divisor) {
  const auto [place, fresh] =
      div_atoms_.try_emplace({base, divisor}, static_cast<int32_t>(atoms_.size()));
  if (fresh) {
    atoms_.push_back({.kind = IndexAtom::Kind::kDiv, .base = base, .divisor = divisor});
    refined_.emplace_back();
  }
  return place->second;
}

LinearForm IndexAnalysis::Opaque(ExprId expr) {
  // Two reads of memory may differ even when they read alike.
  std::string key = PrintExpr(kernel_, expr);
  if (ReadsMemory(kernel_, expr)) key += "#" + std::to_string(expr.index);
  const auto [place, fresh] =
      opaque_atoms_.try_emplace(std::move(key), static_cast<int32_t>(atoms_.size()));
  if (fresh) {
    atoms_.push_back({.kind = IndexAtom::Kind::kOpaque, .expr = expr});
    refined_.emplace_back();
  }
  return LinearForm::Atom(place->second);
}

bool IndexAnalysis::DependsOn(const LinearForm& form, VarId var) const {
  for (const auto& term : form.terms) {
    const IndexAtom& inner = atom(term.atom);
    if (inner.kind == IndexAtom::Kind::kVar && inner.var == var) return true;
    if (inner.kind == IndexAtom::Kind::kDiv && DependsOn(inner.base, var)) return true;
  }
  return false;
}

// ---- forms ----

bool IndexAnalysis::IsExact(const LinearForm& form, DType dtype) {
  if (form.overflow) return false;
  const Range range = RangeOf(form), type = RangeOfType(dtype);
  if (dtype == DType::kS64 || dtype == DType::kU64) {
    return range.bounded() && range.Within(type.lo, type.hi);
  }
  return range.Within(type.lo, type.hi);
}

LinearForm IndexAnalysis::FormOf(ExprId id) {
  const auto found = memo_.find(id);
  if (found != memo_.end()) return found->second;
  LinearForm form = Compute(id);
  memo_[id] = form;
  return form;
}

LinearForm IndexAnalysis::Compute(ExprId id) {
  const Expr& expr = kernel_[id];
  if (!IsIntegral(expr.dtype)) return Opaque(id);
  switch (expr.kind) {
    case ExprKind::kConst: {
      const auto value = static_cast<int64_t>(expr.bits);
      if (IsUnsigned(expr.dtype) && value < 0) return Opaque(id);
      return LinearForm::Constant(value);
    }
    case ExprKind::kVar: {
      const Binding& binding = BindingOf(expr.var);
      if (binding.alias) return *binding.alias;
      return LinearForm::Atom(AtomOf(expr.var));
    }
    case ExprKind::kUnary:
      if (expr.op == Op::kCopy) return FormOf(expr.args[0]);
      if (expr.op == Op::kConvert) return FormOfConvert(id);
      return Opaque(id);
    case ExprKind::kBinary: return expr.dtype == DType::kPred ? Opaque(id) : FormOfBinary(id);
    case ExprKind::kSelect: {
      const auto chosen = Decide(expr.args[0]);
      if (chosen) return FormOf(kernel_[id].args[*chosen ? 1 : 2]);
      return Opaque(id);
    }
    default: return Opaque(id);
  }
}

LinearForm IndexAnalysis::FormOfConvert(ExprId id) {
  const Expr expr = kernel_[id];
  if (!IsIntegral(kernel_[expr.args[0]].dtype)) return Opaque(id);
  const LinearForm form = FormOf(expr.args[0]);
  const Range range = RangeOf(form), type = RangeOfType(expr.dtype);
  // An unbounded u64 does not fit s64 although its range is clipped to it.
  const bool clipped = kernel_[expr.args[0]].dtype == DType::kU64 && range.hi == Range::kMax;
  return range.Within(type.lo, type.hi) && !clipped && expr.dtype != DType::kPred ? form
                                                                                  : Opaque(id);
}

LinearForm IndexAnalysis::FormOfBinary(ExprId id) {
  const Expr expr = kernel_[id];
  if (expr.op == Op::kMaximum || expr.op == Op::kMinimum) return FormOfExtreme(id);
  const LinearForm a = FormOf(expr.args[0]), b = FormOf(expr.args[1]);
  LinearForm form;
  switch (expr.op) {
    case Op::kAdd: form = AddScaled(a, b, 1); break;
    case Op::kSubtract: form = AddScaled(a, b, -1); break;
    case Op::kMultiply:
      if (!a.IsConstant() && !b.IsConstant()) return Opaque(id);
      form = b.IsConstant() ? Scaled(a, b.constant) : Scaled(b, a.constant);
      break;
    case Op::kDivide:
    case Op::kRemainder: {
      if (!b.IsConstant() || b.constant <= 0 || RangeOf(a).lo < 0) return Opaque(id);
      const auto quotient = FloorDivide(a, b.constant);
      if (!quotient) return Opaque(id);
      form = expr.op == Op::kDivide ? *quotient : AddScaled(a, *quotient, -b.constant);
      return form.overflow ? Opaque(id) : form;  // in [0, a]: no need to prove that it fits
    }
    default: return Opaque(id);
  }
  return IsExact(form, expr.dtype) ? form : Opaque(id);
}

// maximum or minimum: the side that always wins, if one does.
LinearForm IndexAnalysis::FormOfExtreme(ExprId id) {
  const Expr expr = kernel_[id];
  const LinearForm a = FormOf(expr.args[0]), b = FormOf(expr.args[1]);
  const Range difference = RangeOf(AddScaled(a, b, -1));
  const bool a_is_more = difference.lo >= 0, b_is_more = difference.hi <= 0;
  if (a_is_more) return expr.op == Op::kMaximum ? a : b;
  if (b_is_more) return expr.op == Op::kMaximum ? b : a;
  return Opaque(id);
}

// floor((c * q + r) / c) = q + floor(r / c): whole multiples leave the division.
std::optional<LinearForm> IndexAnalysis::FloorDivide(const LinearForm& form, int64_t divisor) {
  if (form.overflow) return std::nullopt;
  LinearForm quotient, rest;
  int64_t common = divisor;
  for (const auto& term : form.terms) {
    if (term.coefficient % divisor == 0) {
      quotient.terms.push_back({term.atom, term.coefficient / divisor});
    } else {
      rest.terms.push_back(term);
      common = std::gcd(common, term.coefficient);
    }
  }
  quotient.constant = FloorDiv(form.constant, divisor);
  rest.constant = FloorMod(form.constant, divisor);
  if (rest.terms.empty()) return quotient;
  if (common > 1) {  // floor((g * x + k) / (g * c)) = floor((x + floor(k / g)) / c)
    for (auto& term : rest.terms) term.coefficient /= common;
    rest.constant /= common;
    const auto reduced = FloorDivide(rest, divisor / common);
    if (!reduced) return std::nullopt;
    return AddScaled(quotient, *reduced, 1);
  }
  const Range range = RangeOf(rest);
  if (range.lo == Range::kMin) return std::nullopt;
  if (range.hi != Range::kMax && FloorDiv(range.lo, divisor) == FloorDiv(range.hi, divisor)) {
    quotient.constant += FloorDiv(range.lo, divisor);
    return quotient;
  }
  const IndexAtom first = atom(rest.terms.front().atom);
  int64_t product = 0, shift = 0;
  if (rest.terms.size() == 1 && rest.terms.front().coefficient == 1 &&
      first.kind == IndexAtom::Kind::kDiv &&
      !__builtin_mul_overflow(first.divisor, divisor, &product) &&
      !__builtin_mul_overflow(first.divisor, rest.constant, &shift)) {
    // floor((floor(x / a) + k) / b) = floor((x + k * a) / (a * b))
    const auto nested = FloorDivide(AddScaled(first.base, LinearForm::Constant(shift), 1), product);
    if (nested) return AddScaled(quotient, *nested, 1);
  }
  if (range.lo < 0) {  // emitted as a truncating division: the dividend must not be negative
    const int64_t lift = -FloorDiv(range.lo, divisor);
    rest.constant += lift * divisor;
    quotient.constant -= lift;
  }
  return AddScaled(quotient, LinearForm::Atom(DivAtom(rest, divisor)), 1);
}

bool IndexAnalysis::IsLinearAlias(VarId var) {
  const Binding& binding = BindingOf(var);
  return binding.alias &&
         std::all_of(binding.alias->terms.begin(), binding.alias->terms.end(),
                     [&](const auto& t) { return atom(t.atom).kind == IndexAtom::Kind::kVar; });
}

// ---- remainders inside a form ----

// The term a * floor(R / c) next to k * R of the other sign: they move together. R may itself hide
// behind a finer division of the same base, up to whole steps: floor(x / 6) is
// floor(floor(x / 3) / 2), and floor((x + 3) / 6) is floor((floor(x / 3) + 1) / 2).
bool IndexAnalysis::TryRecover(LinearForm& form, size_t position, bool whole,
                               std::vector<ModTerm>& mods) const {
  const auto term = form.terms[position];
  const IndexAtom& division = atom(term.atom);
  // factor * R + a * floor(R / c) = factor * (R % c) + (a + factor * c) * floor(R / c)
  const auto accept = [&](const LinearForm& base, int64_t divisor) {
    if (base.terms.empty()) return false;
    const auto& lead = base.terms.front();
    const int64_t coefficient = form.CoefficientOf(lead.atom);
    if (coefficient % lead.coefficient != 0) return false;
    const int64_t factor = coefficient / lead.coefficient;
    if (factor == 0 || (factor > 0) == (term.coefficient > 0)) return false;
    const bool all = std::all_of(base.terms.begin(), base.terms.end(), [&](const auto& inner) {
      return form.CoefficientOf(inner.atom) == inner.coefficient * factor;
    });
    if (!all) return false;
    LinearForm rest = AddScaled(form, base, -factor);
    rest = AddScaled(rest, Scaled(LinearForm::Atom(term.atom), divisor), factor);
    if (rest.overflow || (whole && rest.CoefficientOf(term.atom) != 0)) return false;
    form = std::move(rest);
    mods.push_back({factor, base, divisor});
    return true;
  };
  if (accept(division.base, division.divisor)) return true;
  if (!whole) return false;
  for (const auto& other : form.terms) {
    const IndexAtom& finer = atom(other.atom);
    if (other.atom == term.atom || finer.kind != IndexAtom::Kind::kDiv) continue;
    if (division.divisor % finer.divisor != 0 || finer.divisor == division.divisor) continue;
    const LinearForm shift = AddScaled(division.base, finer.base, -1);
    if (shift.overflow || !shift.IsConstant() || shift.constant % finer.divisor != 0) continue;
    LinearForm base = LinearForm::Atom(other.atom);
    base.constant = shift.constant / finer.divisor;
    if (accept(base, division.divisor / finer.divisor)) return true;
  }
  return false;
}

LinearForm IndexAnalysis::RecoverMods(const LinearForm& form, std::vector<ModTerm>& mods) const {
  LinearForm rest = form;
  const auto recover_one = [&](bool whole) {
    for (size_t i = 0; i < rest.terms.size(); ++i) {
      const bool division = atom(rest.terms[i].atom).kind == IndexAtom::Kind::kDiv;
      if (division && TryRecover(rest, i, whole, mods)) return true;
    }
    return false;
  };
  // Remainders that use up their division first: a partial one may stand in their way. But it may
  // also clear it: after one, whole remainders come first again. Each takes terms out of the form.
  while (recover_one(true) || recover_one(false)) {
  }
  return rest;
}

// ---- ranges ----

Range IndexAnalysis::RangeOf(const LinearForm& form) {
  if (form.overflow) return {};
  Range range = PlainRange(form);
  // A constraint may speak of a division whose range is asked by way of this form again.
  if (constraint_depth_ >= kConstraintDepth) return range;
  ++constraint_depth_;
  for (const Constraint& constraint : constraints_) {
    // form = k * constraint + rest, where the rest is simpler.
    const auto& lead = constraint.form.terms.front();
    const int64_t coefficient = form.CoefficientOf(lead.atom);
    if (coefficient == 0 || coefficient % lead.coefficient != 0) continue;
    const int64_t factor = coefficient / lead.coefficient;
    const LinearForm rest = AddScaled(form, constraint.form, -factor);
    if (rest.overflow || rest.terms.size() >= form.terms.size()) continue;
    range = Intersect(range, AddRanges(RangeOf(rest), ScaleRange(constraint.range, factor)));
  }
  if (!constraints_.empty()) {
    for (const auto& term : form.terms) {
      if (atom(term.atom).kind == IndexAtom::Kind::kDiv)
        range = Intersect(range, WithoutDivision(form, term));
    }
  }
  --constraint_depth_;
  return range;
}

// c * (rest + a * floor(R / c)) = c * rest + a * R - a * (R % c): what is known about R bounds it.
Range IndexAnalysis::WithoutDivision(const LinearForm& form, LinearForm::Term term) {
  const IndexAtom division = atom(term.atom);
  LinearForm whole = AddScaled(form, LinearForm::Atom(term.atom), -term.coefficient);
  whole = AddScaled(Scaled(whole, division.divisor), division.base, term.coefficient);
  if (whole.overflow) return {};
  Range range = AddRanges(RangeOf(whole), ScaleRange({0, division.divisor - 1}, -term.coefficient));
  if (range.empty()) return range;
  if (range.lo != Range::kMin) range.lo = -FloorDiv(-range.lo, division.divisor);
  if (range.hi != Range::kMax) range.hi = FloorDiv(range.hi, division.divisor);
  return range;
}

Range IndexAnalysis::PlainRange(const LinearForm& form) {
  std::vector<ModTerm> mods;
  const LinearForm rest = RecoverMods(form, mods);
  Range range{rest.constant, rest.constant};
  for (const auto& term : rest.terms)
    range = AddRanges(range, ScaleRange(AtomRange(term.atom), term.coefficient));
  for (const ModTerm& mod : mods)
    range = AddRanges(range, ScaleRange({0, mod.divisor - 1}, mod.coefficient));
  return range;
}

Range IndexAnalysis::AtomRange(int32_t number) {
  const IndexAtom known = atom(number);
  Range range;
  switch (known.kind) {
    case IndexAtom::Kind::kVar: {
      const Binding& binding = BindingOf(known.var);
      range = binding.bound ? binding.range : RangeOfType(kernel_[known.var].dtype);
      break;
    }
    case IndexAtom::Kind::kDiv: {
      range = RangeOf(known.base);
      if (range.lo != Range::kMin) range.lo = FloorDiv(range.lo, known.divisor);
      if (range.hi != Range::kMax) range.hi = FloorDiv(range.hi, known.divisor);
      range.lo = std::max<int64_t>(range.lo, 0);
      break;
    }
    case IndexAtom::Kind::kOpaque: range = OpaqueRange(known.expr); break;
  }
  return Intersect(range, refined_[static_cast<size_t>(number)]);
}

Range IndexAnalysis::SelectRange(const Expr& expr) {
  if (depth_ >= kSelectDepth) return Union(RangeOf(expr.args[1]), RangeOf(expr.args[2]));
  ++depth_;
  Range both{0, -1};
  for (const bool taken : {true, false}) {
    const size_t mark = Mark();
    const bool reachable = !unreachable_;
    Assume(expr.args[0], taken);
    // What cannot be picked adds nothing.
    if (!(reachable && unreachable_)) both = Union(both, RangeOf(expr.args[taken ? 1 : 2]));
    Release(mark);
  }
  --depth_;
  return both;
}

Range IndexAnalysis::OpaqueRange(ExprId id) {
  const Expr expr = kernel_[id];
  const Range type = RangeOfType(expr.dtype);
  if (!IsInteger(expr.dtype)) return type;
  if (expr.kind == ExprKind::kSelect) return Intersect(SelectRange(expr), type);
  if (expr.kind == ExprKind::kUnary && expr.op == Op::kConvert &&
      kernel_[expr.args[0]].dtype == DType::kPred)
    return {0, 1};
  if (expr.kind != ExprKind::kBinary) return type;
  const Range a = RangeOf(expr.args[0]), b = RangeOf(expr.args[1]);
  switch (expr.op) {
    case Op::kMaximum: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::kMinimum: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::kAnd:
      if (b.lo >= 0) return {0, b.hi};
      return a.lo >= 0 ? Range{0, a.hi} : type;
    case Op::kRemainder: {
      if (b.lo <= 0 || b.hi == Range::kMax) return type;
      const Range result{a.lo >= 0 ? 0 : 1 - b.hi, a.hi <= 0 ? 0 : b.hi - 1};
      return result;
    }
    case Op::kDivide: {
      if (b.lo <= 0 || b.lo != b.hi) return type;
      return Range{a.lo / b.lo, a.hi / b.lo};
    }
    case Op::kMultiply: {
      if (!a.bounded() || !b.bounded() || a.lo < 0 || b.lo < 0) return type;
      const Range product = ScaleRange(a, b.hi);
      return product.hi == Range::kMax || !product.Within(type.lo, type.hi) ? type
                                                                            : Range{0, product.hi};
    }
    default: return type;
  }
}

}  // namespace fusemark::loops
