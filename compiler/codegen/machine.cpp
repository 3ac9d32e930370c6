#include "compiler/codegen/machine.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "compiler/support/check.h"

namespace fusemark::codegen {
namespace {

void InitializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

// LLVM 22 takes a Triple where earlier versions took its text.
#if LLVM_VERSION_MAJOR >= 22
using TripleArgument = llvm::Triple;
#else
using TripleArgument = std::string;
#endif

TripleArgument HostTriple() {
  return TripleArgument(llvm::sys::getProcessTriple());
}

const llvm::Target& NativeTarget() {
  InitializeNativeTarget();
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(HostTriple(), message);
  FM_CHECK(target != nullptr, message);
  return *target;
}

std::unique_ptr<llvm::MCSubtargetInfo> Subtarget(const std::string& cpu,
                                                 const std::string& features) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      NativeTarget().createMCSubtargetInfo(HostTriple(), cpu, features));
}

CpuFeatures FeaturesOf(const loops::Target& target) {
  const auto subtarget = Subtarget(target.cpu, target.features);
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  CpuFeatures features;
  if (triple.isX86()) {
    features.fma = subtarget->checkFeatures("+fma");
    features.f16c = subtarget->checkFeatures("+f16c");
    features.gather = subtarget->checkFeatures("+avx512f");
  } else if (triple.isAArch64()) {
    features.fma = true;
    features.f16c = true;
  }
  return features;
}

}  // namespace

Error FromLlvm(llvm::Error error, const std::string& what) {
  return {Code::kCompileFailed, what + ": " + llvm::toString(std::move(error))};
}

bool IsKnownCpu(const std::string& cpu) {
  return Subtarget("", "")->isCPUStringValid(cpu);
}

std::vector<std::string> EnabledFeatures(const std::string& cpu, const std::string& features) {
  const auto subtarget = Subtarget(cpu, features);
  std::vector<std::string> names;
  for (const auto& feature : subtarget->getEnabledProcessorFeatures())
    names.emplace_back(feature.Key);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Machine> Machine::Create(const loops::Target& target) {
  const std::string cpu = target.cpu.empty() ? "generic" : target.cpu;
  if (!IsKnownCpu(cpu)) {
    return Invalid("target CPU '" + cpu +
                   "' is not known to LLVM " LLVM_VERSION_STRING
                   "; use 'fusemark version' for this machine's name, or x86-64, x86-64-v3, "
                   "x86-64-v4");
  }
  Machine machine;
  machine.target_ = target;
  machine.target_.cpu = cpu;
  machine.features_ = FeaturesOf(machine.target_);
  llvm::TargetOptions options;
  machine.machine_.reset(NativeTarget().createTargetMachine(
      HostTriple(), cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
  FM_CHECK(machine.machine_ != nullptr);
  return machine;
}

void Machine::Prepare(llvm::Module& module) const {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(machine_->getTargetTriple());
#else
  module.setTargetTriple(machine_->getTargetTriple().str());
#endif
  module.setDataLayout(machine_->createDataLayout());
}

void Machine::AddAttributes(llvm::Function& function) const {
  function.addFnAttr("target-cpu", target_.cpu);
  if (!target_.features.empty()) function.addFnAttr("target-features", target_.features);
  // Without these LLVM splits 512-bit vectors on many CPUs (and spills what then does not fit).
  if (target_.vector_bytes >= 64) {
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
  }
  function.setDoesNotThrow();
  function.addFnAttr(llvm::Attribute::NoFree);
  function.addFnAttr(llvm::Attribute::WillReturn);
}

void Machine::Optimize(llvm::Module& module) const {
  FM_DCHECK(!llvm::verifyModule(module, &llvm::errs()), "emitted LLVM IR is malformed");
  llvm::LoopAnalysisManager loop_analyses;
  llvm::FunctionAnalysisManager function_analyses;
  llvm::CGSCCAnalysisManager cgscc_analyses;
  llvm::ModuleAnalysisManager module_analyses;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(module_analyses);
  builder.registerCGSCCAnalyses(cgscc_analyses);
  builder.registerFunctionAnalyses(function_analyses);
  builder.registerLoopAnalyses(loop_analyses);
  builder.crossRegisterProxies(loop_analyses, function_analyses, cgscc_analyses, module_analyses);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager module_passes;
  module_passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  module_passes.run(module, module_analyses);
}

namespace {

Result<llvm::SmallVector<char, 0>> EmitFile(llvm::TargetMachine& machine, llvm::Module& module,
                                            llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return Error{Code::kCompileFailed, "LLVM cannot emit this kind of file for this target"};
  }
  passes.run(module);
  return text;
}

}  // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> Machine::EmitObject(llvm::Module& module) const {
  FM_TRY(auto text, EmitFile(*machine_, module, llvm::CodeGenFileType::ObjectFile));
  std::unique_ptr<llvm::MemoryBuffer> buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(text), module.getModuleIdentifier(), /*RequiresNullTerminator=*/false);
  return buffer;
}

Result<std::string> Machine::EmitAssembly(llvm::Module& module) const {
  FM_TRY(auto text, EmitFile(*machine_, module, llvm::CodeGenFileType::AssemblyFile));
  return std::string(text.begin(), text.end());
}

}  // namespace fusemark::codegen
