// One phase of a kernel -> the body of one LLVM function. Statements are in phase_emitter.cpp,
// expressions in emit_value.cpp, s64 index arithmetic in emit_index.cpp, loads and stores in
// emit_memory.cpp. Internal to codegen.
//
// The kernel is verified: accesses are in bounds, iterations of a vector loop are independent. What
// this version cannot compile ends in an error (Emit), never in wrong code.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/lane_ops.h"
#include "compiler/codegen/lane_value.h"
#include "compiler/loops/kernel.h"
#include "compiler/support/result.h"

namespace fusemark::codegen {

class PhaseEmitter {
 public:
  // `function` has the ABI's signature and no body yet.
  PhaseEmitter(const loops::Kernel& kernel, const CpuFeatures& cpu, llvm::Function& function);
  Result<void> Emit(const loops::Phase& phase);

 private:
  struct BufferState {
    llvm::Value* base = nullptr;
    unsigned lanes = 0;  // private to each lane of the vector loop it was allocated in; 0: not
    bool invariant = false;
    llvm::MDNode* scope = nullptr;
    llvm::MDNode* no_alias = nullptr;
  };
  struct VectorContext {
    unsigned lanes = 0;           // 0: outside vector loops
    llvm::Value* mask = nullptr;  // <lanes x i1> of active lanes, at least one; null: all
  };
  // An unrolled loop around a vector loop of as many lanes (emit_transpose.cpp).
  struct Square {
    loops::VarId var;                // of the unrolled loop
    size_t step = 0;                 // its iteration
    std::vector<loops::VarId> lets;  // bound inside
    // By load: its value in each iteration.
    std::map<uint32_t, std::vector<llvm::Value*>> columns = {};
  };
  // acc = acc + T(x) * T(y) in a loop over groups of neighbours (emit_group.cpp).
  struct GroupSum {
    const loops::Stmt* store = nullptr;
    struct Factor {
      loops::BufferId buffer;
      LaneValue at;  // of the first neighbour
      bool is_signed = true;
      bool offset = false;    // signed in memory, made unsigned by an offset of 128
      bool constant = false;  // no load: 128
    } factor[2];
  };
  // How the lanes of an access lie in memory.
  enum class Pattern : uint8_t { kUniform, kContiguous, kStrided, kScattered };

  // phase_emitter.cpp
  void BindBuffers();
  void MarkAliases();
  void EmitPhase(const loops::Phase& phase);
  void EmitBlock(const loops::Block& block);
  void EmitStmt(const loops::Stmt& stmt);
  void EmitFor(const loops::Stmt& stmt);
  void EmitVectorFor(const loops::Stmt& stmt);
  void EmitLanes(const loops::Stmt& stmt, llvm::Value* base, int64_t offset, unsigned lanes);
  void EmitIf(const loops::Stmt& stmt);
  void EmitUniformIf(llvm::Value* condition, const loops::Stmt& stmt);
  void EmitMasked(llvm::Value* mask, const loops::Block& block);
  void EmitAlloc(const loops::Stmt& stmt);
  // Calls `body` with i for begin <= i < end; `never_empty` drops the test before the first.
  void EmitLoop(llvm::Value* begin, llvm::Value* end, bool never_empty,
                const std::function<void(llvm::Value*)>& body);
  void BindLoopVar(loops::VarId var, llvm::Value* value, int64_t offset, int64_t stride,
                   int64_t extent);

  // emit_value.cpp
  LaneValue Eval(loops::ExprId id);
  LaneValue EvalConst(const loops::Expr& expr);
  LaneValue EvalUnary(const loops::Expr& expr);
  LaneValue EvalConvert(const loops::Expr& expr);
  LaneValue EvalBinary(const loops::Expr& expr);
  LaneValue EvalCompare(const loops::Expr& expr);
  LaneValue EvalSelect(const loops::Expr& expr);
  LaneValue EvalFma(const loops::Expr& expr);
  LaneValue Checked(const loops::Expr& expr, llvm::Value* value, bool varying);
  llvm::Value* Scalar(const LaneValue& value);       // of a uniform value
  llvm::Value* Vector(const LaneValue& value);       // <lanes x T>, splat if uniform
  llvm::Value* Materialize(const LaneValue& value);  // scalar if uniform, else vector
  // Both as vectors if one of them is, else both as scalars.
  bool MaterializeBoth(const LaneValue& a, const LaneValue& b, llvm::Value*& x, llvm::Value*& y);

