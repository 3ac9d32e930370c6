#include "compiler/codegen/types.h"

#include "compiler/support/check.h"

namespace fusemark::codegen {

bool HasRegisterType(DType dtype) {
  switch (ClassOf(dtype)) {
    case DTypeClass::Pred:
    case DTypeClass::Signed:
    case DTypeClass::Unsigned: return true;
    case DTypeClass::Float:
      return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16 ||
             dtype == DType::kF16;
    default: return false;
  }
}

llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype) {
  FM_CHECK(HasRegisterType(dtype), std::string(DTypeName(dtype)));
  switch (dtype) {
    case DType::kPred: return llvm::Type::getInt1Ty(context);
    case DType::kF32: return llvm::Type::getFloatTy(context);
    case DType::kF64: return llvm::Type::getDoubleTy(context);
    default: return llvm::Type::getIntNTy(context, static_cast<unsigned>(BitWidth(dtype)));
  }
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kF64) return RegisterType(context, dtype);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(ByteSize(dtype)) * 8);
}

llvm::Type* WithLanes(llvm::Type* scalar, unsigned lanes) {
  return lanes == 0 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

unsigned LanesOf(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 0 : vector->getNumElements();
}

}  // namespace fusemark::codegen
