// The emitter shared by all lowerings: the value of one element of one HLO instruction as flat
// `let` statements in the current block. Members are inlined recursively, everything else is loaded
// from an operand buffer, scalar and splat constants become code. Which loops stand around is the
// business of the callers (lower_loop, lower_row, lower_update).
//
// Invariants: a value is emitted once per (instruction, index, scope) and used by name afterwards,
// so expression trees stay trees; narrow floats are held as f32. The request has passed
// CheckRequest() (lower_check.h): emission itself cannot fail.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/loops/builder.h"
#include "compiler/loops/lower.h"
#include "compiler/loops/lower_index.h"

namespace fusemark::loops {

// One scalar of HLO type `dtype`: a constant or a bound variable, either of type HeldType(dtype).
struct Value {
  DType dtype = DType::kF32;
  std::optional<uint64_t> constant;
  VarId var;
};

// Floats narrower than f32 are held as f32, integers narrower than a byte in a byte, everything
// else as itself.
DType HeldType(DType dtype);
bool IsNarrowFloat(DType dtype);
// The type of a buffer's elements (lower_narrow.cpp).
DType StorageType(DType dtype);
// Held in a byte that arithmetic may overflow.
bool WrapsInByte(DType dtype);
// The value of a constant whose elements are all alike (a scalar, a splat).
std::optional<Value> ConstantValue(const Instr& constant);

class Emitter {
 public:
  Emitter(const LowerRequest& request, Lowered& lowered);

  const Module& module() const { return *request_.module; }
  const Computation& computation() const { return computation_; }
  const Instr& instr(InstrId id) const { return computation_[id]; }
  const LowerRequest& request() const { return request_; }
  Builder& builder() { return builder_; }
  bool Inlined(InstrId id) const { return inlined_[id.index]; }

  // ---- statements and scopes ----
  void Append(Stmt stmt) { scope_->block.push_back(std::move(stmt)); }
  // Calls `body` with the index; a loop of one iteration leaves no loop. Names in use get another
  // number.
  void Loop(char prefix, size_t number, int64_t extent, bool reduces,
            const std::function<void(const Affine&)>& body);
  void Nest(char prefix, const std::vector<int64_t>& dims, bool reduces,
            const std::function<void(const Indices&)>& body);
  void If(ExprId condition, const std::function<void()>& body);
  // Values that depend on nothing bound below this point are emitted here from now on, not in the
  // loops below (row kernels: per-row values stay out of the loop along the row).
  void HoistToHere() { floor_ = scope_; }
  void StopHoisting() { floor_ = nullptr; }
  // Number of the first unused loop variable of a kind.
  size_t FreeNumber(char prefix) const;
  Block TakeBody() { return std::move(root_.block); }

  // ---- indices ----
  Range RangeOf(const Affine& index) const;
  ExprId Expr(const Affine& index);  // a fresh tree
  Affine BindIndex(std::string_view name, ExprId value, Range range);
  Affine Div(const Affine& index, int64_t divisor);
  Affine Mod(const Affine& index, int64_t divisor);
  Affine Clamp(const Affine& index, int64_t low, int64_t high);
  Affine Linearise(const Indices& indices, const std::vector<int64_t>& dims);
  Indices Delinearise(const Affine& linear, const std::vector<int64_t>& dims);
  // The element of `from` at the row-major position of `indices` in `to`; no division where dims
  // are split, merged with a known range, added or dropped.
  Indices MapReshape(const Indices& indices, const std::vector<int64_t>& to,
                     const std::vector<int64_t>& from);
  // low <= index <= high; nothing if the ranges already say so.
  std::optional<ExprId> InRange(const Affine& index, int64_t low, int64_t high);
  // Runs `body` under the condition low <= index <= high, with the index bound to a variable of
  // that range.
  void WithGuard(const Affine& index, int64_t low, int64_t high,
                 const std::function<void(const Affine&)>& body);
  // A start index of a dynamic slice or gather, clamped to [0, high].
  Affine ClampedStart(const Value& start, int64_t high);

  // ---- values ----
  // Element `indices` of leaf `leaf` of an instruction.
  Value Emit(InstrId id, const Indices& indices, int64_t leaf = 0);
  void Remember(InstrId id, int64_t leaf, const Indices& indices, const Value& value);
  Value Bind(std::string_view name, DType dtype, ExprId held);
  Value Constant(DType dtype, uint64_t held_bits) { return {dtype, held_bits, {}}; }
  ExprId Use(const Value& value);
  // Rounds a freshly computed narrow float if every operation rounds.
  Value Round(std::string_view name, DType dtype, ExprId held);
  ExprId Stored(const Value& value);  // in the type of memory
  // lower_narrow.cpp: from and to the type of a buffer's elements.
  ExprId FromStorage(DType dtype, ExprId stored);
  ExprId ToStorage(DType dtype, ExprId held);
  // The nearest value that the type has (narrow floats) or the one it wraps to (narrow integers).
  ExprId Narrowed(DType dtype, ExprId held);
  ExprId NarrowedFrom(const Value& value, DType to);
  // Operations on the bits of a sub-byte integer, which its byte has more of; nothing for others.
  std::optional<ExprId> OnNarrowBits(Op op, DType dtype, std::span<const Value> arguments);
  Value Select(std::string_view name, ExprId condition, const Value& a, const Value& b);
  // What sorting compares: floats by total order, others by themselves.
  ExprId SortKey(const Value& value) { return IsFloat(value.dtype) ? OrderKey(value) : Use(value); }
  // An elementwise instruction on given scalars.
  Value Elementwise(const Computation& computation, const Instr& instr,
                    std::span<const Value> arguments);
  // A called computation on scalars; one value per leaf of its result. `exact`: narrow floats keep
  // f32 inside (sums).
  std::vector<Value> Region(ComputationId region, std::span<const Value> arguments,
                            bool exact = false);

