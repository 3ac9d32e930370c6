// Loads and stores: the lanes of an access are one element, neighbours, a constant stride apart, or
// anywhere.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/phase_emitter.h"
#include "compiler/support/check.h"

namespace fusemark::codegen {

using llvm::Value;
using loops::BufferId;
using loops::Expr;
using loops::ExprId;
using loops::Stmt;

namespace {

bool ChangesInMemory(DType dtype) {
  return dtype == DType::kPred || (IsInteger(dtype) && BitWidth(dtype) < 8);
}

}  // namespace

llvm::Type* PhaseEmitter::ElementType(BufferId buffer) const {
  return MemoryType(function_.getContext(), kernel_[buffer].dtype);
}

llvm::Align PhaseEmitter::AlignOf(BufferId buffer) const {
  return llvm::Align(static_cast<uint64_t>(ByteSize(kernel_[buffer].dtype)));
}

template <class Access>
Access* PhaseEmitter::Annotate(BufferId buffer, Access* access) {
  const BufferState& state = buffers_[buffer.index];
  if (state.scope == nullptr) return access;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, state.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, state.no_alias);
  if (state.invariant && llvm::isa<llvm::LoadInst>(access)) {
    access->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(function_.getContext(), {}));
  }
  return access;
}

Value* PhaseEmitter::ToRegister(DType dtype, Value* value) {
  if (!ChangesInMemory(dtype)) return value;
  if (dtype == DType::kPred) return ir_.CreateICmpNE(value, ops_.Int(value, 0));
  return ir_.CreateTrunc(value, ops_.ScalarLike(RegisterType(ir_.getContext(), dtype), value));
}

Value* PhaseEmitter::ToMemory(DType dtype, Value* value) {
  if (!ChangesInMemory(dtype)) return value;
  llvm::Type* type = ops_.ScalarLike(ir_.getInt8Ty(), value);
  return IsSigned(dtype) ? ir_.CreateSExt(value, type) : ir_.CreateZExt(value, type);
}

LaneValue PhaseEmitter::Address(BufferId buffer, const std::vector<ExprId>& indices) {
  const loops::Buffer& shape = kernel_[buffer];
  std::vector<int64_t> strides(shape.dims.size(), 1);
  for (size_t d = shape.dims.size(); d-- > 1;) strides[d - 1] = strides[d] * shape.dims[d];
  // Outer dimensions first: their partial sums are invariant in the inner loops.
  LaneValue address = IndexConst(0);
  for (size_t d = 0; d < indices.size(); ++d)
    address = IndexAdd(address, IndexScale(Eval(indices[d]), strides[d]));
  const unsigned lanes = buffers_[buffer.index].lanes;
  if (lanes == 0) return address;
  LaneValue lane{.stride = 1, .range = {0, lanes - 1}};
  return IndexAdd(IndexScale(address, lanes), lane);
}

PhaseEmitter::Pattern PhaseEmitter::PatternOf(const LaneValue& address) const {
  if (address.varying) return Pattern::kScattered;
  if (address.stride == 0) return Pattern::kUniform;
  return address.stride == 1 ? Pattern::kContiguous : Pattern::kStrided;
}

// Element `address` + `more` of the first lane. The constant part comes last, where it becomes the
// displacement of the instruction; intermediate sums may lie outside the buffer, hence no inbounds.
Value* PhaseEmitter::Pointer(BufferId buffer, const LaneValue& address, int64_t more) {
  Value* pointer = buffers_[buffer.index].base;
  FM_CHECK(pointer != nullptr, "buffer " + kernel_[buffer].name + " used outside its alloc");
  llvm::Type* type = ElementType(buffer);
  if (address.value != nullptr) pointer = ir_.CreateGEP(type, pointer, address.value);
  const int64_t offset = address.offset + more;
  return offset == 0 ? pointer
                     : ir_.CreateConstGEP1_64(type, pointer, static_cast<uint64_t>(offset));
}

Value* PhaseEmitter::Pointers(BufferId buffer, const LaneValue& address) {
  return ir_.CreateGEP(ElementType(buffer), buffers_[buffer.index].base, Vector(address));
}

bool PhaseEmitter::MayBlend(BufferId buffer, const LaneValue& address) const {
  const BufferState& state = buffers_[buffer.index];
  if (state.lanes > 0) return true;  // private arrays hold every lane
  if (!llvm::isa<llvm::AllocaInst>(state.base) || address.value != nullptr) return false;
  int64_t elements = 1;
  for (const int64_t dim : kernel_[buffer].dims) elements *= dim;
  return address.offset >= 0 && address.offset + context_.lanes <= elements;
}

LaneValue PhaseEmitter::EvalLoad(ExprId id) {
  const Expr& expr = kernel_[id];
  const LaneValue address = Address(expr.buffer, expr.args);
  const Pattern pattern = PatternOf(address);
  Value* value = nullptr;
  if (pattern == Pattern::kUniform) {
    value = Annotate(expr.buffer,
                     ir_.CreateAlignedLoad(ElementType(expr.buffer), Pointer(expr.buffer, address),
                                           AlignOf(expr.buffer)));
  } else if (pattern == Pattern::kContiguous) {
    value = LoadContiguous(expr.buffer, address);
  } else {
    if (pattern == Pattern::kStrided) value = LoadOfSquare(id, address);
    if (value == nullptr) value = LoadPerLane(expr.buffer, address);
  }
  return {.value = ToRegister(expr.dtype, value), .varying = pattern != Pattern::kUniform};
}

