// Loop nest IR: the small textual IR between graph and machine code, where speed is made.
//
// A Kernel is buffers + variables + expressions (index arenas) + a tree of statements held by
// value; copying is `=`. What is not here: how HLO becomes loops (lower_*.cpp), transformations
// (primitives.h), the proof that accesses are in bounds (verify.h), execution (interpret.h,
// codegen/).
//
// Rules the reader must keep:
//  * Buffers are dense row-major arrays; a load or store has one index expression (s64) per
//  dimension. A layout is
//    expressed by the buffer's dims and the index map, never by strides.
//  * Value computations are flat: a value used twice is bound by a `let`. Expression trees are
//  trees, not DAGs.
//  * bf16 and f16 exist only in memory and as operands of `convert`: arithmetic is on f32, f64,
//  integers and pred. So
//    where a value is rounded is visible in the text.
//  * A variable may be bound in several disjoint scopes (branches that tile() made), never in
//  nested ones. Primitives
//    address loops by name: a name means every loop that carries it.
//  * The body's top level splits into phases (PhasesOf): each top-level parallel or block `for` is
//  a phase of its own,
//    the statements between two of them form a serial one. Phases run one after another; inside a
//    phase the parallel loop is the outermost statement, and there is no other parallel loop.
//    Scratch buffers live across phases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/attrs.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/op.h"

namespace fusemark::loops {

struct ExprId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const ExprId&) const = default;
};
struct VarId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const VarId&) const = default;
};
struct BufferId {
  uint32_t index = UINT32_MAX;
  auto operator<=>(const BufferId&) const = default;
};

enum class Space : uint8_t {
  kOperand,   // read only, given by the caller
  kResult,    // written (and may be read back), given by the caller
  kScratch,   // kernel-scope temporary, given by the caller, lives across phases
  kRegister,  // alloc statement; small, constant indices after unrolling, ends in registers
  kStack,     // alloc statement; a tile
  kShared,    // alloc statement; GPU shared memory, one per block
};

struct Buffer {
  std::string name;  // without '%'
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  Space space = Space::kOperand;
  // Result i may share memory with operand `in_place_of`; -1: no.
  int32_t in_place_of = -1;
  bool operator==(const Buffer&) const = default;
};

struct Var {
  std::string name;
  DType dtype = DType::kS64;  // loop variables are s64
  bool operator==(const Var&) const = default;
};

enum class ExprKind : uint8_t {
  kConst,    // bits (sign-extended integers; bit pattern of f32/f64; 0/1 for pred)
  kVar,      // loop variable or let
  kLoad,     // buffer[args...]; pred loads yield 0/1; bf16/f16 loads yield bf16/f16 (convert before
             // arithmetic)
  kUnary,    // op(args[0]); kConvert converts to dtype; kCopy is identity
  kBinary,   // op(args[0], args[1]) with HLO semantics of the dtype; both args have the same dtype
  kCompare,  // direction(args[0], args[1]) -> pred; HLO float/signed/unsigned semantics of the arg
             // dtype
  kSelect,   // args[0] ? args[1] : args[2]; both sides may be evaluated, the unpicked one never
             // leaks
  kFma,      // args[0] * args[1] + args[2], rounded once
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  DType dtype = DType::kS64;
  Op op = Op::kAdd;                      // kUnary, kBinary
  Direction direction = Direction::kEq;  // kCompare
  VarId var;                             // kVar
  BufferId buffer;                       // kLoad
  uint64_t bits = 0;                     // kConst
  std::vector<ExprId> args;
  bool operator==(const Expr&) const = default;
};

enum class LoopKind : uint8_t {
  kSerial,
  kParallel,  // iterations are independent and may run on any thread, in ranges
  kVector,    // all iterations in lockstep as SIMD lanes
  kUnroll,    // serial, fully unrolled while emitting
  kBlock,     // GPU grid dimension
  kThread,    // GPU block dimension; barrier synchronises all threads of the block
};

enum class StmtKind : uint8_t {
  kFor,
  kStore,
  kLet,
  kIf,
  kAlloc,
  kBarrier,
  kPrefetch  // a hint: the element may lie outside of the buffer
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Stmt {
  StmtKind kind = StmtKind::kBarrier;
  LoopKind loop = LoopKind::kSerial;  // kFor
  bool reduces = false;  // kFor: iterations carry a value (accumulate), so they are ordered
  VarId var;             // kFor, kLet
  int64_t extent = 0;    // kFor: 0 <= var < extent
  BufferId buffer;       // kStore, kPrefetch, kAlloc (visible to the end of the enclosing block)
  std::vector<ExprId> indices;  // kStore, kPrefetch
  ExprId value;                 // kStore, kLet: the value; kIf: the condition
  Block body;                   // kFor, kIf (then)
  Block else_body;              // kIf
  bool operator==(const Stmt&) const = default;
};

// The lowering a kernel came from; the knobs that apply depend on it.
enum class KernelClass : uint8_t {
  kLoop,
  kReduce,
  kRow,
  kContraction,
  kAttention,
  kWindow,
  kUpdate
};

struct Kernel {
  std::string name;
  KernelClass klass = KernelClass::kLoop;
  std::vector<Buffer> buffers;
  std::vector<Var> vars;
  std::vector<Expr> exprs;
  Block body;
  std::vector<BufferId> operands, results, scratch;  // in ABI order

  bool operator==(const Kernel&) const = default;
  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  const Var& operator[](VarId id) const { return vars[id.index]; }
  const Buffer& operator[](BufferId id) const { return buffers[id.index]; }
};

std::string_view KernelClassName(KernelClass klass);
std::optional<KernelClass> KernelClassFromName(std::string_view name);
std::string_view LoopKindName(LoopKind kind);
std::optional<LoopKind> LoopKindFromName(std::string_view name);
std::string_view SpaceName(Space space);

// A contiguous run of top-level statements that runs between two synchronisations.
struct Phase {
  size_t begin = 0, end = 0;  // statements body[begin, end)
  // Iterations of the phase's parallel loop (begin + 1 == end then), or 1 for a serial phase.
  int64_t extent = 1;
};
std::vector<Phase> PhasesOf(const Kernel& kernel);

// Bytes of all scratch buffers, each aligned to 64; `offsets` (may be null) receives one offset per
// scratch buffer.
int64_t ScratchBytes(const Kernel& kernel, std::vector<int64_t>* offsets = nullptr);

}  // namespace fusemark::loops