  // ---- accumulators ----
  // A register of rank 0, allocated and set in the current block.
  BufferId Accumulator(DType held, ExprId init);
  ExprId Read(BufferId accumulator) { return builder_.Load(accumulator, {}); }
  void Assign(BufferId accumulator, ExprId value) {
    Append(builder_.Store(accumulator, {}, value));
  }

  // ---- reductions (lower_reduce.cpp) ----
  // Reduces of equal operand dims and dimensions in one pass; binds all their leaves at `indices`.
  void EmitReduces(std::span<const InstrId> reduces, const Indices& indices, char prefix);
  // Reduces of the kernel that may share the pass of `id`, itself included.
  std::vector<InstrId> Siblings(InstrId id) const;
  void set_share_passes(bool share) { share_passes_ = share; }

  // ---- rows (lower_row.cpp) ----
  // A value kept in a local buffer along the loops `indices[dims]`: stored when first emitted while
  // `filling`, loaded afterwards.
  struct Kept {
    BufferId buffer;
    Dims dims;          // positions of the buffer's dims in the instruction's dims
    Indices canonical;  // index at which it is filled
    bool filled = false;
    Indices start = {};  // by buffer dim: where the kept part begins; none: at 0
  };
  std::map<InstrId, Kept>& kept() { return kept_; }

  BufferId OperandBuffer(InstrId id);

 private:
  using Key = std::tuple<InstrId, int64_t, Indices>;
  struct Scope {
    Block block;
    std::map<Key, Value> values;
    std::map<std::tuple<Affine, int64_t, bool>, Affine> quotients;
    Scope* parent = nullptr;
    int depth = 0;
  };
  void InScope(Scope& scope, const std::function<void()>& body);
  const Value* Find(const Key& key) const;
  Scope* TargetScope(const Indices& indices) const;
  int DepthOf(const Affine& index) const;
  void SetVar(VarId var, Range range);
  Affine DivMod(const Affine& index, int64_t divisor, bool want_mod);
  std::optional<Value> SplatConstant(InstrId id) const;
  Value Compute(InstrId id, const Indices& indices, int64_t leaf);
  // The element at `indices` of the operand seen as an array of `dims`.
  Value LoadOperand(InstrId id, const Indices& indices, const std::vector<int64_t>& dims);
  std::vector<int64_t> BufferDims(InstrId id) const;
  // real or imag of a complex operand.
  Value LoadPart(const Instr& part, const Indices& indices);
  std::optional<Value> LoadKept(InstrId id, const Indices& indices);
  void StoreKept(InstrId id, const Indices& indices, const Value& value);

  // lower_scalar.cpp
  Value ConvertValue(const Instr& instr, const Value& value);
  Value CompareValues(const Instr& instr, const Value& a, const Value& b);
  Value BitcastValue(const Instr& instr, const Value& value);
  Value ReducePrecision(const Instr& instr, const Value& value);
  ExprId BitsOf(const Value& value);  // unsigned, same width
  ExprId FromBits(DType dtype, ExprId bits);
  ExprId OrderKey(const Value& value);
  // lower_movement.cpp
  Value Movement(InstrId id, const Indices& indices);
  Value Broadcast(const Instr& instr, const Indices& indices);
  Value Reinterpret(const Instr& instr, const Indices& indices);
  Value Pad(const Instr& instr, const Indices& indices);
  Value Concatenate(const Instr& instr, const Indices& indices);
  Value Gather(const Instr& instr, const Indices& indices);
  Value DynamicSlice(const Instr& instr, const Indices& indices);
  Value WideBitcast(const Instr& instr, const Indices& indices);
  // lower_contraction.cpp, lower_convolution.cpp, lower_window.cpp, lower_update.cpp
  Value Dot(const Instr& instr, const Indices& indices);
  Value Convolution(const Instr& instr, const Indices& indices);
  void ReduceWindow(InstrId id, const Indices& indices);
  Value UpdateSlice(const Instr& instr, const Indices& indices);

  const LowerRequest& request_;
  const Computation& computation_;
  Lowered& lowered_;
  Builder builder_;
  std::vector<bool> inlined_;
  std::map<InstrId, BufferId> operand_buffers_;
  std::map<InstrId, Kept> kept_;
  std::vector<Range> ranges_;  // by variable
  std::vector<int> depths_;    // by variable: depth of the scope that binds it
  std::vector<std::pair<char, size_t>> active_loops_;
  Scope root_;
  Scope* scope_ = &root_;
  Scope* floor_ = nullptr;
  bool share_passes_ = false;
  bool exact_ = false;  // inside a region that keeps f32
};

}  // namespace fusemark::loops