Value* PhaseEmitter::LoadContiguous(BufferId buffer, const LaneValue& address) {
  llvm::Type* type = WithLanes(ElementType(buffer), context_.lanes);
  Value* pointer = Pointer(buffer, address);
  if (context_.mask == nullptr || MayBlend(buffer, address))
    return Annotate(buffer, ir_.CreateAlignedLoad(type, pointer, AlignOf(buffer)));
  Value* zero = llvm::Constant::getNullValue(type);
  return Annotate(buffer,
                  ir_.CreateMaskedLoad(type, pointer, AlignOf(buffer), context_.mask, zero));
}

// `size` neighbours for every lane: side by side, or the same ones for all.
Value* PhaseEmitter::LoadGroup(BufferId buffer, const LaneValue& address, unsigned size) {
  llvm::Type* all = WithLanes(ElementType(buffer), context_.lanes * size);
  const bool same = address.stride == 0;
  llvm::Type* type = same ? ir_.getIntNTy(all->getScalarSizeInBits() * size) : all;
  Value* value =
      Annotate(buffer, ir_.CreateAlignedLoad(type, Pointer(buffer, address), AlignOf(buffer)));
  return same ? ir_.CreateBitCast(ops_.Splat(value, context_.lanes), all) : value;
}

Value* PhaseEmitter::LoadPerLane(BufferId buffer, const LaneValue& address) {
  llvm::Type* element = ElementType(buffer);
  llvm::Type* type = WithLanes(element, context_.lanes);
  const bool wide_element = element->getScalarSizeInBits() >= 32;
  if (context_.mask != nullptr || (address.varying && ops_.cpu.gather && wide_element)) {
    Value* zero = llvm::Constant::getNullValue(type);
    Value* mask =
        context_.mask != nullptr ? context_.mask : ops_.Splat(ir_.getTrue(), context_.lanes);
    return Annotate(buffer, ir_.CreateMaskedGather(type, Pointers(buffer, address), AlignOf(buffer),
                                                   mask, zero));
  }
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < context_.lanes; ++lane) {
    Value* pointer = address.varying
                         ? ir_.CreateGEP(element, buffers_[buffer.index].base,
                                         ir_.CreateExtractElement(address.value, lane))
                         : Pointer(buffer, address, address.stride * static_cast<int64_t>(lane));
    Value* value = Annotate(buffer, ir_.CreateAlignedLoad(element, pointer, AlignOf(buffer)));
    result = ir_.CreateInsertElement(result, value, lane);
  }
  return result;
}

void PhaseEmitter::EmitStore(const Stmt& stmt) {
  const LaneValue evaluated = Eval(stmt.value);
  const LaneValue address = Address(stmt.buffer, stmt.indices);
  const DType dtype = kernel_[stmt.buffer].dtype;
  const Pattern pattern = PatternOf(address);
  if (pattern == Pattern::kUniform) {
    if (!evaluated.IsUniform()) {
      return Fail(Code::kCompileFailed,
                  "the lanes of a vector loop store different values to one "
                  "element of '" +
                      kernel_[stmt.buffer].name + "'");
    }
    Annotate(stmt.buffer,
             ir_.CreateAlignedStore(ToMemory(dtype, Scalar(evaluated)),
                                    Pointer(stmt.buffer, address), AlignOf(stmt.buffer)));
    return;
  }
  Value* value = ToMemory(dtype, Vector(evaluated));
  if (pattern == Pattern::kContiguous) return StoreContiguous(stmt.buffer, address, value);
  StorePerLane(stmt.buffer, address, value);
}

// Into the second-level cache: the first holds what is in use. Lines of a result become this core's
// own.
void PhaseEmitter::EmitPrefetch(const Stmt& stmt) {
  LaneValue address = Address(stmt.buffer, stmt.indices);
  if (context_.lanes != 0 && !address.IsUniform()) return;
  constexpr uint32_t kRead = 0, kWrite = 1, kSecondLevel = 2, kData = 1;
  const bool written = kernel_[stmt.buffer].space == loops::Space::kResult;
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                      {Pointer(stmt.buffer, address), ir_.getInt32(written ? kWrite : kRead),
                       ir_.getInt32(kSecondLevel), ir_.getInt32(kData)});
}

void PhaseEmitter::StoreContiguous(BufferId buffer, const LaneValue& address, Value* value) {
  Value* pointer = Pointer(buffer, address);
  if (context_.mask != nullptr && !MayBlend(buffer, address)) {
    Annotate(buffer, ir_.CreateMaskedStore(value, pointer, AlignOf(buffer), context_.mask));
    return;
  }
  if (context_.mask != nullptr) {
    // An array of our own: blending keeps it promotable to registers.
    Value* old = ir_.CreateAlignedLoad(value->getType(), pointer, AlignOf(buffer));
    value = ir_.CreateSelect(context_.mask, value, old);
  }
  Annotate(buffer, ir_.CreateAlignedStore(value, pointer, AlignOf(buffer)));
}

void PhaseEmitter::StorePerLane(BufferId buffer, const LaneValue& address, Value* value) {
  if (context_.mask != nullptr) {
    Annotate(buffer, ir_.CreateMaskedScatter(value, Pointers(buffer, address), AlignOf(buffer),
                                             context_.mask));
    return;
  }
  llvm::Type* element = ElementType(buffer);
  for (unsigned lane = 0; lane < context_.lanes; ++lane) {
    Value* pointer = address.varying
                         ? ir_.CreateGEP(element, buffers_[buffer.index].base,
                                         ir_.CreateExtractElement(address.value, lane))
                         : Pointer(buffer, address, address.stride * static_cast<int64_t>(lane));
    Annotate(buffer, ir_.CreateAlignedStore(ir_.CreateExtractElement(value, lane), pointer,
                                            AlignOf(buffer)));
  }
}

}  // namespace fusemark::codegen
