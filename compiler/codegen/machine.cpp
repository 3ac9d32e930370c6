#include "compiler/codegen/machine.h"

#include <llvm/ADT/StringSet.h>
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
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/check.h"
#include "compiler/support/strings.h"

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

llvm::StringSet<> Enabled(const llvm::MCSubtargetInfo& subtarget) {
  llvm::StringSet<> names;
  for (const auto& feature : subtarget.getEnabledProcessorFeatures()) names.insert(feature.Key);
  return names;
}

// What LLVM makes of a CPU with a list of features: worked out once, as every kernel set asks.
struct Known {
  std::string difference;
  std::vector<std::string> enabled;  // sorted
};

Known Learn(const std::string& cpu, const std::string& features) {
  Known known{FeatureDifference(cpu, features), {}};
  const llvm::StringSet<> on = Enabled(*Subtarget(cpu, known.difference));
  for (const auto& name : on.keys()) known.enabled.push_back(name.str());
  std::sort(known.enabled.begin(), known.enabled.end());
  return known;
}

const Known& KnownOf(const std::string& cpu, const std::string& features) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Known> all;
  const std::lock_guard lock(mutex);
  const auto [it, fresh] = all.try_emplace({cpu, features});
  if (fresh) it->second = Learn(cpu, features);
  return it->second;
}

CpuFeatures FeaturesOf(const Known& known) {
  const auto has = [&](const char* name) {
    return std::binary_search(known.enabled.begin(), known.enabled.end(), name);
  };
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  CpuFeatures features;
  if (triple.isX86()) {
    features.fma = has("fma");
    features.f16c = has("f16c");
    features.gather = has("avx512f");
    const bool wide = has("avx512bw") && has("avx512vl");
    features.byte_lanes = wide ? 16 : has("avx2") ? 8 : 4;
    features.byte_dots = wide ? has("avx512vnni") : has("avxvnni");
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

std::string FeatureDifference(const std::string& cpu, const std::string& features) {
  // In two steps, as LLVM takes the list in its order: what is switched on may imply what is
  // switched off later.
  const std::vector<std::string_view> entries = Split(features, ',');
  const auto first_off = std::find_if(entries.begin(), entries.end(),
                                      [](std::string_view e) { return e.substr(0, 1) != "+"; });
  const bool sorted = std::all_of(first_off, entries.end(),
                                  [](std::string_view e) { return e.substr(0, 1) == "-"; });
  if (!sorted) return features;
  std::string kept;
  const auto keep = [&](std::string_view entry) {
    kept += kept.empty() ? "" : ",";
    kept += entry;
  };
  const llvm::StringSet<> own = Enabled(*Subtarget(cpu, ""));
  std::for_each(entries.begin(), first_off, [&](std::string_view entry) {
    if (!own.contains(entry.substr(1))) keep(entry);
  });
  const llvm::StringSet<> on = Enabled(*Subtarget(cpu, kept));
  std::for_each(first_off, entries.end(), [&](std::string_view entry) {
    if (on.contains(entry.substr(1))) keep(entry);
  });
  return kept;
}

bool IsKnownCpu(const std::string& cpu) {
  return Subtarget("", "")->isCPUStringValid(cpu);
}

std::vector<std::string> EnabledFeatures(const std::string& cpu, const std::string& features) {
  return KnownOf(cpu, features).enabled;
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
  const Known& known = KnownOf(cpu, target.features);
  machine.difference_ = known.difference;
  machine.features_ = FeaturesOf(known);
  llvm::TargetOptions options;
  machine.machine_.reset(NativeTarget().createTargetMachine(
      HostTriple(), cpu, machine.difference_, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
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
  if (!difference_.empty()) function.addFnAttr("target-features", difference_);
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
  // Last: instruction selection combines what these two leave just as well as another round would.
  passes.addPass(llvm::DSEPass());
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
