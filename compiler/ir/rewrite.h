// Rebuilding computations: what graph passes are written with. A pass does not edit a computation
// in place, it walks it in order and emits into a fresh one, so ids never dangle and the order
// invariant (operands precede users) holds by construction.
//
// Not here: any knowledge of what a rewrite means. Dead code disappears by itself: what neither the
// root nor a parameter nor a side effect needs is dropped when the new computation is finished.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"

namespace fusemark {

// effects[c]: computation c does something besides computing its root (or calls one that does).
using Effects = std::vector<bool>;
Effects FindEffects(const Module& module);
// Infeed, outfeed, send, receive, side-effecting custom calls, and calls of computations with
// effects. Computations past the end of `effects` (made during a rewrite) have none.
bool HasSideEffect(const Instr& instr, const Effects& effects);

// Emits instructions into a fresh computation. Ids it returns are final until Finish().
class Builder {
 public:
  explicit Builder(const Effects& effects) : effects_(effects) {}

  const Instr& operator[](InstrId id) const { return instrs_[id.index]; }
  uint32_t size() const { return static_cast<uint32_t>(instrs_.size()); }

  // Adds an instruction that keeps its name: it stands for one of the old computation.
  InstrId Keep(Instr instr);
  // Adds a new instruction; its name (or, if empty, its opcode) is a hint that Finish() makes
  // unique.
  InstrId Emit(Instr instr);
  InstrId Emit(Op op, Shape shape, std::vector<InstrId> operands, Attrs attrs = {});

  InstrId Constant(Literal literal);
  InstrId Reshape(InstrId operand, Dims dims);
  InstrId Transpose(InstrId operand, Dims permutation);
  // Result dim dims[i] is operand dim i.
  InstrId Broadcast(InstrId operand, const Dims& result_dims, Dims dims);
  InstrId Convert(InstrId operand, DType dtype);
  InstrId TupleElement(InstrId tuple, int64_t index);
  InstrId Tuple(std::vector<InstrId> elements);
  // Elementwise, result shaped like operand 0.
  InstrId Unary(Op op, InstrId operand);
  InstrId Binary(Op op, InstrId lhs, InstrId rhs);

  // Copies the body of `callee` here with `arguments` for its parameters; returns its root.
  InstrId Inline(const Computation& callee, std::span<const InstrId> arguments);

  // Drops what nothing needs, renumbers, and makes names unique.
  Computation Finish(std::string name, InstrId root);

 private:
  friend bool Rewrite(Computation&, const Effects&,
                      const std::function<InstrId(Builder&, Instr&&)>&);
  void NameNewInstrs();

  const Effects& effects_;
  std::vector<Instr> instrs_;
  std::vector<bool> is_new_;
  uint32_t dropped_ = 0;
};

// Called for every needed instruction except parameters, in order, with operands already renumbered
// into the builder. Returns the instruction that takes its place; builder.Keep(std::move(instr))
// for no change.
using RewriteFn = std::function<InstrId(Builder&, Instr&&)>;

// Rebuilds `computation` through `fn`. True if instructions were dropped; whether `fn` itself
// changed something is for the caller to count.
bool Rewrite(Computation& computation, const Effects& effects, const RewriteFn& fn);

// Rewrite over every computation of the module. `fn` may look at computations other than the one
// being rebuilt (whose instructions have moved out).
bool RewriteModule(Module& module, const RewriteFn& fn);

// Drops computations that the entry does not reach and moves callees before their callers where
// they are not (a pass appends new ones at the end). Order is kept otherwise. True if anything
// moved.
bool CollectComputations(Module& module);

// {0, 1, ..., n-1}.
Dims IdentityDims(int64_t n);
// Little-endian scalar literals: `bits` is the storage pattern of one element.
Literal ScalarLiteral(DType dtype, uint64_t bits);
// The value in the given type: floats rounded once, integers wrapped, pred value != 0.
Literal ScalarLiteralOf(DType dtype, double value);

}  // namespace fusemark
