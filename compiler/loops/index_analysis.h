// What is known about integer expressions at a point of a kernel: a linear form over variables and
// floor divisions, and a proved range. Serves the bounds proof (verify.h) and simplification.
//
// The caller walks the statement tree and tells the analysis what holds (loops, lets, conditions);
// Mark and Release bracket scopes. Values are exact: a form is only made where the expression
// provably does not wrap. x % c is kept as x - c * floor(x / c), so x / c * c + x % c is x.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/loops/kernel.h"
#include "compiler/loops/linear_form.h"

namespace fusemark::loops {

// What an atom number of a form stands for.
struct IndexAtom {
  enum class Kind : uint8_t { kVar, kDiv, kOpaque };
  Kind kind = Kind::kVar;
  VarId var;            // kVar
  LinearForm base;      // kDiv: floor(base / divisor), base >= 0
  int64_t divisor = 1;  // kDiv
  ExprId expr;          // kOpaque: the value of this expression
};

// coefficient * (base % divisor) in a form from which it was recovered.
struct ModTerm {
  int64_t coefficient = 0;
  LinearForm base;
  int64_t divisor = 1;
};

class IndexAnalysis {
 public:
  // Expressions may be appended to the kernel while the analysis lives.
  explicit IndexAnalysis(const Kernel& kernel) : kernel_(kernel) {}

  size_t Mark() const { return undo_.size(); }
  void Release(size_t mark);
  void EnterLoop(VarId var, int64_t extent);
  void Bind(VarId var, ExprId value);
  void Assume(ExprId condition, bool holds);
  // A contradiction was assumed or a loop without iterations entered: this point never runs.
  bool unreachable() const { return unreachable_; }

  Range RangeOf(ExprId expr) { return RangeOf(FormOf(expr)); }
  Range RangeOf(const LinearForm& form);
  Range RangeOfVar(VarId var) { return AtomRange(AtomOf(var)); }
  LinearForm FormOf(ExprId expr);
  // Decided by the ranges of both sides?
  std::optional<bool> Decide(ExprId condition);

  const IndexAtom& atom(int32_t number) const { return atoms_[static_cast<size_t>(number)]; }
  // A let that is linear in loop variables.
  bool IsLinearAlias(VarId var);
  // Splits what is a remainder of something out of the form: form = result + the sum of `mods`.
  LinearForm RecoverMods(const LinearForm& form, std::vector<ModTerm>& mods) const;
  // Does a value of this form depend on the variable, other than through opaque values?
  bool DependsOn(const LinearForm& form, VarId var) const;

 private:
  struct Binding {
    bool bound = false;
    Range range;
    std::optional<LinearForm> alias;
    ExprId definition;  // of a pred let: assumed with it
  };
  struct Constraint {
    LinearForm form;
    Range range;
  };
  struct Undo {
    enum class Kind : uint8_t { kBinding, kRefined, kConstraint, kUnreachable };
    Kind kind = Kind::kBinding;
    size_t index = 0;
    Binding binding;
    Range range;
  };

  Binding& BindingOf(VarId var);
  void SetBinding(VarId var, Binding binding);
  void SetUnreachable();
  void Constrain(LinearForm form, Range range);
  void AssumeCompare(const Expr& compare, bool holds);
  bool TryRecover(LinearForm& form, size_t position, bool whole, std::vector<ModTerm>& mods) const;

  int32_t AtomOf(VarId var);
  int32_t DivAtom(const LinearForm& base, int64_t divisor);
  LinearForm Opaque(ExprId expr);
  LinearForm Compute(ExprId expr);
  LinearForm FormOfBinary(ExprId id);
  LinearForm FormOfConvert(ExprId id);
  LinearForm FormOfExtreme(ExprId id);
  std::optional<LinearForm> FloorDivide(const LinearForm& form, int64_t divisor);
  bool IsExact(const LinearForm& form, DType dtype);

  Range WithoutDivision(const LinearForm& form, LinearForm::Term term);
  Range PlainRange(const LinearForm& form);
  Range AtomRange(int32_t number);
  Range OpaqueRange(ExprId expr);
  Range SelectRange(const Expr& expr);

  const Kernel& kernel_;
  std::vector<IndexAtom> atoms_;
  std::vector<Range> refined_;  // per atom: what conditions say
  std::map<uint32_t, int32_t> var_atoms_;
  std::map<std::pair<LinearForm, int64_t>, int32_t> div_atoms_;
  std::map<std::string, int32_t> opaque_atoms_;
  std::vector<Binding> bindings_;
  std::vector<Constraint> constraints_;
  std::vector<Undo> undo_;
  std::map<ExprId, LinearForm> memo_;  // valid until anything new is known
  bool unreachable_ = false;
  int depth_ = 0, constraint_depth_ = 0;
};

// The values an integer or pred type can hold, clipped to int64.
Range RangeOfType(DType dtype);

}  // namespace fusemark::loops