  // emit_index.cpp
  LaneValue IndexConst(int64_t value);
  LaneValue IndexAdd(const LaneValue& a, const LaneValue& b);
  LaneValue IndexScale(const LaneValue& a, int64_t factor);
  LaneValue IndexBinary(const loops::Expr& expr, const LaneValue& a, const LaneValue& b);
  LaneValue IndexDivide(Op op, const LaneValue& a, int64_t divisor);
  LaneValue IndexExtremum(Op op, const LaneValue& a, const LaneValue& b);
  LaneValue IndexInLanes(Op op, const LaneValue& a, const LaneValue& b, const Range& range);
  llvm::Value* Vector32(const LaneValue& value);  // <lanes x i32> of an index that fits
  llvm::Value* AddScalars(llvm::Value* a, llvm::Value* b);

  // emit_memory.cpp
  LaneValue Address(loops::BufferId buffer, const std::vector<loops::ExprId>& indices);
  Pattern PatternOf(const LaneValue& address) const;
  llvm::Value* Pointer(loops::BufferId buffer, const LaneValue& address, int64_t more = 0);
  llvm::Value* Pointers(loops::BufferId buffer, const LaneValue& address);
  LaneValue EvalLoad(loops::ExprId id);
  llvm::Value* LoadContiguous(loops::BufferId buffer, const LaneValue& address);
  llvm::Value* LoadPerLane(loops::BufferId buffer, const LaneValue& address);
  llvm::Value* LoadGroup(loops::BufferId buffer, const LaneValue& address, unsigned size);
  void EmitStore(const loops::Stmt& stmt);
  void EmitPrefetch(const loops::Stmt& stmt);
  void StoreContiguous(loops::BufferId buffer, const LaneValue& address, llvm::Value* value);
  void StorePerLane(loops::BufferId buffer, const LaneValue& address, llvm::Value* value);
  // emit_transpose.cpp
  void EmitUnrolled(const loops::Stmt& stmt);
  // The value of a load as part of a square; null if it is none.
  llvm::Value* LoadOfSquare(loops::ExprId id, const LaneValue& address);
  bool IsLinear(loops::ExprId id) const;

  // emit_group.cpp: false if the loop is no such one.
  bool EmitGroupSum(const loops::Stmt& loop);
  bool EmitGroupStore(const loops::Stmt& loop);
  std::optional<GroupSum> MatchGroupSum(const loops::Stmt& loop);
  llvm::Value* LoadFactor(const GroupSum::Factor& factor, unsigned size);
  std::optional<LaneValue> GroupAt(loops::BufferId buffer,
                                   const std::vector<loops::ExprId>& indices,
                                   const loops::Stmt& loop, const std::vector<loops::VarId>& lets);
  llvm::Value* AddFours(llvm::Value* sum, llvm::Value* a, llvm::Value* b, const GroupSum& group);
  llvm::Value* ToWords(llvm::Value* group, bool is_signed);

  llvm::Value* ToRegister(DType dtype, llvm::Value* value);
  llvm::Value* ToMemory(DType dtype, llvm::Value* value);
  // A full-width access is in bounds even where the mask is off.
  bool MayBlend(loops::BufferId buffer, const LaneValue& address) const;
  llvm::Type* ElementType(loops::BufferId buffer) const;
  llvm::Align AlignOf(loops::BufferId buffer) const;
  template <class Access>
  Access* Annotate(loops::BufferId buffer, Access* access);

  void Fail(Code code, const std::string& message);

  const loops::Kernel& kernel_;
  llvm::Function& function_;
  llvm::IRBuilder<> ir_;
  llvm::IRBuilder<> entry_;  // allocas and base pointers
  LaneOps ops_;
  VectorContext context_;
  std::optional<Square> square_;
  std::vector<BufferState> buffers_;
  std::vector<LaneValue> vars_;
  int64_t stack_bytes_ = 0;
  int64_t emitted_ = 0;  // statements, unrolled ones once per copy
  std::optional<Error> error_;
};

}  // namespace fusemark::codegen
