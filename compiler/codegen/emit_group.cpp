// Groups of neighbours. An unrolled loop of 2 or 4 iterations inside of a vector loop goes through
// what stands together in memory, one group for each lane. Where it multiplies narrow integers and
// adds them up, the group is one instruction's work; where it writes, its elements go out together.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "compiler/codegen/phase_emitter.h"
#include "compiler/loops/rewrite.h"

namespace fusemark::codegen {

using llvm::Value;
using loops::Expr;
using loops::ExprId;
using loops::ExprKind;
using loops::Stmt;
using loops::StmtKind;

namespace {

constexpr uint64_t kOffset = 128;  // makes signed bytes unsigned
constexpr int64_t kMostBits = 32;  // of a group: a lane

// Sums and products of loop variables and of what was bound outside.
bool MovesLinearly(const loops::Kernel& kernel, ExprId id,
                   const std::vector<loops::VarId>& inside) {
  const Expr& expr = kernel[id];
  if (expr.kind == ExprKind::kVar) return !llvm::is_contained(inside, expr.var);
  const bool linear = expr.kind == ExprKind::kBinary &&
                      (expr.op == Op::kAdd || expr.op == Op::kSubtract || expr.op == Op::kMultiply);
  return expr.kind == ExprKind::kConst || (linear && MovesLinearly(kernel, expr.args[0], inside) &&
                                           MovesLinearly(kernel, expr.args[1], inside));
}

bool IsByte(DType dtype) {
  return dtype == DType::kS8 || dtype == DType::kU8;
}

// With arguments of whatever vector types this LLVM declares it for.
Value* Call(llvm::IRBuilder<>& ir, llvm::Intrinsic::ID id, std::initializer_list<Value*> args) {
  const llvm::FunctionType* type = llvm::Intrinsic::getType(ir.getContext(), id);
  llvm::SmallVector<Value*> cast;
  for (Value* arg : args) {
    cast.push_back(ir.CreateBitCast(arg, type->getParamType(static_cast<unsigned>(cast.size()))));
  }
  return ir.CreateIntrinsic(type->getReturnType(), id, cast);
}

// sum[lane] + the products of four unsigned bytes of a with four signed ones of b, wrapping.
Value* DotOfBytes(llvm::IRBuilder<>& ir, unsigned lanes, Value* sum, Value* a, Value* b) {
  const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                               : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  return Call(ir, id, {sum, a, b});
}

// The products of two signed words of a with two of b, added up: exact but for 2 * 2^15 * 2^15,
// which wraps.
Value* DotOfWords(llvm::IRBuilder<>& ir, unsigned lanes, Value* a, Value* b) {
  const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  return Call(ir, id, {a, b});
}

}  // namespace

// The address of a load or store of which each lane has `size` neighbours, iteration by iteration
// of the loop; nothing if it is none.
std::optional<LaneValue> PhaseEmitter::GroupAt(loops::BufferId buffer,
                                               const std::vector<ExprId>& indices, const Stmt& loop,
                                               const std::vector<loops::VarId>& lets) {
  const auto linear = [&](ExprId index) { return MovesLinearly(kernel_, index, lets); };
  if (!llvm::all_of(indices, linear)) return std::nullopt;
  vars_[loop.var.index] = IndexConst(loop.extent - 1);
  const LaneValue last = Address(buffer, indices);
  vars_[loop.var.index] = IndexConst(0);
  const LaneValue first = Address(buffer, indices);
  if (first.varying || last.offset - first.offset != loop.extent - 1) return std::nullopt;
  return first;
}

std::optional<PhaseEmitter::GroupSum> PhaseEmitter::MatchGroupSum(const Stmt& loop) {
  if (!loop.reduces || loop.body.empty() || context_.mask != nullptr) return std::nullopt;
  GroupSum sum{.store = &loop.body.back()};
  std::map<loops::VarId, ExprId> values;
  std::vector<loops::VarId> lets;
  for (const Stmt& stmt : loop.body) {
    if (&stmt == sum.store) continue;
    if (stmt.kind != StmtKind::kLet) return std::nullopt;
    values[stmt.var] = stmt.value;
    lets.push_back(stmt.var);
  }
  const auto value = [&](ExprId id) -> const Expr& {
    const auto let =
        kernel_[id].kind == ExprKind::kVar ? values.find(kernel_[id].var) : values.end();
    return kernel_[let == values.end() ? id : let->second];
  };
  const Stmt& store = *sum.store;
  if (store.kind != StmtKind::kStore) return std::nullopt;
  const Expr& add = kernel_[store.value];
  if (add.kind != ExprKind::kBinary || add.op != Op::kAdd || BitWidth(add.dtype) != kMostBits)
    return std::nullopt;
  const Expr &old = value(add.args[0]), &product = value(add.args[1]);
  const auto same = [&](ExprId a, ExprId b) { return loops::SameExpr(kernel_, a, b); };
  if (old.kind != ExprKind::kLoad || old.buffer != store.buffer ||
      !llvm::equal(old.args, store.indices, same) || product.kind != ExprKind::kBinary ||
      product.op != Op::kMultiply)
    return std::nullopt;
  for (const ExprId index : store.indices) {
    if (loops::UsesVar(kernel_, index, loop.var)) return std::nullopt;
  }
  for (size_t i = 0; i < 2; ++i) {
    GroupSum::Factor& factor = sum.factor[i];
    const Expr* read = &value(product.args[i]);
    const auto is_offset = [&](const Expr& e) {
      return e.kind == ExprKind::kConst && e.bits == kOffset;
    };
    factor.constant = is_offset(*read);
    factor.is_signed = false;
    if (factor.constant) continue;
    if (read->kind == ExprKind::kBinary && read->op == Op::kAdd &&
        is_offset(kernel_[read->args[1]])) {
      factor.offset = true;
      read = &value(read->args[0]);
    }
    if (read->kind != ExprKind::kUnary || read->op != Op::kConvert) return std::nullopt;
    const Expr& load = value(read->args[0]);
    if (load.kind != ExprKind::kLoad) return std::nullopt;
    const auto at = GroupAt(load.buffer, load.args, loop, lets);
    if (!at || (at->stride != 0 && at->stride != loop.extent)) return std::nullopt;
    factor.buffer = load.buffer;
    factor.at = *at;
    factor.is_signed = IsSigned(load.dtype) && !factor.offset;
    if (factor.offset && load.dtype != DType::kS8) return std::nullopt;
  }
  return sum.factor[0].constant && sum.factor[1].constant ? std::nullopt : std::optional(sum);
}

bool PhaseEmitter::EmitGroupSum(const Stmt& loop) {
  const unsigned lanes = context_.lanes;
  const bool width = (lanes == 4 || lanes == 8 || lanes == 16) && lanes <= ops_.cpu.byte_lanes;
  if (!width || (loop.extent != 2 && loop.extent != 4)) return false;
  const auto sum = MatchGroupSum(loop);
  if (!sum) return false;
  const bool fours = loop.extent == 4;
  bool bytes = true, words = true, plain = true;
  for (const GroupSum::Factor& factor : sum->factor) {
    const DType dtype = factor.constant ? DType::kU8 : kernel_[factor.buffer].dtype;
    bytes = bytes && IsByte(dtype);
    words = words && dtype == DType::kS16;
    plain = plain && !factor.constant && !factor.offset;
  }
  if (fours ? !bytes || !ops_.cpu.byte_dots : !plain || (!bytes && !words)) return false;
  const LaneValue place = Address(sum->store->buffer, sum->store->indices);
  if (PatternOf(place) != Pattern::kContiguous) return false;
  Value* old = LoadContiguous(sum->store->buffer, place);
  const auto factor = [&](size_t i) {
    return LoadFactor(sum->factor[i], static_cast<unsigned>(loop.extent));
  };
  Value *a = factor(0), *b = factor(1);
  if (!fours) {
    a = ToWords(a, sum->factor[0].is_signed);
    b = ToWords(b, sum->factor[1].is_signed);
  }
  Value* added =
      fours ? AddFours(old, a, b, *sum) : ir_.CreateAdd(old, DotOfWords(ir_, lanes, a, b));
  StoreContiguous(sum->store->buffer, place, added);
  return true;
}

Value* PhaseEmitter::LoadFactor(const GroupSum::Factor& factor, unsigned size) {
  llvm::Type* type = WithLanes(ir_.getInt8Ty(), context_.lanes * size);
  if (factor.constant) return llvm::ConstantInt::getSigned(type, -128);  // 128 without a sign
  Value* group = LoadGroup(factor.buffer, factor.at, size);
  return factor.offset ? ir_.CreateXor(group, ops_.Int(group, -128)) : group;
}

Value* PhaseEmitter::ToWords(Value* group, bool is_signed) {
  llvm::Type* type = ops_.ScalarLike(ir_.getInt16Ty(), group);
  return is_signed ? ir_.CreateSExtOrTrunc(group, type) : ir_.CreateZExtOrTrunc(group, type);
}

// The instruction wants one unsigned and one signed factor. Others get there by an offset of 128,
// which comes off again: what it made too much does not depend on both factors, so neighbours in
// the register tile share it.
Value* PhaseEmitter::AddFours(Value* sum, Value* a, Value* b, const GroupSum& group) {
  const unsigned lanes = context_.lanes;
  const auto is_signed = [&](size_t i) { return group.factor[i].is_signed; };
  const auto same = [&](size_t i) { return group.factor[i].at.stride == 0; };
  const auto all = [&](int64_t byte) { return ops_.Int(a, byte); };
  if (is_signed(0) != is_signed(1)) {
    return is_signed(0) ? DotOfBytes(ir_, lanes, sum, b, a) : DotOfBytes(ir_, lanes, sum, a, b);
  }
  Value* zero = llvm::Constant::getNullValue(sum->getType());
  if (is_signed(0)) {
    if (same(1)) std::swap(a, b);  // shared is what belongs to the other one
    Value* offset = DotOfBytes(ir_, lanes, sum, ir_.CreateXor(a, all(-128)), b);
    return ir_.CreateSub(offset, DotOfBytes(ir_, lanes, zero, all(-128), b));
  }
  if (same(0)) std::swap(a, b);
  Value* offset = DotOfBytes(ir_, lanes, sum, a, ir_.CreateXor(b, all(-128)));
  Value* half = DotOfBytes(ir_, lanes, zero, a, all(64));
  return ir_.CreateAdd(offset, ir_.CreateShl(half, ops_.Int(half, 1)));
}

// `%a[.., lane * 4 + i] = ...` for i in 4: the elements of a lane are put together in a register.
bool PhaseEmitter::EmitGroupStore(const Stmt& loop) {
  if (context_.mask != nullptr || loop.body.size() != 1 || loop.extent < 2) return false;
  const Stmt& store = loop.body[0];
  if (store.kind != StmtKind::kStore || kernel_[store.value].kind != ExprKind::kLoad) return false;
  // Loads come before all stores: they have to be of what nobody writes.
  if (!buffers_[kernel_[store.value].buffer.index].invariant) return false;
  const DType dtype = kernel_[store.buffer].dtype;
  const int64_t bits = BitWidth(dtype);
  if (!IsInteger(dtype) || bits < 8 || bits * loop.extent > kMostBits) return false;
  const auto place = GroupAt(store.buffer, store.indices, loop, {});
  if (!place || place->stride != loop.extent) return false;
  Value* word = nullptr;
  for (int64_t i = 0; i < loop.extent; ++i) {
    vars_[loop.var.index] = IndexConst(i);
    const LaneValue element = Eval(store.value);
    Value* wide = Vector(element);
    wide = ir_.CreateZExt(
        wide, ops_.ScalarLike(ir_.getIntNTy(static_cast<unsigned>(bits * loop.extent)), wide));
    wide = ir_.CreateShl(wide, ops_.Int(wide, bits * i));
    word = word == nullptr ? wide : ir_.CreateOr(word, wide);
  }
  StoreContiguous(store.buffer, *place, word);
  return true;
}

}  // namespace fusemark::codegen
