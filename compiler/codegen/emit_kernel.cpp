#include "compiler/codegen/emit_kernel.h"

#include <llvm/IR/Function.h>

#include "compiler/codegen/phase_emitter.h"

namespace fusemark::codegen {
namespace {

Result<void> CheckTypes(const loops::Kernel& kernel) {
  const auto check = [&](DType dtype, const std::string& what) -> Result<void> {
    if (HasRegisterType(dtype)) return Ok();
    return Unsupported("kernel '" + kernel.name + "': " + what + " has type " +
                       std::string(DTypeName(dtype)) + ", which has no code generation");
  };
  for (const loops::Buffer& buffer : kernel.buffers)
    FM_RETURN_IF_ERROR(check(buffer.dtype, "buffer '" + buffer.name + "'"));
  for (const loops::Var& var : kernel.vars)
    FM_RETURN_IF_ERROR(check(var.dtype, "variable '" + var.name + "'"));
  for (const loops::Expr& expr : kernel.exprs)
    FM_RETURN_IF_ERROR(check(expr.dtype, "an expression"));
  return Ok();
}

}  // namespace

Result<std::vector<std::string>> EmitKernel(const loops::Kernel& kernel, const Machine& machine,
                                            const std::string& symbol, llvm::Module& module) {
  FM_RETURN_IF_ERROR(CheckTypes(kernel));
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                       {pointer, pointer, pointer, i64, i64}, false);
  std::vector<std::string> names;
  for (const loops::Phase& phase : loops::PhasesOf(kernel)) {
    names.push_back(symbol + "_p" + std::to_string(names.size()));
    auto* function =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, names.back(), module);
    machine.AddAttributes(*function);
    PhaseEmitter emitter(kernel, machine.features(), *function);
    FM_RETURN_IF_ERROR(emitter.Emit(phase));
  }
  return names;
}

}  // namespace fusemark::codegen
